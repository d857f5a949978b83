package limitertest

import (
	"math/rand/v2"
	"time"

	"ratescope/limiter"
)

// Admission is a request that was admitted.
type Admission struct {
	At limiter.Instant
	N  int64
}

// Arrivals drives bursty traffic with costs through one key, from Start on, and returns
// what allow admitted. Some of it can never be admitted, and some has a cost of 0.
func Arrivals(rng *rand.Rand, limit limiter.Limit, requests int, allow func(now limiter.Instant, n int64) bool) []Admission {
	now := Start
	var in []Admission
	for range requests {
		switch rng.IntN(6) {
		case 0:
			now = now.Add(limit.Window - time.Duration(rng.IntN(3))*time.Microsecond)
		case 1, 2:
			now = now.Add(time.Duration(rng.Int64N(int64(limit.Window)) / 3).Truncate(time.Microsecond))
		}
		n := rng.Int64N(3) + 1
		switch rng.IntN(20) {
		case 0:
			n = 0
		case 1:
			n = limit.Count + 1
		}
		if allow(now, n) {
			in = append(in, Admission{now, n})
		}
	}
	return in
}

// MostInWindow returns the largest sum admitted in any half-open window of length w. It is
// enough to look at those that end with an admission.
func MostInWindow(in []Admission, w time.Duration) (high int64) {
	from, sum := 0, int64(0)
	for _, one := range in {
		sum += one.N
		for in[from].At <= one.At.Add(-w) {
			sum -= in[from].N
			from++
		}
		high = max(high, sum)
	}
	return high
}

// Bound returns the most that an algorithm may admit in any window of the limit's length:
// a log the limit, weighted counters and fixed windows less than twice the limit, and what
// refills its burst and what comes back in a window.
func Bound(a limiter.Algorithm, c limiter.Convention, limit limiter.Limit) int64 {
	switch {
	case a.Kind() == limiter.KindLog:
		return limit.Count
	case a.Kind() == limiter.KindWeighted && c.Rounding == limiter.RoundExact:
		return 2*limit.Count - 1
	}
	return 2 * limit.Count
}
