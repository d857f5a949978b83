package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
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
	alone  bool              // its instant is that of one goroutine
	alike  limiter.Algorithm // of a peer: the one of ours that decides as it does
}

// limit is far above what one process can ask for, so that every decision is charged: a
// denial costs the peers nothing, and us the answer to when.
var limit = limiter.Limit{Count: 1_000_000, Window: 10 * time.Millisecond}

// arrivals is the order in which n keys ask: at random, as they do, and not one after the
// other, which would let the processor fetch ahead what lies in the same order. It is
// small, as are the names, for reading them is part of what is measured.
func arrivals(n int) *[1 << 16]uint16 {
	rng := rand.New(rand.NewPCG(1, 2))
	all := new([1 << 16]uint16)
	for i := range all {
		all[i] = uint16(rng.IntN(n))
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

// roster holds names of one length, one after the other.
type roster struct{ all string }

const nameLen = len("user:00000")

func rosterOf(n int) *roster {
	var all strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&all, "user:%05d", i)
	}
	return &roster{all.String()}
}

func (r *roster) at(i int) string { return r.all[i*nameLen : (i+1)*nameLen] }

// ours are all algorithms, with the clock read on every decision as the peers do.
func ours(b *testing.B, keys *roster) []contestant {
	var all []contestant
	for _, a := range limiter.Algorithms() {
		m, err := limiter.NewMemory(a)
		if err != nil {
			b.Fatal(err)
		}
		ctx := context.Background()
		all = append(all, contestant{"ratescope-" + a.String(), func(i int) error {
			_, err := m.AllowN(ctx, keys.at(i), limit, 1)
			return err
		}, false, limiter.Unknown})
	}
	return all
}

// peers are the local limiters in common use. Those without keys of their own get the
// map and the lock that their users write.
func peers(b *testing.B, keys *roster) []contestant {
	var mu sync.RWMutex
	spread := map[string]*rate.Limiter{}
	sliding := map[string]*slidingwindow.Limiter{}
	for i := range len(keys.all) / nameLen {
		k := keys.at(i)
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
			l := spread[keys.at(i)]
			mu.RUnlock()
			l.Allow()
			return nil
		}, false, limiter.TokenBucket},
		{"throttled-gcra", func(i int) error {
			_, _, err := gcra.RateLimitCtx(ctx, keys.at(i), 1)
			return err
		}, false, limiter.GCRA},
		{"ulule-fixed", func(i int) error {
			_, err := fixed.Get(ctx, keys.at(i))
			return err
		}, false, limiter.FixedWindow},
		{"RussellLuo-sliding", func(i int) error {
			mu.RLock()
			l := sliding[keys.at(i)]
			mu.RUnlock()
			l.Allow()
			return nil
		}, false, limiter.SlidingWindow},
	}
}

// given are all algorithms at an instant that the caller brings along, which spares them
// the clock.
func given(b *testing.B, keys *roster) []contestant {
	var all []contestant
	for _, a := range limiter.Algorithms() {
		now := limiter.InstantOf(time.Now())
		m, err := limiter.NewMemory(a, limiter.WithClock(func() limiter.Instant { return now }))
		if err != nil {
			b.Fatal(err)
		}
		ctx := context.Background()
		all = append(all, contestant{"ratescope-" + a.String() + " at an instant", func(i int) error {
			now++
			_, err := m.AllowN(ctx, keys.at(i), limit, 1)
			return err
		}, true, limiter.Unknown})
	}
	return all
}

// BenchmarkLocal prints what a decision costs in this process, one key and ten thousand,
// one goroutine and two: nanoseconds from one decision to the next, of both goroutines
// together. In every round all contestants take a turn, in an order drawn anew, so that
// none always follows the same one; what counts is the median of the rounds. With many
// keys a turn lasts some windows, as traffic that goes on does, and not only the moment in
// which all keys come back. The last lines set beside each peer our algorithm that decides as
// it does, and our slowest.
func BenchmarkLocal(b *testing.B) {
	for range b.N {
		var all []contestant
		var columns []column
		for _, n := range []int{1, 10_000} {
			all = contestants(b, n)
			for _, goroutines := range []int{1, 2} {
				columns = append(columns, compete(all, goroutines, n))
			}
		}
		out := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
		_, _ = fmt.Fprintln(out, "\nns a decision, median\t1 key\t1 key, 2 goroutines\t10,000 keys\t10,000 keys, 2 goroutines\tallocations\terrors")
		for i, c := range all {
			_, _ = fmt.Fprint(out, c.name)
			mallocs, failed := 0.0, int64(0)
			for _, col := range columns {
				failed += col.failed[i]
				if !math.IsInf(col.mallocs[i], 1) {
					mallocs = max(mallocs, col.mallocs[i])
				}
				if col.ns[i] == 0 {
					_, _ = fmt.Fprint(out, "\t–")
				} else {
					_, _ = fmt.Fprintf(out, "\t%.0f", col.ns[i])
				}
			}
			_, _ = fmt.Fprintf(out, "\t%.2f\t%d\n", mallocs, failed)
		}
		for i, c := range all {
			if c.ours() {
				continue
			}
			_, _ = fmt.Fprintf(out, "our %s / %s", c.alike, c.name)
			for _, col := range columns {
				_, _ = fmt.Fprintf(out, "\t%.2f", ofOurs(all, col, c.alike)/col.ns[i])
			}
			_, _ = fmt.Fprintf(out, "\t\t\nour slowest / %s", c.name)
			for _, col := range columns {
				_, _ = fmt.Fprintf(out, "\t%.2f", slowest(all, col)/col.ns[i])
			}
			_, _ = fmt.Fprintln(out, "\t\t")
		}
		_ = out.Flush()
	}
}

func (c contestant) ours() bool { return strings.HasPrefix(c.name, "ratescope-") }

// ofOurs is what one of our algorithms takes, with the clock.
func ofOurs(all []contestant, col column, a limiter.Algorithm) float64 {
	for i, c := range all {
		if c.name == "ratescope-"+a.String() {
			return col.ns[i]
		}
	}
	return math.NaN()
}

// slowest is what the slowest of our algorithms takes that reads the clock, as the peers do.
func slowest(all []contestant, col column) (ns float64) {
	for i, c := range all {
		if c.ours() && !c.alone {
			ns = max(ns, col.ns[i])
		}
	}
	return ns
}

// contestants are all of ours and all peers on n keys, all of which they know. What asks
// from then on are other strings of the same names, as those of requests are.
func contestants(b *testing.B, n int) []contestant {
	keys := rosterOf(n)
	all := append(append(ours(b, keys), given(b, keys)...), peers(b, keys)...)
	for i := range n {
		for _, c := range all {
			if err := c.decide(i); err != nil {
				b.Fatal(err)
			}
		}
	}
	keys.all = strings.Clone(keys.all)
	return all
}

// column holds for each contestant the median of its turns, the allocations of a decision
// in its quietest turn, and how many decisions failed.
type column struct {
	ns, mallocs []float64
	failed      []int64
}

func compete(all []contestant, goroutines, keys int) column {
	rounds, turn, order := 60, 30_000, arrivals(keys)
	if keys > 1 {
		rounds, turn = 20, 20*keys
	}
	c := column{make([]float64, len(all)), make([]float64, len(all)), make([]int64, len(all))}
	turns := make([][]float64, len(all))
	for i := range c.mallocs {
		c.mallocs[i] = math.Inf(1)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range rounds {
		for _, i := range rng.Perm(len(all)) {
			if all[i].alone && goroutines > 1 {
				continue
			}
			ns, mallocs, failed := turnOf(all[i], goroutines, turn, round, order)
			turns[i] = append(turns[i], ns)
			c.mallocs[i] = min(c.mallocs[i], mallocs)
			c.failed[i] += failed
		}
	}
	for i, t := range turns {
		if slices.Sort(t); len(t) > 0 {
			c.ns[i] = t[len(t)/2]
		}
	}
	return c
}

// turnOf makes so many decisions in each of some goroutines.
func turnOf(c contestant, goroutines, turn, round int, order *[1 << 16]uint16) (ns, mallocs float64, errs int64) {
	var failed atomic.Int64 // a peer may give up when two want one key
	var before, after runtime.MemStats
	counted := goroutines == 1 && round%20 == 0 // it stops the world, so not always
	if counted {
		runtime.ReadMemStats(&before)
	}
	var ready, done sync.WaitGroup
	ready.Add(goroutines)
	for g := range goroutines - 1 {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			failed.Add(decide(c, turn, (round+1)*(g+1)*7919, order))
		})
	}
	ready.Done()
	ready.Wait()
	start := time.Now()
	failed.Add(decide(c, turn, round*turn, order))
	done.Wait()
	ns = float64(time.Since(start).Nanoseconds()) / float64(turn*goroutines)
	if !counted {
		return ns, math.Inf(1), failed.Load()
	}
	runtime.ReadMemStats(&after)
	return ns, float64(after.Mallocs-before.Mallocs) / float64(turn), failed.Load()
}

func decide(c contestant, turn, at int, order *[1 << 16]uint16) (failed int64) {
	for j := range turn {
		if c.decide(int(order[(at+j)%len(order)])) != nil {
			failed++
		}
	}
	return failed
}
