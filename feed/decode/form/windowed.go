package form

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// Windowed is a limiter whose keys are counters, one a window, named after the start of their
// window: a fixed window, or a sliding one that weighs the current and the previous counter.
type Windowed struct {
	Settings decode.Settings
	Key      func(start limiter.Instant) string
	Origin   limiter.Instant // windows begin at multiples of their length after it; 0 the epoch
	Lags     bool            // processes count by themselves, and add that from time to time
	Charged  bool            // denied requests are counted, too
	Hides    bool            // as decode.Decoded.Hides
	Capped   bool            // the previous window counts up to the limit
	More     int64           // so many requests beyond the limit are admitted
	// Bounds returns the window of an instant where windows differ in length; else nil.
	Bounds func(limiter.Instant) (start, end limiter.Instant)
}

// YearOne is the start of Go's calendar, to which time.Truncate aligns, in microseconds of the
// Unix epoch: it differs from the epoch for weeks, which begin on a Monday there.
const YearOne limiter.Instant = -62135596800 * 1e6

// startOf returns the start of the window of length w that holds now, where windows begin at
// multiples of w after origin.
func startOf(now, origin limiter.Instant, w time.Duration) limiter.Instant {
	return origin + (now - origin).Floor(w)
}

func (x *Windowed) Window(now limiter.Instant) (start, end limiter.Instant) {
	if x.Bounds != nil {
		return x.Bounds(now)
	}
	start = startOf(now, x.Origin, x.Settings.Window)
	return start, start.Add(x.Settings.Window)
}

// Fetch reads the counter of the current window, and of a sliding one also that before it.
func (x *Windowed) Fetch(now limiter.Instant) []decode.Fetch {
	start, _ := x.Window(now)
	f := []decode.Fetch{{Key: x.Key(start), Type: "string"}}
	if x.Settings.Algorithm == limiter.SlidingWindow {
		f = append(f, decode.Fetch{Key: x.Key(start.Add(-x.Settings.Window)), Type: "string"})
	}
	return f
}

// Decode returns the counters as they stand.
func (x *Windowed) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := decode.Decoded{Settings: x.Settings, Charged: x.Charged, Hides: x.Hides, Type: "none", Members: Members(got)}
	start, end := x.Window(now)
	d.Window = end.Sub(start)
	if x.Bounds != nil || int64(x.Origin)%d.Window.Microseconds() != 0 {
		d.Convention.Alignment = limiter.AlignFirstRequest
	}
	d.State.Start, d.State.PreviousStart = start, start.Add(-d.Window)
	if x.Lags {
		d.Notes = append(d.Notes, model.Lags)
	}
	if x.More > 0 {
		Translate(&d, given, limiter.Limit{Count: given.Limit.Count + x.More, Window: d.Window})
	}
	for i := range got {
		if !got[i].Exists() {
			continue
		}
		d.Type, d.TTL = got[i].Type, max(d.TTL, got[i].TTL)
		n, ok := Count(got[i].Text)
		switch {
		case !ok:
			d.Err = NoCount
		case i == 0:
			d.State.Current = n
		default:
			d.State.Previous, d.PreviousKnown = n, true
		}
	}
	d.PreviousKnown = len(got) > 1
	if x.Capped && given.Limit.Count > 0 {
		d.State.Previous = min(d.State.Previous, given.Limit.Count)
	}
	return d
}

// MatchWindowed returns the match of a limiter whose windows are named; name is of its row.
func MatchWindowed(x *Windowed, name, prefix string, why ...string) *decode.Match {
	return &decode.Match{Settings: x.Settings, Name: name, Prefix: prefix, Why: why, Limiter: x}
}
