package limiter_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
)

// taken is what one request was granted.
type taken struct {
	at limiter.Instant
	n  int64
}

// arrivals drives bursty traffic with costs through one key and returns what got in. Some of
// it can never be admitted, and some asks for nothing.
func arrivals(rng *rand.Rand, limit limiter.Limit, requests int, allow func(now limiter.Instant, n int64) bool) []taken {
	now := far
	var in []taken
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
			in = append(in, taken{now, n})
		}
	}
	return in
}

// most returns the largest sum admitted in any half-open window of length w. It is enough
// to look at those that end with an admission.
func most(in []taken, w time.Duration) (high int64) {
	from, sum := 0, int64(0)
	for _, one := range in {
		sum += one.n
		for in[from].at <= one.at.Add(-w) {
			sum -= in[from].n
			from++
		}
		high = max(high, sum)
	}
	return high
}

type store struct {
	name  string
	allow func(now limiter.Instant, n int64) bool
}

// TestAnyWindow holds every algorithm, as pure arithmetic and in both stores, to the bound
// that is proven for it, in any window of the limit's length, wherever it starts: a log to
// the limit, weighted counters and fixed windows to less than twice the limit, and what
// refills to its burst and what comes back in a window.
func TestAnyWindow(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	client := limitertest.Client(t)
	highest := map[limiter.Algorithm]float64{}
	for round := range 300 {
		limit := limiter.Limit{Count: rng.Int64N(30) + 3, Window: time.Duration(rng.Int64N(5_000)+1) * time.Millisecond}
		for _, a := range limiter.Algorithms() {
			c := limiter.Convention{Rounding: limiter.Rounding(rng.IntN(2))}
			bound := 2 * limit.Count
			switch {
			case a == limiter.SlidingLog || a == limiter.StreamCounter:
				bound = limit.Count
			case a == limiter.SlidingWindow && c.Rounding == limiter.Exact:
				bound--
			}
			state, memory := limiter.State{Algorithm: a}, newMemory(t, a, limiter.WithConvention(c))
			stores := []store{
				{"a State", func(now limiter.Instant, n int64) bool { return state.Take(now, limit, c, n).Allowed }},
				{"memory", func(now limiter.Instant, n int64) bool { return memory.AllowAt(now, "key", limit, n).Allowed }},
			}
			if round%50 == 0 {
				var at limiter.Instant
				r := newRedis(t, client, a, limiter.WithConvention(c), limiter.WithClock(func() limiter.Instant { return at }))
				key := fmt.Sprintf("any window:%s:%d", a, round)
				stores = append(stores, store{"redis", func(now limiter.Instant, n int64) bool {
					at = now
					d, err := r.AllowN(t.Context(), key, limit, n)
					if err != nil {
						t.Fatalf("%s on redis: %v", a, err)
					}
					return d.Allowed
				}})
			}
			for _, s := range stores {
				got := most(arrivals(rng, limit, 400, s.allow), limit.Window)
				highest[a] = max(highest[a], float64(got)/float64(limit.Count))
				if got > bound {
					t.Fatalf("%s in %s admitted %d in one window of %+v, the bound is %d", a, s.name, got, limit, bound)
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
	limit := limiter.Limit{Count: 100, Window: time.Second}
	for rounding, want := range map[limiter.Rounding]int64{limiter.Floor: 200, limiter.Exact: 199} {
		s := limiter.State{Algorithm: limiter.SlidingWindow}
		var in []taken
		for i := range 100 {
			at := far.Add(time.Second - time.Duration(100-i)*time.Microsecond)
			if s.Take(at, limit, limiter.Convention{Rounding: rounding}, 1).Allowed {
				in = append(in, taken{at, 1})
			}
		}
		for us := 0; us < 999_900; us += 50 {
			at := far.Add(time.Second + time.Duration(us)*time.Microsecond)
			if s.Take(at, limit, limiter.Convention{Rounding: rounding}, 1).Allowed {
				in = append(in, taken{at, 1})
			}
		}
		if got := most(in, limit.Window); got != want {
			t.Errorf("rounding %d: %d in one window, want %d", rounding, got, want)
		}
	}
}

// TestThreeFaces says that GCRA, the greedy token bucket and the leaky bucket are one
// algorithm with three memories: the same requests meet the same fate in all of them.
func TestThreeFaces(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	for range 200 {
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
	limit := limiter.Limit{Count: 7, Window: time.Second, Burst: 1}
	for _, a := range []limiter.Algorithm{limiter.GCRA, limiter.TokenBucket, limiter.LeakyBucket} {
		s := limiter.State{Algorithm: a}
		admitted := 0
		for i := range 1_000_000 {
			if s.Take(far.Add(time.Duration(i)*time.Millisecond/10), limit, limiter.Convention{}, 1).Allowed {
				admitted++
			}
		}
		// 100 s at 7 a second and the first; asking every 100 µs loses under a thousandth of
		// each interval for a bucket that waits for the next request.
		if admitted < 699 || admitted > 701 {
			t.Errorf("%s admitted %d in 100 s at 7 a second", a, admitted)
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
			Edge: limiter.Edge(kind >> 3 & 1), Alignment: limiter.Alignment(kind >> 4 & 1), Rounding: limiter.Rounding(kind >> 5 % 3),
			Rule: limiter.Rule(kind >> 6 & 1), Denied: limiter.Denied(kind >> 7), Refill: limiter.Refill(kind >> 3 & 1),
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
