package lab

import (
	"math/rand/v2"
	"slices"
	"time"

	"ratescope/limiter"
)

// sourceFunc is a function as a Source.
type sourceFunc func() (Arrival, bool)

// Next implements Source.
func (f sourceFunc) Next() (Arrival, bool) { return f() }

// poisson makes independent arrivals a mean gap of microseconds apart. Its time is a float so that gaps
// below a microsecond do not pile up at one instant.
func poisson(random *rand.Rand, at, gap float64, cost int64) sourceFunc {
	return func() (Arrival, bool) {
		at += random.ExpFloat64() * gap
		return Arrival{At: limiter.Instant(at), Cost: cost}, true
	}
}

// steady makes one arrival every gap of microseconds.
func steady(at, gap float64, cost int64) sourceFunc {
	at -= gap
	return func() (Arrival, bool) {
		at += gap
		return Arrival{At: limiter.Instant(at), Cost: cost}, true
	}
}

// onOff runs a stream from 0 on a clock that stands still while it is off.
func onOff(next sourceFunc, from, on, period limiter.Instant) sourceFunc {
	return func() (Arrival, bool) {
		a, ok := next()
		a.At = from + a.At/on*period + a.At%on
		return a, ok
	}
}

// bursts makes n arrivals in each period, over so many microseconds of it.
func bursts(random *rand.Rand, at, period limiter.Instant, n int, spread float64, cost int64) sourceFunc {
	var batch []limiter.Instant // what is left of the present burst
	return func() (Arrival, bool) {
		if n == 0 {
			return Arrival{}, false
		}
		if len(batch) == 0 {
			for range n {
				batch = append(batch, at+limiter.Instant(random.Float64()*spread))
			}
			slices.Sort(batch)
			at += period
		}
		a := Arrival{At: batch[0], Cost: cost}
		batch = batch[1:]
		return a, true
	}
}

// adversary aims at what window counters forget. It sends a burst in the last moment of a
// window and another in the last moment of the next one, when the first has almost no
// weight left though it is still less than a window old; then it lets two windows pass.
func adversary(t Traffic, s Setup, from limiter.Instant, cost int64) sourceFunc {
	w, n := limiter.Instant(s.Limit.Window/time.Microsecond), t.Burst
	if n == 0 {
		n = int(min(s.Limit.Count, 1_000_000))
	}
	lead := min(max(micros(t.SpreadMS), 1), max(w/4, 1))
	edge, left, second := from.Floor(s.Limit.Window)+w, n, false
	return func() (Arrival, bool) {
		if n == 0 {
			return Arrival{}, false
		}
		if left == 0 {
			if second {
				edge += 3 * w
			}
			second, left = !second, n
		}
		left--
		at := edge - lead
		if second { // one lead before the first burst turns a window old
			at += w - lead
		}
		return Arrival{At: at, Cost: cost}, true
	}
}

// until ends a source at an instant.
func until(s Source, end limiter.Instant) sourceFunc {
	return func() (Arrival, bool) {
		a, ok := s.Next()
		return a, ok && a.At < end
	}
}
