package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
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
	decide func(i int) error
	alone  bool // its instant is that of one goroutine
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

func namesOf(n int) []string {
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
		all = append(all, contestant{"ratescope-" + a.String(), func(i int) error {
			_, err := m.AllowN(ctx, keys[i], limit, 1)
			return err
		}, false})
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
		{"x-time-rate", func(i int) error {
			mu.RLock()
			l := spread[keys[i]]
			mu.RUnlock()
			l.Allow()
			return nil
		}, false},
		{"throttled-gcra", func(i int) error {
			_, _, err := gcra.RateLimitCtx(ctx, keys[i], 1)
			return err
		}, false},
		{"ulule-fixed", func(i int) error {
			_, err := fixed.Get(ctx, keys[i])
			return err
		}, false},
		{"RussellLuo-sliding", func(i int) error {
			mu.RLock()
			l := sliding[keys[i]]
			mu.RUnlock()
			l.Allow()
			return nil
		}, false},
	}
}

// given are all algorithms at an instant that the caller brings along, which spares them
// the clock and the checks.
func given(b *testing.B, keys []string) []contestant {
	var all []contestant
	for _, a := range limiter.Algorithms() {
		m, err := limiter.NewMemory(a)
		if err != nil {
			b.Fatal(err)
		}
		now := limiter.InstantOf(time.Now())
		all = append(all, contestant{"ratescope-" + a.String() + " at an instant", func(i int) error {
			now++
			m.AllowAt(now, keys[i], limit, 1)
			return nil
		}, true})
	}
	return all
}

// BenchmarkLocal prints what a decision costs in this process, one key and ten thousand,
// one goroutine and two: nanoseconds from one decision to the next, of both goroutines
// together. All contestants take turns of some milliseconds, of which the cheapest counts,
// so that what else the machine does falls on none of them.
func BenchmarkLocal(b *testing.B) {
	for range b.N {
		out := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
		_, _ = fmt.Fprintln(out, "\nns a decision\t1 key\t1 key, 2 goroutines\t10,000 keys\t10,000 keys, 2 goroutines\tallocations\terrors")
		var names []string
		var columns [][]float64
		var allocs []float64
		failed := map[string]int64{}
		for _, n := range []int{1, 10_000} {
			keys, order := namesOf(n), arrivals(n)
			all := append(ours(b, keys), given(b, keys)...)
			all = append(all, peers(b, keys)...)
			rounds, turn := 200, 4000
			if n > 1 {
				rounds, turn = 40, 3*n // the caches hold one contestant's keys at a time
			}
			for _, goroutines := range []int{1, 2} {
				low := make([]float64, len(all))
				least := make([]float64, len(all))
				for round := range rounds {
					for i, c := range all {
						if c.alone && goroutines > 1 {
							continue
						}
						ns, mallocs, errs := turnOf(c, goroutines, turn, round, order)
						failed[c.name] += errs
						if round == 0 || ns < low[i] {
							low[i] = ns
						}
						if round == 0 || mallocs < least[i] {
							least[i] = mallocs
						}
					}
				}
				columns = append(columns, low)
				if n == 1 && goroutines == 1 {
					allocs = least
				}
			}
			names = names[:0]
			for _, c := range all {
				names = append(names, c.name)
			}
		}
		for i, name := range names {
			_, _ = fmt.Fprint(out, name)
			for _, column := range columns {
				if column[i] == 0 {
					_, _ = fmt.Fprint(out, "\t–")
				} else {
					_, _ = fmt.Fprintf(out, "\t%.0f", column[i])
				}
			}
			_, _ = fmt.Fprintf(out, "\t%.0f\t%d\n", allocs[i], failed[name])
		}
		_ = out.Flush()
	}
}

// turnOf makes so many decisions in each of some goroutines.
func turnOf(c contestant, goroutines, turn, round int, order []int) (ns, mallocs float64, errs int64) {
	var failed atomic.Int64 // a peer may give up when two want one key
	var before, after runtime.MemStats
	if goroutines == 1 && round%20 == 0 { // stops the world, so not always
		runtime.ReadMemStats(&before)
	}
	start := time.Now()
	var wg sync.WaitGroup
	for g := range goroutines - 1 {
		wg.Go(func() { failed.Add(decide(c, turn, (round+1)*(g+1)*7919, order)) })
	}
	failed.Add(decide(c, turn, round*turn, order))
	wg.Wait()
	ns = float64(time.Since(start).Nanoseconds()) / float64(turn*goroutines)
	if goroutines == 1 && round%20 == 0 {
		runtime.ReadMemStats(&after)
		return ns, float64(after.Mallocs-before.Mallocs) / float64(turn), failed.Load()
	}
	return ns, math.Inf(1), failed.Load()
}

func decide(c contestant, turn, at int, order []int) (failed int64) {
	for j := range turn {
		if c.decide(order[(at+j)%len(order)]) != nil {
			failed++
		}
	}
	return failed
}
