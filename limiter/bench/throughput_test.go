package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	goredisstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// remote is a limiter on a server, asked about one of a hundred keys.
type remote struct {
	name   string
	decide func(ctx context.Context, key string) error
}

const remoteKeys = 100

// remotes puts ours beside the peers that keep the same algorithm: a fixed window beside
// ulule, GCRA beside redis_rate and throttled. With the automatic pipeliner, which is
// experimental in go-redis, they are named so.
func remotes(b *testing.B, client *redis.Client, pipeliner redisstore.Client) []remote {
	wide := limiter.Limit{Count: 1_000_000, Window: time.Minute}
	var all []remote
	add := func(name string, c redisstore.Client, a limiter.Algorithm, opts ...redisstore.Option) {
		l, err := redisstore.New(c, a, opts...)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, remote{name, func(ctx context.Context, key string) error {
			_, err := l.AllowN(ctx, key, wide, 1)
			return err
		}})
	}
	add("fixed/ratescope", client, limiter.FixedWindow)
	add("fixed/ratescope-autopipeline", pipeliner, limiter.FixedWindow)
	add("fixed/ratescope-each by itself", client, limiter.FixedWindow, redisstore.WithBatches(0))
	store, err := ululeredis.NewStoreWithOptions(client, ulule.StoreOptions{Prefix: "ulule"})
	if err != nil {
		b.Fatal(err)
	}
	fixed := ulule.New(store, ulule.Rate{Period: time.Minute, Limit: 1_000_000})
	all = append(all, remote{"fixed/ulule", func(ctx context.Context, key string) error {
		_, err := fixed.Get(ctx, key)
		return err
	}})
	add("gcra/ratescope", client, limiter.GCRA)
	add("gcra/ratescope-autopipeline", pipeliner, limiter.GCRA)
	add("gcra/ratescope-each by itself", client, limiter.GCRA, redisstore.WithBatches(0))
	spaced := redis_rate.NewLimiter(client)
	all = append(all, remote{"gcra/redis_rate", func(ctx context.Context, key string) error {
		_, err := spaced.Allow(ctx, key, redis_rate.PerMinute(1_000_000))
		return err
	}})
	tstore, err := goredisstore.NewCtx(client, "throttled:")
	if err != nil {
		b.Fatal(err)
	}
	gcra, err := throttled.NewGCRARateLimiterCtx(tstore, throttled.RateQuota{MaxRate: throttled.PerMin(1_000_000), MaxBurst: 999_999})
	if err != nil {
		b.Fatal(err)
	}
	all = append(all, remote{"gcra/throttled", func(ctx context.Context, key string) error {
		_, _, err := gcra.RateLimitCtx(ctx, key, 1)
		return err
	}})
	add("log/ratescope", client, limiter.SlidingLog)
	add("log/ratescope-autopipeline", pipeliner, limiter.SlidingLog)
	add("log/ratescope-each by itself", client, limiter.SlidingLog, redisstore.WithBatches(0))
	return all
}

// turnsOf returns how many turns each contestant has at so many goroutines, and of how many decisions:
// those of one goroutine are short, so that a machine which stands still now and then spares some.
func turnsOf(goroutines int) (turns, decisions int) {
	if goroutines == 1 {
		return 25, 2_500
	}
	return 7, 12_000
}

// BenchmarkThroughput prints decisions a second, the 99th percentile of their time and the
// allocations of each, from many goroutines on one server. The contestants take turns, of
// which the fastest is printed. What is told beside another one is the median of the ratios of
// their turns of one round.
func BenchmarkThroughput(b *testing.B) {
	address := servertest.Start(b).Addr()
	client := redis.NewClient(&redis.Options{Addr: address, PoolSize: 50})
	b.Cleanup(func() { _ = client.Close() })
	piped := redis.NewClient(&redis.Options{Addr: address, PoolSize: 50})
	b.Cleanup(func() { _ = piped.Close() })
	pipeliner, err := piped.AutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pipeliner.Close() })
	keys := namesOf(remoteKeys)
	all := append(remotes(b, client, pipeliner), bareCalls(b, client, address, keys)...)
	for range b.N {
		out := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
		for _, goroutines := range []int{1, 50, 500} {
			_, _ = fmt.Fprintf(out, "\n%d goroutines\tdecisions/s\tp99 µs\tallocations\terrors\n", goroutines)
			turns, decisions := turnsOf(goroutines)
			took := make(map[string][]pace, len(all))
			for range turns {
				for _, r := range all {
					client.FlushDB(context.Background()) // they name their keys alike
					took[r.name] = append(took[r.name], crowd(b, r, keys, goroutines, decisions))
				}
			}
			for _, r := range all {
				best, failed := took[r.name][0], int64(0)
				for _, one := range took[r.name] {
					if failed += one.failed; one.rate > best.rate {
						best = one
					}
				}
				_, _ = fmt.Fprintf(out, "%s\t%.0f\t%d\t%.1f\t%d\n", r.name, best.rate, best.p99.Microseconds(), best.allocs, failed)
				if failed > 0 && strings.Contains(r.name, "ratescope") {
					b.Errorf("%s: %d decisions failed", r.name, failed)
				}
			}
			reportRatios(b, goroutines, took)
		}
		_ = out.Flush()
	}
	b.ReportMetric(0, "ns/op")
}

// pace is how one contestant did in one of its turns.
type pace struct {
	rate   float64 // decisions a second
	p99    time.Duration
	allocs float64 // of a decision
	failed int64
}

// crowd shares the decisions of a turn among goroutines.
func crowd(b *testing.B, r remote, keys []string, goroutines, decisions int) pace {
	ctx := context.Background()
	if err := r.decide(ctx, keys[0]); err != nil {
		b.Fatal(err)
	}
	took := make([][]time.Duration, goroutines)
	for g := range took {
		took[g] = make([]time.Duration, 0, decisions/goroutines)
	}
	var wg sync.WaitGroup
	var failed atomic.Int64
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for g := range goroutines {
		wg.Go(func() {
			for i := range decisions / goroutines {
				at := time.Now()
				if err := r.decide(ctx, keys[(g*31+i)%len(keys)]); err != nil {
					failed.Add(1) // a peer may give up when too many want one key
					continue
				}
				took[g] = append(took[g], time.Since(at))
			}
		})
	}
	wg.Wait()
	spent := time.Since(start)
	runtime.ReadMemStats(&after)
	all := slices.Concat(took...)
	slices.Sort(all)
	n := float64(len(all))
	return pace{
		rate: n / spent.Seconds(), p99: all[len(all)*99/100], failed: failed.Load(),
		allocs: (float64(after.Mallocs-before.Mallocs) - 2*float64(goroutines)) / n, // less the goroutines themselves
	}
}
