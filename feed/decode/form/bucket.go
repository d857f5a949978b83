package form

import (
	"math"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// The libraries that keep a bucket store what is LEFT in it, with fractions, which may be below
// zero where requests wait in line. The package limiter keeps whole units and, in the place of a
// fraction, the time since the last whole one.

// SetTokens makes d the state of a token bucket that held tokens at an instant. step is the
// microseconds that a token takes to come back; 0: not known, or whole batches.
func SetTokens(d *decode.Decoded, tokens float64, at limiter.Instant, step float64) {
	if math.IsNaN(tokens) || math.Abs(tokens) > limiter.MaxCount {
		tokens = math.Max(math.Min(tokens, limiter.MaxCount), 0)
		if math.IsNaN(tokens) {
			tokens = 0
		}
	}
	d.State.Level = math.Floor(math.Max(tokens, 0))
	d.State.Filled = at - Span((tokens-d.State.Level)*step)
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
