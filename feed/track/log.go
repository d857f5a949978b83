package track

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// logDecoder reads a sorted set with one member for each request, whose score is its time.
//
// A reading fetches the members above the highest score seen. It also counts the members from the window's start to that score, to notice
// members that were removed or came late, and reads all members of the window again if the count is not the expected one. When more
// members come than one reading may fetch, it counts them per bin instead; see bins.
type logDecoder struct {
	key    string
	record record
	bins   bins

	unit   time.Duration // of the scores; 0 until one is seen
	synced bool          // the record holds all members of the window
	last   float64       // highest score read
	ties   int64         // members read with exactly this score
	from   float64       // while not synced: where the first page began
	fresh  []limiter.Entry
	pages  int

	surveyed limiter.Instant // when the units of the scores were last counted
	own      bool            // members contain their instants, so that scores need not be read
	mixed    bool            // some members do not, so that scores have to be read
	recent   *redis.ZSliceCmd
	members  *redis.StringSliceCmd
	check    *redis.IntCmd
	since    float64          // lower bound of check
	first    *redis.ZSliceCmd // the oldest member, of a key that is counted or only likely
	oldest   limiter.Instant  // of a key that is only likely: its oldest member; 0 not known
	ttl      *redis.DurationCmd
	survey   *survey
}

// Bounds of one reading of one key.
const (
	pageSize      = 500 // entries in one range
	pagesAtOnce   = 8   // pages before counting per bin
	surveyEvery   = 5 * time.Second
	surveyRarely  = time.Minute            // for keys off screen
	futureAllowed = 100 * time.Millisecond // skew of writers' clocks that is not reported
)

func (b *logDecoder) ask(q *Query, l *Tracker) {
	b.record.setWindow(l.aim.target.Window)
	b.record.most = q.Entries
	b.recent, b.members, b.check, b.survey, b.ttl, b.first = nil, nil, nil, nil, nil, nil
	whole := q.Whole || !b.synced || l.key.typ == "none"
	if whole {
		b.ttl = q.Pipe.PTTL(q.Ctx, b.key)
	}
	if b.unit == 0 || q.Now.Sub(b.surveyed) > surveyEvery && (q.OnScreen || q.Now.Sub(b.surveyed) > surveyRarely) {
		b.survey = askSurvey(q, b.key)
	}
	if b.unit == 0 {
		return
	}
	if b.bins.on {
		count := func(lo, hi limiter.Instant) *redis.IntCmd {
			return q.Pipe.ZCount(q.Ctx, b.key, decode.Score(decode.NumberIn(lo, b.unit)), "("+decode.Score(decode.NumberIn(hi, b.unit)))
		}
		b.bins.ask(q, &b.record, count)
		if whole {
			if edge := &b.bins.edge; edge.hi != 0 { // part of it may be gone
				edge.n = count(edge.lo, edge.hi)
			}
			b.first = q.Pipe.ZRangeWithScores(q.Ctx, b.key, 0, 0)
		}
		return
	}
	if whole && l.Found.Evidence == model.Likely {
		b.first = q.Pipe.ZRangeWithScores(q.Ctx, b.key, 0, 0)
	}
	_, most := decode.Plausible(b.unit, float64(q.Now)/1e6)
	page := &redis.ZRangeBy{Max: decode.Score(most), Count: pageSize + 1}
	switch {
	case b.synced:
		b.since = decode.NumberIn(q.Now.Add(-b.record.span()+b.record.span()/64), b.unit)
		if whole && b.last > b.since {
			b.check = q.Pipe.ZCount(q.Ctx, b.key, decode.Score(b.since), decode.Score(b.last))
		}
		page.Min, page.Offset = decode.Score(b.last), b.ties
		if b.last <= b.since { // the members of this score may be trimmed, and no offset may skip others
			page.Min, page.Offset = "("+decode.Score(max(b.last, decode.NumberIn(q.Now.Add(-b.record.span())-1, b.unit))), 0
		}
	case b.pages == 0:
		b.from = decode.NumberIn(b.record.horizon(q.Now), b.unit)
		b.last, b.ties, b.fresh = b.from, 0, nil
		page.Min = decode.Score(b.from)
	default:
		page.Min, page.Offset = decode.Score(b.last), b.ties
	}
	q.Ranges++
	if b.own {
		b.members = q.Pipe.ZRangeByScore(q.Ctx, b.key, page)
		return
	}
	b.recent = q.Pipe.ZRangeByScoreWithScores(q.Ctx, b.key, page)
}

func (b *logDecoder) take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error) {
	if b.ttl != nil {
		ttl, err := b.ttl.Result()
		if err != nil {
			return false, err
		}
		if !l.key.present(ttl, "zset") {
			b.vanish(now, l, r)
			return false, nil
		}
	}
	if b.survey != nil {
		unit, mixed, garbage, err := b.survey.read()
		if err != nil {
			return false, err
		}
		first := b.unit == 0
		b.surveyed = now
		l.notes.set(model.GarbageScore, garbage > 0)
		l.notes.set(model.MixedUnits, mixed > 0)
		if unit != b.unit && unit != 0 {
			b.unit, b.synced, b.pages = unit, false, 0
		}
		if first && unit != 0 {
			return true, nil
		}
	}
	switch {
	case b.unit == 0: // no score is a time
	case b.bins.on:
		if again, err = b.bins.take(now, &b.record); again || err != nil {
			return again, err
		}
		if b.first != nil && b.first.Err() != nil {
			return false, b.first.Err()
		}
		if b.first != nil { // what the server no longer has is removed
			oldest := now
			if got := b.first.Val(); len(got) > 0 {
				oldest = min(decode.InstantIn(got[0].Score, b.unit), now)
			}
			l.news.moved = b.bins.shrink(now, oldest, &b.record) || l.news.moved
		}
		if b.bins.low++; b.record.sum(now.Add(-b.record.span())) > 2*pageSize {
			b.bins.low = 0
		}
		if b.bins.low >= 10 { // calm for so many readings, so that it may be read entry by entry
			b.bins.on, b.synced, b.pages = false, false, 0
		}
	default:
		if again, err = b.takePage(l); again || err != nil {
			return again, err
		}
		if b.oldest = 0; b.first != nil && len(b.first.Val()) > 0 {
			b.oldest = decode.InstantIn(b.first.Val()[0].Score, b.unit)
		}
	}
	if l.Found.Evidence != model.Likely && !b.bins.on { // of a likely key an expiry is no more than an upper bound
		l.aim.guessByExpiry(now, l.key.ttl, b.record.entries)
	}
	if w := l.aim.target.Window; w > 0 && b.record.widen(w) {
		b.resync()
		b.bins = bins{on: b.bins.on}
		b.record.clear()
		return true, nil
	}
	b.record.trim(now)
	b.fill(now, l, r)
	return false, nil
}

// takePage takes a page of new members. It returns true if ask has to be called again at once.
func (b *logDecoder) takePage(l *Tracker) (again bool, err error) {
	got, again, err := b.scores()
	if err != nil || again {
		return again, err
	}
	fresh := make([]limiter.Entry, 0, len(got))
	for _, v := range got {
		if v == b.last {
			b.ties++
		} else {
			b.last, b.ties = v, 1
		}
		at := decode.InstantIn(v, b.unit)
		if k := len(fresh); k > 0 && fresh[k-1].At == at {
			fresh[k-1].Count++
		} else {
			fresh = append(fresh, limiter.Entry{At: at, Count: 1})
		}
	}
	full := len(got) > pageSize
	b.pages++
	if b.synced {
		odd := b.unexpected(fresh)
		b.record.extend(fresh)
		if odd {
			l.news.moved = true
			b.resync()
			return true, nil
		}
	} else {
		b.fresh = append(b.fresh, fresh...)
	}
	switch {
	case full && b.pages >= pagesAtOnce:
		b.bins = bins{on: true}
		b.synced, b.pages, b.fresh = false, 0, nil
		return true, nil
	case full:
		return true, nil
	}
	b.pages = 0
	if !b.synced {
		b.record.replace(decode.InstantIn(b.from, b.unit), b.fresh, 1)
		b.fresh, b.synced = nil, true
	}
	return false, nil
}

// unexpected reports whether the server's count of the known members, up to the highest score, differs from the record. New members with
// the highest score may be in the count or not, because they may have come just after it.
func (b *logDecoder) unexpected(fresh []limiter.Entry) bool {
	if b.check == nil || b.check.Err() != nil || b.record.joined {
		return false
	}
	n := b.check.Val()
	known := b.record.sum(decode.InstantIn(b.since, b.unit))
	joined := int64(0)
	if k := len(b.record.entries); k > 0 && len(fresh) > 0 && fresh[0].At == b.record.entries[k-1].At {
		joined = fresh[0].Count
	}
	return n < known || n > known+joined
}

// resync makes the next reading read the last window again.
func (b *logDecoder) resync() { b.synced, b.pages = false, 0 }

// vanish notes that the key does not exist: entries before the last window stay in the record.
func (b *logDecoder) vanish(now limiter.Instant, l *Tracker, r *model.Reading) {
	l.news.moved = l.news.moved || len(b.record.entries) > 0
	span := b.record.span()
	// The server holds nothing, so nothing of the last window counts any more.
	live := now.Add(-span)
	if i := b.record.from(live); i < len(b.record.entries) {
		b.record.entries = b.record.entries[:i:i]
	}
	b.bins = bins{}
	b.synced, b.pages, b.last, b.ties = false, 0, 0, 0
	b.record.trim(now)
	l.notes.set(model.GarbageScore, false)
	l.notes.set(model.MixedUnits, false)
	b.fill(now, l, r)
}

func (b *logDecoder) fill(now limiter.Instant, l *Tracker, r *model.Reading) {
	if b.unit != 0 {
		l.aim.target.Layout.Unit = b.unit
		if b.own {
			l.aim.target.Layout.Unit = 0
		}
	}
	r.State.Log, r.Partial = b.record.log(), r.Partial || b.unit == 0 && l.key.typ != "none" // no score is a time
	r.Approximate = b.bins.on || b.record.joined
	r.PreviousKnown, r.ExactKnown = l.aim.target.Window > 0, l.aim.target.Window > 0
	r.Arrivals = b.record.arrivals(false)
	l.notes.ahead("scores", now, b.record.entries)
}

// scores returns the scores of a page. The members of ratescope's own library contain their scores; reading them alone takes a fifth of
// the server's time. If a member does not, the page is read again with scores.
func (b *logDecoder) scores() (got []float64, again bool, err error) {
	if b.own {
		members, err := b.members.Result()
		if err != nil {
			return nil, false, err
		}
		got = make([]float64, len(members))
		for i, m := range members {
			at, ok := ownMember(m)
			if !ok {
				b.own, b.mixed = false, true
				b.resync()
				return nil, true, nil
			}
			got[i] = float64(at)
		}
		return got, false, nil
	}
	page, err := b.recent.Result()
	if err != nil {
		return nil, false, err
	}
	got = make([]float64, len(page))
	own := b.unit == time.Microsecond && len(page) > 0
	for i, z := range page {
		got[i] = z.Score
		if own {
			m, _ := z.Member.(string)
			at, ok := ownMember(m)
			own = ok && float64(at) == z.Score
		}
	}
	b.own = own && !b.mixed
	return got, false, nil
}

// ownMember returns the instant in a member of ratescope's own library: microseconds since the
// epoch, and for further requests of the same microsecond a dash and a number.
func ownMember(member string) (limiter.Instant, bool) {
	stamp, _, _ := strings.Cut(member, "-")
	n, err := strconv.ParseInt(stamp, 10, 64)
	return limiter.Instant(n), err == nil && n > 0 && n < 1<<53
}

// survey counts the members of a sorted set by the unit in which their scores are times.
type survey struct {
	card, end *redis.IntCmd // how many there are, before and after the others are counted
	in        [len(decode.Units)]*redis.IntCmd
}

func askSurvey(q *Query, key string) *survey {
	s := &survey{card: q.Pipe.ZCard(q.Ctx, key)}
	seconds := float64(q.Now) / 1e6
	for i, u := range decode.Units {
		lo, hi := decode.Plausible(u, seconds)
		s.in[i] = q.Pipe.ZCount(q.Ctx, key, decode.Score(lo), decode.Score(hi))
	}
	s.end = q.Pipe.ZCard(q.Ctx, key)
	return s
}

// read returns the unit of most members, 0 if no score is a time; the number of members in
// other units; and the number of members whose scores are no times.
func (s *survey) read() (unit time.Duration, mixed, garbage int64, err error) {
	err = cmp.Or(s.card.Err(), s.end.Err())
	var best, all int64
	for i, c := range s.in {
		err = cmp.Or(err, c.Err())
		all += c.Val()
		if n := c.Val(); n > best {
			best, unit = n, decode.Units[i]
		}
	}
	// The commands are not a transaction: members may come and leave in between.
	return unit, all - best, max(min(s.card.Val(), s.end.Val())-all, 0), err
}
