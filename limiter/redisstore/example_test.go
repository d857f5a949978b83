package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// A limit that all processes share which use the server: five requests an hour and user.
func ExampleNew() {
	server, err := miniredis.Run() // stands in for your server
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	l, err := redisstore.New(client, limiter.SlidingLog)
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 5, Window: time.Hour}
	for range 2 {
		d, err := l.AllowN(context.Background(), "user:42", limit, 3)
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Allowed, d.Used, d.Remaining)
	}
	fmt.Println(server.Keys())
	// Output:
	// true 3 2
	// false 3 2
	// [ratelimit:user:42]
}

// Decisions on a server, of which those that are asked for at the same time share a round
// trip, with more of them under way at once than New has.
func ExampleWithBatches() {
	server, err := miniredis.Run() // stands in for your server
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 50})
	defer func() { _ = client.Close() }()
	l, err := redisstore.New(client, limiter.GCRA, redisstore.WithBatches(4))
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	var admitted atomic.Int64
	for range 20 {
		wg.Go(func() {
			d, err := l.AllowN(context.Background(), "user:42", limiter.Limit{Count: 5, Window: time.Hour}, 1)
			if err != nil {
				panic(err)
			}
			if d.Allowed {
				admitted.Add(1)
			}
		})
	}
	wg.Wait()
	fmt.Println(admitted.Load(), "of 20 admitted")
	// Output: 5 of 20 admitted
}
