package form

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

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
	for _, unit := range [...]time.Duration{time.Hour, time.Minute, time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
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
