package form

import (
	"maps"
	"math"
	"slices"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/collect"
)

// Logs: a sorted set with a member for every request of the last window, whose score is its time and
// whose expiry is set to a window with the newest of them. An entry exactly a window old has left.

// Newest returns the number that the newest member's score is, and how long the key lives from there
// on, which is a window or a little more: the expiry is set after the clock was read. ok is false
// where s is no log: without an expiry, with scores in another unit, or with a newest one that is
// older than the key could be.
func Newest(s *decode.Sample, now limiter.Instant, unit time.Duration) (lives time.Duration, ok bool) {
	if len(s.First) == 0 || len(s.Last) == 0 || s.TTL <= 0 {
		return 0, false
	}
	first, last := s.First[0].Score, s.Last[len(s.Last)-1].Score
	if decode.UnitOf(first, now) != unit || decode.UnitOf(last, now) != unit {
		return 0, false
	}
	at := decode.InstantIn(last, unit)
	lives = now.Add(s.TTL).Sub(at)
	return lives, at < now.Add(time.Second) && lives > 0 && lives <= limiter.MaxWindow
}

// Spans says whether the members of a log lie within one window, as they do after every request that
// removes what is older.
func Spans(s *decode.Sample, unit, window time.Duration) bool {
	first, last := s.First[0].Score, s.Last[len(s.Last)-1].Score
	return decode.InstantIn(last, unit).Sub(decode.InstantIn(first, unit)) <= window
}

// BothEnds says whether is holds for the oldest and the newest member.
func BothEnds(s *decode.Sample, is func(decode.Element) bool) bool {
	return len(s.First) > 0 && len(s.Last) > 0 && is(s.First[0]) && is(s.Last[len(s.Last)-1])
}

// IsScore says whether a member is its score.
func IsScore(e decode.Element) bool {
	v, ok := Number(e.Member)
	return ok && v == e.Score
}

// HasFraction says whether the score of a member is not whole.
func HasFraction(e decode.Element) bool { return e.Score != math.Trunc(e.Score) }

// Logged returns the match of a log whose window is told by its expiry.
func Logged(window time.Duration, denied convention.Denied, prefix string, why ...string) *decode.Match {
	m := &decode.Match{Kind: decode.Log, Prefix: prefix, Why: why}
	m.Algorithm, m.Window, m.Guessed = limiter.SlidingLog, decode.Tidy(window), true
	m.Convention.Denied = denied
	return m
}

// ListLog returns a sliding log in a list: the instants of the requests in seconds of the clients'
// clock, newest first, an element for each unit, and never more of them than the limit. windowOf returns
// the window by the expiry and the newest element; nil: that of how holds.
func ListLog(key string, how decode.Settings, windowOf func(s *decode.Sample, now limiter.Instant) (time.Duration, bool)) *Reader {
	search := listSearch{} // of a list that is not read whole
	how.Algorithm = limiter.SlidingLog
	r := &Reader{Settings: how, Either: true, Holds: "list of times",
		At: func(limiter.Instant) []decode.Fetch { return search.fetch(key) }}
	r.Read = func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) (ok bool) {
		s := &got[0]
		if !s.Exists() {
			search = listSearch{}
			return true
		}
		if windowOf != nil {
			if w, told := windowOf(s, now); told {
				r.Settings.Window, d.Window = w, w
			}
		}
		from, whole := now.Add(-d.Window), false
		d.State.Log, whole, d.More, ok = search.take(s, now, func(at limiter.Instant) bool {
			return at > from || at == from && how.Convention.Edge == convention.Closed
		})
		d.ReadWhole(whole)
		d.Approximate = s.Length > int64(len(s.First))
		return ok
	}
	return r
}

// listElements is how many elements a list may have that is read whole.
const listElements = 2000

// listSearch finds where the window begins in a list that is too long to be read whole: the
// instants of requests, newest first. It asks for single elements, which takes the server a
// microsecond each: some all over the list, whose instants stand for those between them, and more
// around the beginning of the window, until two neighbours are known of which one is in the window
// and the next is not. The zero value has not looked yet.
type listSearch struct {
	length int64 // of the list in the round before; 0 before the first
	// last is the highest index known to be in the window in the round before, and out the lowest
	// known not to be; the length where all are in the window.
	last, out int64
	rounds    int // without an end
}

const (
	listHead    = 200 // elements that are read at the head of a long list
	listSpread  = 64  // elements all over it
	listClose   = 128 // elements around the beginning of the window
	listDrift   = 16  // by how many elements the list may move between two rounds
	listRounds  = 6   // in one reading
	listBetween = 16  // entries of the log between two elements that were read
)

// fetch returns what to read of a list: its head alone while it is not known to be long.
func (s *listSearch) fetch(key string) []decode.Fetch {
	f := decode.Fetch{Key: key, Type: "list", Head: listElements}
	if s.length > listElements {
		low, high := max(s.last-listDrift, listHead), min(s.out+listDrift, s.length-1)
		if high-low < listClose {
			low = max((low+high-listClose)/2, listHead)
			high = min(low+listClose-1, s.length-1)
		}
		f.Head, f.Index = listHead, append(spread(listHead, s.length-1, listSpread), spread(low, high, listClose)...)
		slices.Sort(f.Index)
		f.Index = slices.Compact(f.Index)
	}
	return []decode.Fetch{f}
}

// spread returns at most n numbers from low to high, both among them, in even steps.
func spread(low, high int64, n int64) (all []int64) {
	n = min(n, high-low+1)
	for i := range max(n, 0) {
		all = append(all, low+(high-low)*i/max(n-1, 1))
	}
	return all
}

// take reads what was fetched. window returns whether an instant is in the window. The log is of
// what is in the window, oldest first; whole says that it holds each of its requests, else it
// holds as many at least, and more says that another round tells more.
func (s *listSearch) take(
	got *decode.Sample, now limiter.Instant, window func(limiter.Instant) bool,
) (log []limiter.Entry, whole, more, ok bool) {
	texts := maps.Clone(got.Index)
	for i, e := range got.First {
		collect.Put(&texts, int64(i), e.Member)
	}
	var read []listed
	s.last, s.out = -1, got.Length
	for _, i := range slices.Sorted(maps.Keys(texts)) {
		v, isNumber := Number(texts[i])
		switch at := instantOf(v, now); {
		case !isNumber:
			return nil, false, false, false
		case i >= got.Length || s.out < got.Length:
		case window(at):
			read = append(read, listed{i, at})
			s.last = i
		default:
			s.out = i
		}
	}
	s.length = got.Length
	if whole = s.last+1 == s.out; whole {
		s.rounds = 0
	} else {
		s.rounds = (s.rounds + 1) % listRounds
	}
	return between(read), whole, s.rounds > 0, true
}

// listed is an element that was read.
type listed struct {
	index int64
	at    limiter.Instant
}

// between returns the log of elements, newest first, with those that lie between two of them and
// were not read at even distances in time.
func between(newestFirst []listed) []limiter.Entry {
	log := make([]limiter.Entry, 0, len(newestFirst))
	add := func(at limiter.Instant, n int64) {
		if last := len(log) - 1; last >= 0 && at <= log[last].At { // clocks of several clients
			log[last].Count += n
			return
		}
		log = append(log, limiter.Entry{At: at, Count: n})
	}
	for i, older := range slices.Backward(newestFirst) {
		if add(older.at, 1); i == 0 {
			break
		}
		newer := newestFirst[i-1]
		left := older.index - newer.index - 1
		steps := min(left, listBetween) + 1
		for step := steps - 1; step > 0; step-- {
			n := left / step
			left -= n
			add(newer.at-(newer.at-older.at)*limiter.Instant(step)/limiter.Instant(steps), n)
		}
	}
	return log
}

// LogOf returns the log of instants in seconds, newest first.
func LogOf(newestFirst []float64, now limiter.Instant) []limiter.Entry {
	read := make([]listed, len(newestFirst))
	for i, v := range newestFirst {
		read[i] = listed{int64(i), instantOf(v, now)}
	}
	return between(read)
}

// instantOf returns the instant of a number of seconds. What a client's clock has ahead of the
// server's is taken as now.
func instantOf(seconds float64, now limiter.Instant) limiter.Instant {
	if seconds < float64(now)/1e6 {
		return decode.InstantIn(max(seconds, 0), time.Second)
	}
	return now
}

// FewPermits is how many members of a sorted set are read from either end: the oldest of them
// tell the next that leaves, and the total is counted.
const FewPermits = 128

// Permits gathers a log from the oldest entries of one that may be too long to be read whole.
type Permits struct {
	Left    int64 // units that were not gathered yet, of a total that is known
	entries []limiter.Entry
}

// Add appends n units at an instant, as far as the total goes. Entries come oldest first.
func (p *Permits) Add(at limiter.Instant, n int64) {
	if n = min(n, p.Left); n <= 0 {
		return
	}
	p.Left -= n
	if k := len(p.entries); k > 0 && p.entries[k-1].At >= at {
		p.entries[k-1].Count += n
		return
	}
	p.entries = append(p.entries, limiter.Entry{At: at, Count: n})
}

// Log returns the entries. What is beyond those that were read leaves with the newest of them at
// the earliest, and is put there, or at now where none was read.
func (p *Permits) Log(now limiter.Instant) []limiter.Entry {
	at := now
	if k := len(p.entries); k > 0 {
		at = p.entries[k-1].At
	}
	p.Add(at, p.Left)
	if p.entries == nil {
		return []limiter.Entry{}
	}
	return p.entries
}

// The libraries that keep a bucket store what is LEFT in it, with fractions, which may be below
// zero where requests wait in line. The package limiter keeps whole units and, in the place of a
// fraction, the time since the last whole one.

// SetTokens makes d the state of a token bucket that held tokens at an instant. step is the
// microseconds that a token takes to come back; 0: not known, or whole batches.
func SetTokens(d *decode.Decoded, tokens float64, at limiter.Instant, step float64) {
	if tokens = math.Max(math.Min(tokens, limiter.MaxCount), -limiter.MaxCount); math.IsNaN(tokens) {
		tokens = 0
	}
	d.State.Level = math.Floor(math.Max(tokens, 0))
	d.State.Filled = at - Span((tokens-d.State.Level)*step)
}

// SetBatches makes d the state of a token bucket that held whole tokens at an instant, to which the count of a limit comes each
// window. What is below 0 is paid for by the batches that come first.
func SetBatches(d *decode.Decoded, of decode.Settings, tokens float64, at, now limiter.Instant) {
	d.Convention = limiter.Convention{Refill: convention.Interval}
	if each, w := float64(of.Limit.Count), float64(of.Window.Microseconds()); tokens < 0 && each > 0 && w > 0 {
		paid := math.Max(math.Floor(float64(now-at)/w), math.Floor(-tokens/each))
		tokens, at = tokens+paid*each, at+Span(paid*w)
	}
	d.State.Level, d.State.Filled = math.Max(tokens, 0), at
}

// SetWater makes d the state of a leaky bucket that held water at an instant, of which a unit
// drains every step microseconds.
func SetWater(d *decode.Decoded, water float64, at limiter.Instant, step float64) {
	water = math.Max(math.Min(water, limiter.MaxCount), 0)
	if math.IsNaN(water) {
		water = 0
	}
	d.State.Level = math.Ceil(water)
	d.State.Filled = at - Span((d.State.Level-water)*step)
}

// Added returns the water of a leaky bucket to which more is added that does not drain, and the instant at which it holds that.
func Added(water, more float64, at, now limiter.Instant, step float64) (float64, limiter.Instant) {
	if step > 0 {
		water, at = math.Max(water-math.Max(float64(now-at), 0)/step, 0), max(at, now)
	}
	return water + more, at
}

// Span converts microseconds to an instant's measure, bounded to a century either way.
func Span(us float64) limiter.Instant {
	const century = 100 * 366 * 24 * 3600 * 1e6
	return limiter.Instant(math.Max(math.Min(us, century), -century))
}

// Translate makes what the rule gives the limit of d, with a burst and a window of its own:
// where a library measures its limit otherwise than the package limiter does.
func Translate(d *decode.Decoded, given decode.Settings, limit limiter.Limit) {
	if given.LimitFrom == model.NoLimit || limit.Validate() != nil {
		return
	}
	d.Limit, d.Window, d.LimitFrom = limit, limit.Window, given.LimitFrom
}

// perSecond returns the rate a second of a limit; ok is false where it is no whole number.
func perSecond(s decode.Settings) (rate int64, ok bool) {
	if s.Limit.Count <= 0 || s.Limit.Count > limiter.MaxCount || s.Window < time.Millisecond {
		return 0, false
	}
	w := s.Window.Microseconds()
	return s.Limit.Count * 1e6 / w, s.Limit.Count*1e6%w == 0
}

// LeftBucket returns the token bucket of the script that Stripe published, which Spring Cloud Gateway
// and go-zero took over: two strings, the tokens LEFT, and the whole second of the last call,
// also of a denied one. Tokens come in batches of the rate at whole seconds. Both strings expire
// after twice the time that an empty bucket takes to fill, in whole seconds, set anew with every
// call. With derive the rate follows from the burst that a rule gives and from the expiry.
func LeftBucket(tokens, stamp string, derive bool) *Reader {
	b := &leftBucket{}
	return &Reader{
		Keys: Texts(tokens, stamp), Holds: "token bucket of its library",
		Settings: decode.Settings{Algorithm: limiter.TokenBucket, NeedsBurst: true},
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
			tokens, ok := Number(got[0].Text)
			second, good := Count(got[1].Text)
			at := limiter.Instant(second * 1e6)
			lives := got[0].TTL + now.Sub(at) // the expiry that the last call set
			if !ok || !good || tokens < 0 || second > 1e11 || got[0].TTL <= 0 || got[1].TTL <= 0 ||
				(got[0].TTL-got[1].TTL).Abs() > 2*Latency || now.Sub(at) <= -5*time.Second || lives <= 0 || lives >= limiter.MaxWindow {
				return false
			}
			b.learn(now, got[0].TTL, at)
			SetTokens(d, tokens, at, 0)
			b.limit(d, given, derive)
			return true
		},
		Limit: func(d *decode.Decoded, given decode.Settings) { b.limit(d, given, derive) },
	}
}

// leftBucket is what was learnt of one: the expiry in seconds that a call sets, 0 while it is not known.
type leftBucket struct{ lives int64 }

// limit takes the rate a second for the limit, and the capacity for the burst: both have to be given, for
// the keys hold what is left and not what it is left of.
func (b *leftBucket) limit(d *decode.Decoded, given decode.Settings, derive bool) {
	rate, whole := perSecond(given)
	burst := given.Limit.Burst
	if derive && given.LimitFrom == model.NoLimit && burst > 0 {
		if rate, whole = b.rate(burst); whole {
			given.LimitFrom = model.LimitInferred
		}
	}
	if burst == 0 && whole {
		burst = b.burst(rate)
	}
	if whole && burst > 0 {
		d.Convention.Refill = convention.Interval
		Translate(d, given, limiter.Limit{Count: rate, Burst: burst, Window: time.Second})
	}
}

// learn takes the expiry that a call set: in whole seconds, and so one that was set in the second
// of its stamp leaves that many and a part of the next.
func (b *leftBucket) learn(now limiter.Instant, ttl time.Duration, at limiter.Instant) {
	set := int64(math.Ceil((ttl - time.Millisecond).Seconds()))
	if since := now.Sub(at); since >= 0 && int64((ttl+since).Seconds()) == set && since < time.Second {
		b.lives = set
	}
}

// rate returns the one whole rate for which floor(2*burst/rate) is the expiry.
func (b *leftBucket) rate(burst int64) (int64, bool) {
	if b.lives <= 0 || burst > limiter.MaxCount {
		return 0, false
	}
	most := 2 * burst / b.lives
	return most, most > 0 && 2*burst/(b.lives+1) == most-1
}

// burst returns the one capacity for which floor(2*burst/rate) is the expiry, 0 where several are.
func (b *leftBucket) burst(rate int64) int64 {
	if b.lives <= 0 || b.lives > 1e6 || rate > 1e9 {
		return 0
	}
	least := (b.lives*rate + 1) / 2
	return collect.If(2*(least+1) < (b.lives+1)*rate, 0, least)
}

// How far the instant of a sample may lie from that of its expiry: the clock is estimated before
// the command runs, and expiries are whole milliseconds or whole seconds.
const (
	Latency     = 50 * time.Millisecond
	WholeSecond = time.Second
)

// Emission returns the microseconds between two units of a limit, 0 where it is not known.
func Emission(s decode.Settings) float64 {
	if s.Limit.Count <= 0 || s.Window <= 0 {
		return 0
	}
	return float64(s.Window.Microseconds()) / float64(s.Limit.Count)
}
