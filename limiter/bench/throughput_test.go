package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	goredisstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
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
func remotes(b *testing.B, client *redis.Client, pipeliner, gatherer limiter.Scripter) []remote {
	wide := limiter.Limit{Count: 1_000_000, Window: time.Minute}
	var all []remote
	add := func(name string, c limiter.Scripter, a limiter.Algorithm) {
		l, err := limiter.NewRedis(c, a)
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
	add("fixed/ratescope-gather", gatherer, limiter.FixedWindow)
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
	add("gcra/ratescope-gather", gatherer, limiter.GCRA)
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
	add("log/ratescope-gather", gatherer, limiter.SlidingLog)
	return all
}

// BenchmarkThroughput reports decisions a second and the 99th percentile of their time,
// from many goroutines on one server.
func BenchmarkThroughput(b *testing.B) {
	address := limitertest.Address(b)
	client := redis.NewClient(&redis.Options{Addr: address, PoolSize: 50})
	b.Cleanup(func() { _ = client.Close() })
	piped := redis.NewClient(&redis.Options{Addr: address, PoolSize: 50})
	b.Cleanup(func() { _ = piped.Close() })
	pipeliner, err := piped.AutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pipeliner.Close() })
	gatherer, err := limiter.Gather(client, 2)
	if err != nil {
		b.Fatal(err)
	}
	keys := names(remoteKeys)
	for _, goroutines := range []int{50, 500} {
		for _, r := range remotes(b, client, pipeliner, gatherer) {
			b.Run(fmt.Sprintf("goroutines=%d/%s", goroutines, r.name), func(b *testing.B) {
				b.ReportAllocs()
				crowd(b, r, keys, goroutines)
			})
		}
	}
}

// crowd shares b.N decisions among goroutines.
func crowd(b *testing.B, r remote, keys []string, goroutines int) {
	ctx := context.Background()
	if err := r.decide(ctx, keys[0]); err != nil {
		b.Fatal(err)
	}
	took := make([][]time.Duration, goroutines)
	var wg sync.WaitGroup
	var failed atomic.Int64
	b.ResetTimer()
	start := time.Now()
	for g := range goroutines {
		mine := b.N/goroutines + 1
		took[g] = make([]time.Duration, 0, mine)
		wg.Go(func() {
			for i := range mine {
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
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/spent.Seconds(), "decisions/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "µs/p99")
	if n := failed.Load(); n > 0 {
		b.ReportMetric(float64(n)/float64(b.N), "errors/op")
		if strings.Contains(r.name, "ratescope") {
			b.Errorf("%d decisions failed", n)
		}
	}
}
