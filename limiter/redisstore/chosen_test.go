package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/httplimit"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
)

// TestForeignKeyspace puts values of every type, of random content and with an expiry or without, at the very
// names that decisions use, and lets each verb of each algorithm at them: none without an expiry changes.
func TestForeignKeyspace(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var names []string
	for name := range foreignValues {
		names = append(names, name)
	}
	word := func() string { // numbers near ours among them
		at := time.Now().UnixMicro() - rng.Int64N(5e12)
		return []string{strconv.FormatInt(at, 10), strconv.Itoa(rng.IntN(100)), "1e400", "nan", "-inf", "0x10", "-7", " 5", "", "999999999999999999999", "Ada", fmt.Sprintf("%d:1:7", at), "\x00\xff"}[rng.IntN(13)]
	}
	const values = 20_000
	batch := values / len(limiter.Algorithms())
	for _, a := range limiter.Algorithms() {
		client.FlushAll(ctx)
		l := newStore(t, client, a, redisstore.WithDenials())
		limit := limiter.Limit{Count: 2, Window: yearly.Window}
		pipe := client.Pipeline()
		now := limiter.InstantOf(client.Time(ctx).Val())
		on := make([]string, batch)
		for i := range on {
			key := fmt.Sprint("k", i)
			on[i] = layout.Keys(a, key, limit, layout.Layout{}, now)[0]
			if i%5 == 4 {
				on[i] = layout.DeniedKey(key)
			}
			k := on[i]
			switch rng.IntN(6) {
			case 0:
				foreignValues[names[rng.IntN(len(names))]](ctx, pipe, k)
			case 1:
				pipe.Set(ctx, k, word(), 0)
			case 2:
				pipe.HSet(ctx, k, "tokens", word(), "level", word(), "at", word())
			case 3:
				pipe.ZAdd(ctx, k, redis.Z{Score: float64(time.Now().UnixMicro() - rng.Int64N(5e12)), Member: word()})
			case 4:
				pipe.XAdd(ctx, &redis.XAddArgs{Stream: k, Values: []string{"count", word(), "total", word()}})
			default:
				pipe.RPush(ctx, k, word())
			}
			pipe.Persist(ctx, k)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		before := dumps(t, client, on)
		var wg sync.WaitGroup
		for i := range on {
			wg.Go(func() {
				for n := range int64(4) { // an error is about the value, and never opens a limit
					if _, err := l.AllowN(ctx, fmt.Sprint("k", i), limit, n); err != nil && !errors.Is(err, limiter.ErrWrongType) {
						t.Errorf("%s, %q: %v", a, on[i], err)
					}
				}
			})
		}
		wg.Wait()
		for i := 0; i < batch; i += 7 {
			_, _ = l.Refund(ctx, fmt.Sprint("k", i), limit, 1)
			_ = l.Reset(ctx, fmt.Sprint("k", i), limit)
		}
		for i, after := range dumps(t, client, on) {
			if after != before[i] {
				t.Fatalf("%s changed %q:\n%q\nwas\n%q", a, on[i], after, before[i])
			}
		}
	}
}

// TestNewAsksTheStore: a middleware on Redis is refused limits about which that store decides nothing, also as those
// of its fallback, and one request whose limit is such a one is a fault of the program and not let through.
func TestNewAsksTheStore(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	two := []limiter.Limit{{Count: 1, Window: time.Second}, {Count: 2, Window: time.Minute}}
	uneven := limiter.Limit{Count: 1, Window: 1500 * time.Microsecond}
	for what, c := range map[string]struct {
		algorithm limiter.Algorithm
		opt       redisstore.Option
		limits    []limiter.Limit
	}{
		"one window twice":    {limiter.GCRA, redisstore.WithBatches(1), []limiter.Limit{two[0], two[0]}},
		"17 limits":           {limiter.GCRA, redisstore.WithBatches(1), make([]limiter.Limit, 17)},
		"beside a block":      {limiter.SlidingLog, redisstore.WithBlock(time.Hour), two},
		"1.5 ms in counters":  {limiter.FixedWindow, redisstore.WithBatches(1), []limiter.Limit{uneven}},
		"1.5 ms of two":       {limiter.SlidingWindow, redisstore.WithBatches(1), []limiter.Limit{two[0], uneven}},
		"a burst of ages":     {limiter.TokenBucket, redisstore.WithBatches(1), []limiter.Limit{{Count: 1, Window: limiter.MaxWindow, Burst: 10_000}}},
		"a layout for one":    {limiter.FixedWindow, redisstore.WithLayout(layout.Layout{Suffixed: true}), two},
		"a window of nothing": {limiter.GCRA, redisstore.WithBatches(1), []limiter.Limit{{Count: 1}}},
	} {
		l := newStore(t, client, c.algorithm, c.opt)
		key := func(*http.Request) string { return "k" }
		rule := []httplimit.Rule{{Name: "r", Key: key, Limits: c.limits}}
		late := httplimit.Config{Limiter: l, Rules: []httplimit.Rule{{Name: "r", Key: key, LimitsFor: func(*http.Request) []limiter.Limit { return c.limits }}}}
		configs := []httplimit.Config{{Limiter: l, Rules: rule}, {Limiter: l, Limits: c.limits}, {Limiter: newMemory(t, limiter.GCRA), Fallback: l, Rules: rule}}
		if len(c.limits) == 1 {
			configs = append(configs, httplimit.Config{Limiter: l, Limit: c.limits[0]})
			late = httplimit.Config{Limiter: l, Key: key, LimitFor: func(*http.Request) limiter.Limit { return c.limits[0] }}
		}
		for i, config := range configs {
			if config.OnFailure = httplimit.FailOpen; config.Fallback != nil {
				config.OnFailure = httplimit.FailOver
			}
			if _, err := httplimit.New(config); err == nil {
				t.Errorf("%s is taken by configuration %d", what, i)
			}
		}
		if late.OnFailure = httplimit.FailOpen; what == "beside a block" || what == "a layout for one" {
			continue // no limit of several is decided about, which New says
		}
		m, err := httplimit.New(late)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		w := httptest.NewRecorder()
		m.Handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != http.StatusInternalServerError {
			t.Errorf("%s of one request: %d", what, w.Code)
		}
	}
}

// dumps returns the values of keys with their expiries.
func dumps(t *testing.T, client *redis.Client, keys []string) []string {
	t.Helper()
	ctx := context.Background()
	pipe := client.Pipeline()
	for _, k := range keys {
		pipe.Dump(ctx, k)
		pipe.PExpireTime(ctx, k)
	}
	all, err := pipe.Exec(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(keys))
	for i := range out {
		out[i] = all[2*i].(*redis.StringCmd).Val() + fmt.Sprint(all[2*i+1].(*redis.DurationCmd).Val())
	}
	return out
}

// FuzzChosen sends what a client can choose, a name, an address, a size and headers, beside the requests of
// another client: it never gets more than its limits, and the other is never denied or told of an error.
func FuzzChosen(f *testing.F) {
	for _, name := range chosen {
		f.Add(name, "203.0.113.9", int64(1))
	}
	f.Add("\r\nX: 1", ", ,", int64(-1))
	f.Add(strings.Repeat("k", limiter.MaxKeyLen), "10.0.0.1, 10.0.0.2", int64(limiter.MaxCount+1))
	client := servertest.Client(f)
	clientIP, err := httplimit.ClientIP(0, "10.0.0.0/8")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, forwarded string, size int64) {
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		for _, a := range []limiter.Algorithm{limiter.SlidingLog, limiter.SlidingWindow, limiter.StreamCounter, limiter.TokenBucket} {
			l, err := redisstore.New(client, a, redisstore.WithDenials(), redisstore.WithPrefix(a.String()+":"))
			if err != nil {
				t.Fatal(err)
			}
			limit := []limiter.Limit{{Count: 3, Window: limiter.MaxWindow}}
			m, err := httplimit.New(httplimit.Config{
				Limiter: l, OnFailure: httplimit.FailOpen, Cost: func(r *http.Request) int64 { return r.ContentLength },
				Rules: []httplimit.Rule{
					{Name: "address", Key: clientIP, Limits: limit},
					{Name: "user", Key: func(r *http.Request) string { return r.Header.Get("X-User") }, Limits: limit},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			passed := 0
			h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-User") == name {
					passed++
				}
			}))
			send := func(from, who, through string, n int64) int {
				r := httptest.NewRequest("POST", "/", nil)
				r.RemoteAddr, r.ContentLength = from, n
				r.Header["X-User"], r.Header["X-Forwarded-For"] = []string{who}, []string{through}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Code
			}
			for range 5 {
				send("203.0.113.9:1", name, forwarded, size)
				send("10.0.0.1:1", name, forwarded+", 203.0.113.9", size)
			}
			if most := 3 / max(int(min(max(size, 1), 4)), 1); passed > most {
				t.Errorf("%s: %d requests of size %d passed, want %d at most", a, passed, size, most)
			}
			if name != "other" {
				if code := send("198.51.100.1:1", "other", "", 1); code != 200 {
					t.Errorf("%s: another client got %d after %q %q %d", a, code, name, forwarded, size)
				}
			}
			if c := m.Counts(); c.FailedOpen > 0 {
				t.Errorf("%s: %d requests passed without a decision", a, c.FailedOpen)
			}
		}
	})
}
