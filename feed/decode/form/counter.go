// Package form knows the forms in which limiters keep their state, of libraries and of applications alike: counters, logs,
// buckets and arrival times, in strings, lists and sorted sets. The decoders of libraries are made of
// them, and the rules for limiters of the user's own are compiled to them.
package form

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/collect"
)

// FromFirst are the settings of a window that begins with its first request.
var FromFirst = decode.Settings{Algorithm: limiter.FixedWindow, Convention: limiter.Convention{Alignment: convention.FirstRequest}}

// Until places the window of d, which began with its first request, by the expiry of its key.
// Where the library blocks, it may prolong the expiry of a counter that is over its limit: what is
// longer than the window is a block then, and only a counter of 1 tells the window.
func Until(d *decode.Decoded, now limiter.Instant, ttl time.Duration, blocks bool) {
	if !blocks || d.State.Current == 1 {
		d.Span = max(ttl, 0)
	}
	if d.Guessed && ttl > d.Window { // it was inferred from too little
		d.Window, d.Guessed = 0, false
	}
	if blocks && d.Window > 0 && ttl > d.Window+ClockSlack {
		d.State.Start, d.State.BlockedUntil = now, Expiry(now, ttl)
		return
	}
	switch d.State.Start, d.Ends = now, 0; {
	case ttl <= 0:
	case d.Window > 0:
		d.State.Start = Expiry(now, ttl).Add(-d.Window)
	default:
		d.Ends = Expiry(now, ttl)
	}
}

// ClockSlack is how far clocks of a millisecond's resolution may lie apart in one exchange.
const ClockSlack = 5 * time.Millisecond

// Expiry returns the instant from which on a key is gone that now has the positive TTL ttl: PTTL
// tells whole milliseconds, and a key goes in the millisecond after its expiry.
func Expiry(now limiter.Instant, ttl time.Duration) limiter.Instant {
	return limiter.Instant(now.Millis() * 1000).Add(ttl + time.Millisecond)
}

// IsCounter says whether s is a whole number of 0 or more that expires.
func IsCounter(s *decode.Sample) bool {
	_, ok := Count(s.Text)
	return ok && s.TTL > 0
}

// Windowed is a limiter whose keys are counters, one a window, named after the start of their
// window or after its number: a fixed window, or a sliding one that weighs the window before. A key
// may outlive its window, which is over all the same.
type Windowed struct {
	Settings decode.Settings
	Key      func(start limiter.Instant) string
	How      decode.Fetch // how a counter is read, but for its key; a string where its Type is ""
	// Count reads a counter, 0 of one that does not exist; nil is a whole number, or the size of a set.
	Count   func(s *decode.Sample) (n int64, ok bool)
	Origin  limiter.Instant // windows begin at multiples of their length after it; 0 the epoch
	Lags    bool            // processes count by themselves, and add that from time to time
	Charged bool            // denied requests are counted, too
	Hides   bool            // as decode.Decoded.Hides
	Capped  bool            // the previous window counts up to the limit
	Before  bool            // the counter of the window before outlives it, so that it is read of a fixed window, too
	// Bounds returns the window of an instant where windows differ in length; else nil.
	Bounds func(limiter.Instant) (start, end limiter.Instant)

	start, end limiter.Instant // of the window that was fetched last
}

// YearOne is the start of Go's calendar, to which time.Truncate aligns, in microseconds of the
// Unix epoch: it differs from the epoch for weeks, which begin on a Monday there.
const YearOne limiter.Instant = -62135596800 * 1e6

// startOf returns the start of the window of length w that holds now, where windows begin at
// multiples of w after origin.
func startOf(now, origin limiter.Instant, w time.Duration) limiter.Instant {
	return origin + (now - origin).Floor(w)
}

// Numbered returns the names base, the number of a window of length w since 1970, and rest.
func Numbered(base string, w time.Duration, rest string) func(limiter.Instant) string {
	return func(start limiter.Instant) string { return base + Decimal(int64(start)/w.Microseconds()) + rest }
}

// Bound returns the window of an instant.
func (x *Windowed) Bound(now limiter.Instant) (start, end limiter.Instant) {
	if x.Bounds != nil {
		return x.Bounds(now)
	}
	start = startOf(now, x.Origin, x.Settings.Window)
	return start, start.Add(x.Settings.Window)
}

// Fetch reads the counter of the current window, and of a sliding one also that before it.
func (x *Windowed) Fetch(now limiter.Instant) []decode.Fetch {
	x.start, x.end = x.Bound(now)
	current := x.How
	current.Type = cmp.Or(current.Type, "string")
	previous := current
	current.Key = x.Key(x.start)
	if x.Settings.Algorithm != limiter.SlidingWindow && !x.Before {
		return []decode.Fetch{current}
	}
	previous.Key = x.Key(x.start.Add(-x.Settings.Window))
	return []decode.Fetch{current, previous}
}

// Decode returns the counters as they stand; got begins with the samples of Fetch.
func (x *Windowed) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := decode.Decoded{Settings: x.Settings, Charged: x.Charged, Hides: x.Hides || x.How.Type == "set", Type: "none"}
	if x.end == 0 {
		x.start, x.end = x.Bound(now)
	}
	d.Window = x.end.Sub(x.start)
	if x.Bounds != nil || int64(x.Origin)%d.Window.Microseconds() != 0 {
		d.Convention.Alignment = convention.FirstRequest
	}
	d.State.Start, d.State.PreviousStart = x.start, x.start.Add(-d.Window)
	if x.Lags {
		d.Notes = append(d.Notes, model.Lags)
	}
	sliding := x.Settings.Algorithm == limiter.SlidingWindow
	if sliding || x.Before {
		got = got[:2]
		d.PreviousKnown = sliding || got[1].Exists()
	} else {
		got = got[:1]
	}
	d.Members = Members(got)
	for i, n := range []*int64{&d.State.Current, &d.State.Previous}[:len(got)] {
		s := &got[i]
		if s.Exists() && d.Type == "none" {
			d.Type, d.TTL = s.Type, s.TTL
		}
		ok := true
		if *n, ok = x.count(s); !ok {
			d.Err = lacks("count")
		}
	}
	if x.Capped && given.Limit.Count > 0 {
		d.State.Previous = min(d.State.Previous, given.Limit.Count)
	}
	return d
}

func (x *Windowed) count(s *decode.Sample) (int64, bool) {
	switch {
	case x.Count != nil:
		return x.Count(s)
	case !s.Exists():
		return 0, true
	case s.Type == "set":
		return s.Length, true
	}
	return Count(s.Text)
}

// Match returns the match of a limiter whose windows are named; name is of its row.
func (x *Windowed) Match(name, prefix string, why ...string) *decode.Match {
	return &decode.Match{Settings: x.Settings, Name: name, Prefix: prefix, Why: why, Limiter: x}
}

// Numbered windows: a key for every window, whose name holds the number of the window, counted from
// the epoch. The number of the current window is the clock divided by the window, so that it tells
// the window: of 4 s to a few nanoseconds, of a day to 4 s.

// windowOf returns the window of which the instant at lies in the one with that index. Usual windows
// come first, then those of the fewest digits, down to finest; ok is false where none fits, usual
// false where it is none that people choose.
func windowOf(index int64, at limiter.Instant, finest time.Duration) (w time.Duration, usual, ok bool) {
	if index <= 0 {
		return 0, false, false
	}
	for _, w := range decode.Periods {
		if isWindow(index, at, w) {
			return w, true, true
		}
	}
	for _, unit := range [...]time.Duration{
		time.Hour, time.Minute, time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond,
	} {
		if unit < finest {
			break
		}
		w := (time.Duration(int64(at)/index) * time.Microsecond).Truncate(unit)
		if w <= limiter.MaxWindow && isWindow(index, at, w) {
			return w, false, true
		}
	}
	return 0, false, false
}

// isWindow says whether at lies in the window with that index among those of length w.
func isWindow(index int64, at limiter.Instant, w time.Duration) bool {
	return w > 0 && int64(at)/w.Microseconds() == index
}

// WindowOfIndex returns the window whose current index is index at now, or the next one. A usual one
// goes before another that fits as well.
func WindowOfIndex(index int64, now limiter.Instant) (w time.Duration, usual, ok bool) {
	w, usual, ok = windowOf(index, now, time.Millisecond)
	if usual {
		return w, true, true
	}
	if v, usual, fits := windowOf(index+1, now, time.Millisecond); index > 0 && fits && (usual || !ok) {
		return v, usual, true
	}
	return w, false, ok
}

// AroundNow are the instants between which a relation between a sample and its expiry is looked
// for: the clock of a sample is an estimate.
var AroundNow = [...]time.Duration{0, Latency, -Latency}

// WindowUntil returns the window with an index whose key was given the expiry of one second after
// its end, in whole seconds of the writer's clock: W(index+1) is the second before that of the
// expiry. No other number of seconds but W divides so, which makes it evidence under any name.
func WindowUntil(index int64, s *decode.Sample, now limiter.Instant) (time.Duration, bool) {
	if index <= 0 || s.TTL <= 0 {
		return 0, false
	}
	for _, slack := range [...]time.Duration{0, Latency, -Latency, WholeSecond, -WholeSecond} { // the clock is the client's
		end := int64(s.Expiry(now).Add(slack))/1e6 - 1
		w := time.Duration(end/(index+1)) * time.Second
		if end%(index+1) == 0 && w >= time.Second && w <= limiter.MaxWindow && s.TTL <= w+2*time.Second {
			return w, true
		}
	}
	return 0, false
}

// WindowWith returns the window of which the instant at, give or take the latency, lies in the one
// with that index: the only whole number of seconds that fits, or a usual one; ok is false where
// there is none.
func WindowWith(index int64, at limiter.Instant) (w time.Duration, ok bool) {
	for _, slack := range AroundNow {
		t := at.Add(slack)
		w, usual, fits := windowOf(index, t, time.Second)
		if fits && (usual || !isWindow(index, t, w-time.Second) && !isWindow(index, t, w+time.Second)) {
			return w, true
		}
	}
	return 0, false
}

// StartSuffix splits a key at the start of a window in nanoseconds, whole microseconds and not
// ahead of now; ok is false where s is no counter with such a name.
func StartSuffix(s *decode.Sample, now limiter.Instant) (base string, start limiter.Instant, ok bool) {
	if len(s.Key) <= 19 || s.TTL <= 0 {
		return "", 0, false
	}
	base, digits := s.Key[:len(s.Key)-19], s.Key[len(s.Key)-19:]
	start, ok = Nanoseconds(digits, now)
	_, counts := Count(s.Text)
	last := base[len(base)-1]
	return base, start, ok && counts && strings.HasSuffix(digits, "000000") && start <= now.Add(WholeSecond) && (last < '0' || last > '9')
}

// WrittenWindow returns the one length of a window that begins at start whose counter, written
// within it, expires two windows later; 0 where none or several do. What was just written tells
// it by the expiry alone, else it is taken to be one that people choose.
func WrittenWindow(start limiter.Instant, s *decode.Sample, now limiter.Instant) (w time.Duration) {
	fits := func(w time.Duration) bool {
		lives := s.Expiry(now).Sub(start)
		return w >= limiter.MinWindow && startOf(start, YearOne, w) == start && lives >= 2*w-Latency && lives <= 3*w+Latency
	}
	half := time.Duration(math.Ceil((s.TTL - Latency).Seconds())) * time.Second / 2
	if 2*half-s.TTL < Latency && half >= WholeSecond && fits(half) {
		return half
	}
	for _, u := range decode.Periods {
		if fits(u) {
			if w != 0 {
				return 0
			}
			w = u
		}
	}
	return w
}

// TruncatedWindow returns the window of which a counter of a fixed start expires after so many
// windows from it, to the millisecond; 0 where it is none that is aligned to its length.
func TruncatedWindow(start limiter.Instant, s *decode.Sample, now limiter.Instant, windows int64) time.Duration {
	w := (s.Expiry(now).Sub(start) / time.Duration(windows))
	for _, step := range [...]time.Duration{WholeSecond, 100 * time.Millisecond} {
		near := w.Round(step)
		if (w-near).Abs() <= Latency/2 && near >= step && near <= limiter.MaxWindow && startOf(start, YearOne, near) == start {
			return near
		}
	}
	return 0
}

// Undecided is a limiter whose counters are named after the start of their window, and whose windows are of one of
// several kinds or lengths: what was read rules out the others.
type Undecided struct {
	Left  []*Windowed     // what it may be, at least one
	Start limiter.Instant // of the latest counter that was seen
	Slack time.Duration   // how far the clock of its program may be off
	// Fits says whether a counter, read at an instant, may be of a window by its expiry; nil is always.
	Fits func(x *Windowed, start limiter.Instant, s *decode.Sample, now limiter.Instant) bool

	starts []limiter.Instant // of the counters that were fetched
	seen   int64             // what the latest counter held
	looked limiter.Instant   // when; 0 before the first reading
}

// Fetch reads the latest counter and all that can be current.
func (u *Undecided) Fetch(now limiter.Instant) (all []decode.Fetch) {
	if len(u.Left) == 1 {
		return u.Left[0].Fetch(now)
	}
	u.starts = []limiter.Instant{u.Start}
	for _, x := range u.Left {
		start, _ := x.Bound(now)
		if u.starts = append(u.starts, start); x.Settings.Algorithm == limiter.SlidingWindow {
			u.starts = append(u.starts, start.Add(-x.Settings.Window))
		}
	}
	slices.Sort(u.starts)
	u.starts = slices.Compact(u.starts)
	return collect.Map(u.starts, func(start limiter.Instant) decode.Fetch {
		return decode.Fetch{Key: u.Left[0].Key(start), Type: "string"}
	})
}

// Decode rules out windows, and counts once one is left, whose counters are then read at once.
func (u *Undecided) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	if len(u.Left) == 1 {
		return u.Left[0].Decode(now, got, given)
	}
	if u.learn(now, got, given); len(u.Left) == 1 {
		return decode.Decoded{More: true}
	}
	first := u.Left[0]
	d := decode.Decoded{Charged: first.Charged, Type: "none", Members: Members(got)}
	for i := range got {
		if got[i].Exists() {
			d.Type, d.TTL = got[i].Type, max(d.TTL, got[i].TTL)
		}
	}
	if slices.ContainsFunc(u.Left, func(x *Windowed) bool { return x.Settings.Algorithm != first.Settings.Algorithm }) {
		d.Notes = []model.Note{model.KindUnknown}
	}
	return d
}

// learn rules out what a rule says otherwise, windows that begin at no counter's start, and those that were over when
// their counter was last seen to grow.
func (u *Undecided) learn(now limiter.Instant, got []decode.Sample, given decode.Settings) {
	u.keep(func(x *Windowed) bool {
		return (given.Algorithm == limiter.Unknown || x.Settings.Algorithm == given.Algorithm) &&
			(given.LimitFrom == model.NoLimit || given.Window == 0 || x.Settings.Window == given.Window)
	})
	for i, start := range u.starts {
		s := &got[i]
		n, ok := Count(s.Text)
		if !s.Exists() || !ok {
			continue
		}
		u.keep(func(x *Windowed) bool {
			begun, _ := x.Bound(start)
			return begun == start && (u.Fits == nil || u.Fits(x, start, s, now))
		})
		if start == u.Start && u.looked != 0 && n > u.seen {
			u.keep(func(x *Windowed) bool { return u.looked <= start.Add(x.Settings.Window+u.Slack) })
		}
		if start >= u.Start {
			u.Start, u.seen, u.looked = start, n, now
		}
	}
}

// keep leaves the windows that fit, unless none would be left.
func (u *Undecided) keep(fits func(*Windowed) bool) {
	left := slices.DeleteFunc(slices.Clone(u.Left), func(x *Windowed) bool { return !fits(x) })
	if len(left) > 0 {
		u.Left = left
	}
}
