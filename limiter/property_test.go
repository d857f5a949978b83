package limiter_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/limitertest"
)

// TestAnyWindow holds every algorithm, as pure arithmetic and in memory, to the bound that
// is proven for it, in any window of the limit's length, wherever it starts.
func TestAnyWindow(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	highest := map[limiter.Algorithm]float64{}
	for range volume(300) {
		limit := limiter.Limit{Count: rng.Int64N(30) + 3, Window: time.Duration(rng.Int64N(5_000)+1) * time.Millisecond}
		for _, a := range limiter.Algorithms() {
			c := limiter.Convention{Rounding: convention.Rounding(rng.IntN(2))}
			state, memory := limiter.State{Algorithm: a}, newMemory(t, a, limiter.WithConvention(c))
			for name, allow := range map[string]func(limiter.Instant, int64) bool{
				"a State": func(now limiter.Instant, n int64) bool { return state.Take(now, limit, c, n).Allowed },
				"memory":  func(now limiter.Instant, n int64) bool { return memory.AllowAt(now, "key", limit, n).Allowed },
			} {
				got := mostInWindow(arrivals(rng, limit, 400, allow), limit.Window)
				highest[a] = max(highest[a], float64(got)/float64(limit.Count))
				if most := bound(a, c, limit); got > most {
					t.Fatalf("%s in %s admitted %d in one window of %+v, the bound is %d", a, name, got, limit, most)
				}
			}
		}
	}
	t.Logf("most admitted in a window, in limits: %v", highest)
	if highest[limiter.SlidingLog] != 1 || highest[limiter.FixedWindow] < 1.3 {
		t.Errorf("the traffic tested too little: %v", highest)
	}
}

// TestSlidingWindowWorstCase builds the traffic that the weighted counter judges worst:
// everything at the end of one window, and again late in the next. Rounding down forgives
// the last fraction of the previous window, so it reaches twice the limit; exact
// arithmetic stays one below.
func TestSlidingWindowWorstCase(t *testing.T) {
	t.Parallel()
	limit := limiter.Limit{Count: 100, Window: time.Second}
	for rounding, want := range map[convention.Rounding]int64{convention.Floor: 200, convention.Exact: 199} {
		s := limiter.State{Algorithm: limiter.SlidingWindow}
		var in []admission
		for i := range 100 {
			at := far.Add(time.Second - time.Duration(100-i)*time.Microsecond)
			if s.Take(at, limit, limiter.Convention{Rounding: rounding}, 1).Allowed {
				in = append(in, admission{At: at, N: 1})
			}
		}
		for us := 0; us < 999_900; us += 50 {
			at := far.Add(time.Second + time.Duration(us)*time.Microsecond)
			if s.Take(at, limit, limiter.Convention{Rounding: rounding}, 1).Allowed {
				in = append(in, admission{At: at, N: 1})
			}
		}
		if got := mostInWindow(in, limit.Window); got != want {
			t.Errorf("rounding %d: %d in one window, want %d", rounding, got, want)
		}
	}
}

// TestThreeFaces says that GCRA, the greedy token bucket and the leaky bucket are one
// algorithm with three memories: the same requests meet the same fate in all of them.
func TestThreeFaces(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	for range volume(200) {
		limit := limiter.Limit{Count: rng.Int64N(1000) + 1, Window: time.Duration(rng.Int64N(10_000_000)+1000) * time.Microsecond, Burst: rng.Int64N(50)}
		var states []limiter.State
		for _, a := range []limiter.Algorithm{limiter.GCRA, limiter.TokenBucket, limiter.LeakyBucket} {
			states = append(states, limiter.State{Algorithm: a})
		}
		now := far
		for range 300 {
			now = now.Add(time.Duration(rng.Int64N(int64(limit.Window)/limit.Count+2)) * time.Duration(rng.IntN(3)))
			n := rng.Int64N(4)
			first := states[0].Take(now, limit, limiter.Convention{}, n)
			for i := range states[1:] {
				if d := states[i+1].Take(now, limit, limiter.Convention{}, n); d != first {
					t.Fatalf("%s and gcra disagree at %v:\n%+v\n%+v", states[i+1].Algorithm, limit, d, first)
				}
			}
		}
	}
}

// TestNoFractionIsLost keeps a busy client at a rate without a whole interval, asking far
// more often than it may: over a long time it gets its rate to the last unit.
func TestNoFractionIsLost(t *testing.T) {
	t.Parallel()
	asked := volume(1_000_000)
	limit := limiter.Limit{Count: 7, Window: time.Second, Burst: 1}
	for _, a := range []limiter.Algorithm{limiter.GCRA, limiter.TokenBucket, limiter.LeakyBucket} {
		s := limiter.State{Algorithm: a}
		admitted := 0
		for i := range asked {
			if s.Take(far.Add(time.Duration(i)*time.Millisecond/10), limit, limiter.Convention{}, 1).Allowed {
				admitted++
			}
		}
		// 7 a second and the first; asking every 100 µs loses under a thousandth of each
		// interval for a bucket that waits for the next request.
		if want := 7 * asked / 10_000; admitted < want-1 || admitted > want+1 {
			t.Errorf("%s admitted %d in %d s at 7 a second", a, admitted, asked/10_000)
		}
	}
}

// FuzzState feeds decisions with whatever a hostile server may make of a state.
func FuzzState(f *testing.F) {
	f.Add(uint8(1), int64(5), int64(1e6), int64(0), int64(1), int64(2), int64(3), int64(far), 1.5, int64(7))
	f.Add(uint8(4), int64(math.MaxInt64), int64(-1), int64(math.MinInt64), int64(math.MaxInt64), int64(math.MinInt64), int64(-3), int64(0), math.Inf(1), int64(math.MaxInt64))
	f.Add(uint8(255), int64(0), int64(0), int64(-1), int64(0), int64(0), int64(0), int64(math.MinInt64), math.NaN(), int64(0))
	f.Fuzz(func(t *testing.T, kind uint8, count, window, burst, x, y, z, now int64, level float64, n int64) {
		s := limiter.State{
			Algorithm: limiter.Algorithm(kind%8 + 0), Start: limiter.Instant(x), Previous: y, Current: z, PreviousStart: limiter.Instant(z),
			TAT: limiter.Instant(y), Level: level, Filled: limiter.Instant(x), Part: z, Parts: y, BlockedUntil: limiter.Instant(z),
			Log: []limiter.Entry{{At: limiter.Instant(x), Count: y}, {At: limiter.Instant(z), Count: x}},
		}
		limit := limiter.Limit{Count: count, Window: time.Duration(window), Burst: burst}
		c := limiter.Convention{
			Edge: convention.Edge(kind >> 3 & 1), Alignment: convention.Alignment(kind >> 4 & 1), Rounding: convention.Rounding(kind >> 5 % 3),
			Rule: convention.Rule(kind >> 6 & 1), Denied: convention.Denied(kind >> 7), Refill: convention.Refill(kind >> 3 & 1),
		}
		peeked := s.Peek(limiter.Instant(now), limit, c, n)
		d := s.Take(limiter.Instant(now), limit, c, n)
		if peeked.Allowed != d.Allowed {
			t.Fatalf("a peek said %v, the decision %v", peeked.Allowed, d.Allowed)
		}
		if d.Remaining < 0 || d.Allowed && d.RetryAfter != 0 {
			t.Fatalf("%+v", d)
		}
	})
}

// volume returns how often a test of arithmetic repeats: n times, or a tenth of that with -short, which
// the pass under the race detector has.
func volume(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// admission is a request that was admitted.
type admission struct {
	At limiter.Instant
	N  int64
}

// arrivals drives bursty traffic with costs through one key, from limitertest.Start on, and returns
// what allow admitted. Some of it can never be admitted, and some has a cost of 0.
func arrivals(rng *rand.Rand, limit limiter.Limit, requests int, allow func(now limiter.Instant, n int64) bool) []admission {
	now := limitertest.Start
	var in []admission
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
			in = append(in, admission{now, n})
		}
	}
	return in
}

// mostInWindow returns the largest sum admitted in any half-open window of length w. It is
// enough to look at those that end with an admission.
func mostInWindow(in []admission, w time.Duration) (high int64) {
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

// bound returns the most that an algorithm may admit in any window of the limit's length:
// a log the limit, weighted counters and fixed windows less than twice the limit, and what
// refills its burst and what comes back in a window.
func bound(a limiter.Algorithm, c limiter.Convention, limit limiter.Limit) int64 {
	switch {
	case a == limiter.SlidingLog || a == limiter.StreamCounter:
		return limit.Count
	case a == limiter.SlidingWindow && c.Rounding == convention.Exact:
		return 2*limit.Count - 1
	}
	return 2 * limit.Count
}
