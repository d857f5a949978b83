package redisstore_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/httplimit"
	"ratescope/limiter/redisstore"
)

// A service behind net/http whose limit all its processes share. While Redis does not
// answer, a request waits for Timeout at most, after five of them not at all, and a Memory of
// each process keeps the limit.
func ExampleNew_http() {
	server, err := miniredis.Run() // stands in for your server
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	shared, err := redisstore.New(client, limiter.GCRA)
	if err != nil {
		panic(err)
	}
	local, err := limiter.NewMemory(limiter.GCRA, limiter.WithMaxKeys(100_000))
	if err != nil {
		panic(err)
	}
	m, err := httplimit.New(httplimit.Config{
		Limiter:   shared,
		Limit:     limiter.Limit{Count: 2, Window: time.Hour},
		Key:       func(r *http.Request) string { return r.Header.Get("X-API-Key") },
		Timeout:   5 * time.Second, // 50 ms in a service: this example may run on a busy machine
		OnFailure: httplimit.FailOver,
		Fallback:  local,
		OnChange:  func(away bool, err error) { log.Printf("rate limiter away: %v (%v)", away, err) },
	})
	if err != nil {
		panic(err)
	}
	handler := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))
	for range 3 {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-API-Key", "42")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	fmt.Println(server.Keys())
	// Output:
	// 200 "default";q=2;w=3600
	// 200 "default";q=2;w=3600
	// 429 "default";q=2;w=3600
	// [ratelimit:42]
}
