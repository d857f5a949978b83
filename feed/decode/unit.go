package decode

import (
	"math"
	"strconv"
	"time"

	"ratescope/limiter"
)

// Units are the measures in which others write a time as a number.
var Units = [...]time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}

// UnitOf tells by its magnitude in which unit v is a time not too far from now: between
// half and one and a half of the server's clock. 0 means that it is none: negative,
// not a number, of 1970 or of a far future.
func UnitOf(v float64, now limiter.Instant) time.Duration {
	seconds := float64(now) / 1e6
	for _, u := range Units {
		if lo, hi := Plausible(u, seconds); v >= lo && v <= hi {
			return u
		}
	}
	return 0
}

// Plausible returns the range of numbers that are times in unit u.
func Plausible(u time.Duration, seconds float64) (lo, hi float64) {
	per := float64(time.Second / u)
	return seconds * per / 2, seconds * per * 1.5
}

// InstantIn converts v, a number of units since the epoch, to an Instant, rounded down
// to the microsecond.
func InstantIn(v float64, unit time.Duration) limiter.Instant {
	switch unit {
	case time.Second: // fractions are common: 1700000000.123456
		return limiter.Instant(math.Round(v * 1e6))
	case time.Millisecond:
		return limiter.Instant(math.Round(v * 1e3))
	case time.Nanosecond:
		return limiter.Instant(math.Floor(v / 1e3))
	}
	return limiter.Instant(v)
}

// TimeText reads an instant that is written with its date, its time and its zone, as programs write one in JSON.
func TimeText(text string) (at limiter.Instant, ok bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return limiter.InstantOf(t), err == nil
}

// NumberIn is the inverse of instantIn.
func NumberIn(at limiter.Instant, unit time.Duration) float64 {
	switch unit {
	case time.Second:
		return float64(at) / 1e6
	case time.Millisecond:
		return float64(at) / 1e3
	case time.Nanosecond:
		return float64(at) * 1e3
	}
	return float64(at)
}

// Score formats a ZSET score so that the server reads back exactly v.
func Score(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return strconv.FormatFloat(v, 'g', 17, 64)
}

// Nice are the windows that people choose, longest first; they are tried where only one
// start is known.
var Nice = [...]time.Duration{
	24 * time.Hour, 12 * time.Hour, 6 * time.Hour, time.Hour, 30 * time.Minute, 15 * time.Minute, 10 * time.Minute,
	5 * time.Minute, 2 * time.Minute, time.Minute, 30 * time.Second, 20 * time.Second, 15 * time.Second,
	10 * time.Second, 5 * time.Second, 2 * time.Second, time.Second,
}

// Tidy rounds a measured window to what was probably meant: expiries are set a little
// after the instant that they are measured from, and often in whole seconds.
func Tidy(w time.Duration) time.Duration {
	for _, step := range [...]time.Duration{time.Minute, time.Second, 100 * time.Millisecond} {
		near := w.Round(step)
		if near > 0 && (w-near).Abs() <= max(near/200, 5*time.Millisecond) && (w-near).Abs() <= 400*time.Millisecond {
			return near
		}
	}
	return w.Round(time.Millisecond)
}
