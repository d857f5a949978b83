package library

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// windowed is a limiter whose keys are counters, one a window, named after the start of their
// window: a fixed window, or a sliding one that weighs the current and the previous counter.
type windowed struct {
	settings decode.Settings
	key      func(start limiter.Instant) string
	origin   limiter.Instant // windows begin at multiples of their length after it; 0 the epoch
	lags     bool            // processes count by themselves, and add that from time to time
	charged  bool            // denied requests are counted, too
	hides    bool            // as decode.Decoded.Hides
	capped   bool            // the previous window counts up to the limit
	more     int64           // so many requests beyond the limit are admitted
	// bounds returns the window of an instant where windows differ in length; else nil.
	bounds func(limiter.Instant) (start, end limiter.Instant)
}

// yearOne is the start of Go's calendar, to which time.Truncate aligns, in microseconds of the
// Unix epoch: it differs from the epoch for weeks, which begin on a Monday there.
const yearOne limiter.Instant = -62135596800 * 1e6

// startOf returns the start of the window of length w that holds now, where windows begin at
// multiples of w after origin.
func startOf(now, origin limiter.Instant, w time.Duration) limiter.Instant {
	return origin + (now - origin).Floor(w)
}

func (x *windowed) window(now limiter.Instant) (start, end limiter.Instant) {
	if x.bounds != nil {
		return x.bounds(now)
	}
	start = startOf(now, x.origin, x.settings.Window)
	return start, start.Add(x.settings.Window)
}

// Fetch reads the counter of the current window, and of a sliding one also that before it.
func (x *windowed) Fetch(now limiter.Instant) []decode.Fetch {
	start, _ := x.window(now)
	f := []decode.Fetch{{Key: x.key(start), Type: "string"}}
	if x.settings.Algorithm == limiter.SlidingWindow {
		f = append(f, decode.Fetch{Key: x.key(start.Add(-x.settings.Window)), Type: "string"})
	}
	return f
}

// Decode returns the counters as they stand.
func (x *windowed) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := decode.Decoded{Settings: x.settings, Charged: x.charged, Hides: x.hides, Type: "none", Members: members(got)}
	start, end := x.window(now)
	d.Window = end.Sub(start)
	if x.bounds != nil || int64(x.origin)%d.Window.Microseconds() != 0 {
		d.Convention.Alignment = limiter.AlignFirstRequest
	}
	d.State.Start, d.State.PreviousStart = start, start.Add(-d.Window)
	if x.lags {
		d.Notes = append(d.Notes, model.Lags)
	}
	if x.more > 0 {
		translate(&d, given, limiter.Limit{Count: given.Limit.Count + x.more, Window: d.Window})
	}
	for i := range got {
		if !got[i].Exists() {
			continue
		}
		d.Type, d.TTL = got[i].Type, max(d.TTL, got[i].TTL)
		n, ok := count(got[i].Text)
		switch {
		case !ok:
			d.Err = noCount
		case i == 0:
			d.State.Current = n
		default:
			d.State.Previous, d.PreviousKnown = n, true
		}
	}
	d.PreviousKnown = len(got) > 1
	if x.capped && given.Limit.Count > 0 {
		d.State.Previous = min(d.State.Previous, given.Limit.Count)
	}
	return d
}

// matchWindowed returns the match of a limiter whose windows are named; name is of its row.
func matchWindowed(x *windowed, name, prefix string, why ...string) *decode.Match {
	return &decode.Match{Settings: x.settings, Name: name, Prefix: prefix, Why: why, Limiter: x}
}
