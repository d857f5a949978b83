package form

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

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
	More    int64           // so many requests beyond the limit are admitted
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
	if current.Type == "" {
		current.Type = "string"
	}
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
		d.Convention.Alignment = limiter.AlignFirstRequest
	}
	d.State.Start, d.State.PreviousStart = x.start, x.start.Add(-d.Window)
	if x.Lags {
		d.Notes = append(d.Notes, model.Lags)
	}
	if x.More > 0 {
		Translate(&d, given, limiter.Limit{Count: given.Limit.Count + x.More, Window: d.Window})
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
			d.Err = NoCount
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
