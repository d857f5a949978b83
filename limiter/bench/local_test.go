package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/RussellLuo/slidingwindow"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"ratescope/limiter"
)

// contestant decides about one request on a key that is one of a fixed set.
type contestant struct {
	name   string
	decide func(i int)
}

// limit is far above what one process can ask for, so that every decision is charged: a
// denial costs the peers nothing, and us the answer to when.
var limit = limiter.Limit{Count: 1_000_000, Window: 10 * time.Millisecond}

// arrivals is the order in which n keys ask: at random, as they do, and not one after the
// other, which would let the processor fetch ahead what lies in the same order.
func arrivals(n int) []int {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]int, 1<<16)
	for i := range all {
		all[i] = rng.IntN(n)
	}
	return all
}

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("user:%d", i)
	}
	return all
}

// ours are all algorithms, with the clock read on every decision as the peers do.
func ours(b *testing.B, keys []string) []contestant {
	var all []contestant
	for _, a := range limiter.Algorithms() {
		m, err := limiter.NewMemory(a)
		if err != nil {
			b.Fatal(err)
		}
		ctx := context.Background()
		all = append(all, contestant{"ratescope-" + a.String(), func(i int) {
			if _, err := m.AllowN(ctx, keys[i], limit, 1); err != nil {
				b.Fatal(err)
			}
		}})
	}
	return all
}

// peers are the local limiters in common use. Those without keys of their own get the
// map and the lock that their users write.
func peers(b *testing.B, keys []string) []contestant {
	var mu sync.RWMutex
	spread := map[string]*rate.Limiter{}
	sliding := map[string]*slidingwindow.Limiter{}
	for _, k := range keys {
		spread[k] = rate.NewLimiter(rate.Limit(float64(limit.Count)/limit.Window.Seconds()), int(limit.Count))
		sliding[k], _ = slidingwindow.NewLimiter(limit.Window, limit.Count, func() (slidingwindow.Window, slidingwindow.StopFunc) {
			return slidingwindow.NewLocalWindow()
		})
	}
	store, err := memstore.NewCtx(0)
	if err != nil {
		b.Fatal(err)
	}
	gcra, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(int(limit.Count), limit.Window), MaxBurst: int(limit.Count) - 1})
	if err != nil {
		b.Fatal(err)
	}
	fixed := ulule.New(memory.NewStore(), ulule.Rate{Period: limit.Window, Limit: limit.Count})
	ctx := context.Background()
	return []contestant{
		{"x-time-rate", func(i int) {
			mu.RLock()
			l := spread[keys[i]]
			mu.RUnlock()
			l.Allow()
		}},
		{"throttled-gcra", func(i int) {
			if _, _, err := gcra.RateLimitCtx(ctx, keys[i], 1); err != nil {
				b.Fatal(err)
			}
		}},
		{"ulule-fixed", func(i int) {
			if _, err := fixed.Get(ctx, keys[i]); err != nil {
				b.Fatal(err)
			}
		}},
		{"RussellLuo-sliding", func(i int) {
			mu.RLock()
			l := sliding[keys[i]]
			mu.RUnlock()
			l.Allow()
		}},
	}
}

// BenchmarkLocal puts every algorithm beside its peers: one goroutine and two, one key
// and ten thousand.
func BenchmarkLocal(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		keys, order := names(n), arrivals(n)
		for _, c := range append(ours(b, keys), peers(b, keys)...) {
			for _, goroutines := range []int{1, 2} {
				b.Run(fmt.Sprintf("keys=%d/goroutines=%d/%s", n, goroutines, c.name), func(b *testing.B) {
					b.ReportAllocs()
					if goroutines == 1 {
						for i := 0; b.Loop(); i++ {
							c.decide(order[i%len(order)])
						}
						return
					}
					var start atomic.Int64
					b.SetParallelism(1)
					b.RunParallel(func(pb *testing.PB) {
						i := int(start.Add(7919))
						for ; pb.Next(); i++ {
							c.decide(order[i%len(order)])
						}
					})
				})
			}
		}
	}
}
