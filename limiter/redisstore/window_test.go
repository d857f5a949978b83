package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/limitertest"
	"ratescope/limiter/redisstore"
)

// TestAnyWindow holds every algorithm to the bound that is proven for it, in any window of
// the limit's length, wherever it starts.
func TestAnyWindow(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	client := servertest.Client(t)
	for round := range 6 {
		limit := limiter.Limit{Count: rng.Int64N(30) + 3, Window: time.Duration(rng.Int64N(5_000)+1) * time.Millisecond}
		for _, a := range limiter.Algorithms() {
			c := limiter.Convention{Rounding: convention.Rounding(rng.IntN(2))}
			at := limitertest.Start
			l := newStore(t, client, a, redisstore.WithConvention(c), redisstore.WithClock(func() limiter.Instant { return at }))
			key := fmt.Sprintf("any window:%s:%d", a, round)
			in := limitertest.Arrivals(rng, limit, 400, func(now limiter.Instant, n int64) bool {
				at = now
				return allow(t, l, key, limit, n).Allowed
			})
			if got, bound := limitertest.MostInWindow(in, limit.Window), limitertest.Bound(a, c, limit); got > bound {
				t.Fatalf("%s admitted %d in one window of %+v, the bound is %d", a, got, limit, bound)
			}
		}
	}
}
