package redisstore_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/httplimit"
	"ratescope/limiter/redisstore"
)

// must returns a value, or panics, as a program does that cannot be set up.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// One Redis for all processes of a service, which fails over to a Memory of each.
func ExampleStore_oneServer() {
	server := must(miniredis.Run()) // stands in for your server
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	l := must(limiter.NewBreaker(limiter.BreakerConfig{
		Limiter:   must(redisstore.New(client, limiter.GCRA)),
		Timeout:   5 * time.Second, // 50 ms in a service: this example may run on a busy machine
		Fallback:  must(limiter.NewMemory(limiter.GCRA, limiter.WithMaxKeys(100_000))),
		Processes: 4,
	}))
	d := must(limiter.Allow(context.Background(), l, "user:42", limiter.Limit{Count: 100, Window: time.Minute}))
	fmt.Println(d.Allowed, d.Remaining)
	// Output: true 99
}

// A cluster, with two windows on one key and a limit on another in one slot.
func ExampleStore_cluster() {
	server := must(miniredis.Run()) // stands in for your cluster
	defer server.Close()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr()}, ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	l := must(redisstore.New(client, limiter.SlidingWindow, redisstore.WithPrefix("{api}:")))
	parts := append(limiter.OnKey("user:42", limiter.Limit{Count: 10, Window: time.Second}, limiter.Limit{Count: 300, Window: time.Hour}),
		limiter.KeyLimit{Key: "address:192.0.2.1", Limit: limiter.Limit{Count: 1000, Window: time.Hour}})
	for _, d := range must(l.AllowKeys(context.Background(), 1, parts...)) {
		fmt.Println(d.Allowed, d.Remaining, "in", d.Limit.Window)
	}
	// Output:
	// true 9 in 1s
	// true 299 in 1h0m0s
	// true 999 in 1h0m0s
}

// A gateway behind a load balancer, with a limit for each address and one for each user by plan.
func ExampleStore_gateway() {
	server := must(miniredis.Run()) // stands in for your server
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	plan := map[string][]limiter.Limit{"gold": {{Count: 10_000, Window: time.Hour}}}
	m := must(httplimit.New(httplimit.Config{
		Limiter: must(redisstore.New(client, limiter.SlidingLog)), OnFailure: httplimit.FailClosed, Timeout: 5 * time.Second, Skip: httplimit.Preflight,
		Rules: []httplimit.Rule{
			{Name: "address", Key: must(httplimit.ClientIP(0, "10.0.0.0/8")), Limits: []limiter.Limit{{Count: 100, Window: time.Minute}}},
			{Name: "user", Key: func(r *http.Request) string { return r.Header.Get("X-User") }, LimitsFor: func(r *http.Request) []limiter.Limit {
				if limits, ok := plan[r.Header.Get("X-User")]; ok {
					return limits
				}
				return []limiter.Limit{{Count: 1000, Window: time.Hour}}
			}},
		},
	}))
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "10.0.0.7:4711" // the load balancer
	r.Header.Set("X-Forwarded-For", "8.8.8.8, 192.0.2.1")
	r.Header.Set("X-User", "gold")
	w := httptest.NewRecorder()
	m.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
	fmt.Println(w.Header().Get("RateLimit-Policy"))
	fmt.Println(server.Keys())
	// Output:
	// "address";q=100;w=60, "user";q=10000;w=3600
	// [{ratelimit:address:192.0.2.1}:60000ms {ratelimit:user:gold}:3600000ms]
}

// A worker that keeps its calls of another service under that one's limit, and waits for its turn.
func ExampleStore_worker() {
	server := must(miniredis.Run()) // stands in for your server
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	l := must(redisstore.New(client, limiter.TokenBucket))
	limit := limiter.Limit{Count: 200, Window: time.Second, Burst: 2}
	for range 4 {
		d := must(limiter.Wait(context.Background(), l, "partner.example", limit, 1))
		fmt.Println(d.Allowed)
	}
	// Output:
	// true
	// true
	// true
	// true
}
