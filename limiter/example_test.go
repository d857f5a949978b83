package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
)

// A fixed window lets twice its limit through across an edge: three at the end of one
// window and three at the start of the next, 2 ms apart.
func Example_fixedWindow() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 59, 999_000_000, time.UTC))
	l, err := limiter.NewMemory(limiter.FixedWindow, limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 3, Window: time.Minute}
	for _, step := range []struct {
		wait time.Duration
		cost int64
	}{{0, 3}, {0, 1}, {2 * time.Millisecond, 3}} {
		now = now.Add(step.wait)
		d, _ := l.AllowN(context.Background(), "user:42", limit, step.cost)
		fmt.Println(d.Allowed, d.Used, d.RetryAfter)
	}
	// Output:
	// true 3 0s
	// false 3 1ms
	// true 3 0s
}

// A sliding log remembers every request, so a slot frees exactly one window after it was
// taken.
func Example_slidingLog() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.SlidingLog, limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 2, Window: time.Minute}
	for _, wait := range []time.Duration{0, 20 * time.Second, 0, 40 * time.Second} {
		now = now.Add(wait)
		d, _ := l.AllowN(context.Background(), "user:42", limit, 1)
		fmt.Println(d.Allowed, d.Used, d.RetryAfter)
	}
	// Output:
	// true 1 0s
	// true 2 0s
	// false 2 40s
	// true 2 0s
}

// The weighted counter with Cloudflare's published numbers: 42 in the previous minute,
// 18 in the first 15 seconds of this one, 42 × 0.75 + 18 = 49.5 of 50.
func Example_slidingWindow() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.SlidingWindow,
		limiter.WithClock(func() limiter.Instant { return now }),
		limiter.WithConvention(limiter.Convention{Rounding: convention.Exact}))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 50, Window: time.Minute}
	d, _ := l.AllowN(context.Background(), "user:42", limit, 42)
	now = now.Add(75 * time.Second)
	d, _ = l.AllowN(context.Background(), "user:42", limit, 18)
	fmt.Printf("%d × %.2f + %d = %.1f\n", d.Previous, d.Weight, d.Current, d.Estimate)
	d, _ = l.AllowN(context.Background(), "user:42", limit, 1)
	fmt.Println(d.Allowed, d.RetryAfter.Round(time.Millisecond))
	// Output:
	// 42 × 0.75 + 18 = 49.5
	// false 714ms
}

// A stream counter decides like a log and keeps one entry a request, whatever it costs.
func Example_streamCounter() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.StreamCounter, limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 100, Window: time.Minute}
	for _, step := range []struct {
		wait time.Duration
		cost int64
	}{{0, 70}, {10 * time.Second, 40}, {0, 30}} {
		now = now.Add(step.wait)
		d, _ := l.AllowN(context.Background(), "user:42", limit, step.cost)
		fmt.Println(d.Allowed, d.Used, d.RetryAfter)
	}
	// Output:
	// true 70 0s
	// false 70 50s
	// true 100 0s
}

// GCRA spaces requests out: after the burst one comes every 200 ms.
func Example_gcra() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.GCRA, limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 5, Window: time.Second}
	for _, step := range []struct {
		wait time.Duration
		cost int64
	}{{0, 5}, {0, 1}, {200 * time.Millisecond, 1}} {
		now = now.Add(step.wait)
		d, _ := l.AllowN(context.Background(), "user:42", limit, step.cost)
		fmt.Println(d.Allowed, d.Used, d.RetryAfter)
	}
	// Output:
	// true 5 0s
	// false 5 200ms
	// true 5 0s
}

// A token bucket that refills in batches gives nothing back before its interval is over.
func Example_tokenBucket() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.TokenBucket,
		limiter.WithClock(func() limiter.Instant { return now }),
		limiter.WithConvention(limiter.Convention{Refill: convention.Interval}))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 2, Window: time.Second}
	for _, step := range []struct {
		wait time.Duration
		cost int64
	}{{0, 2}, {999 * time.Millisecond, 1}, {time.Millisecond, 1}} {
		now = now.Add(step.wait)
		d, _ := l.AllowN(context.Background(), "user:42", limit, step.cost)
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter)
	}
	// Output:
	// true 0 0s
	// false 0 1ms
	// true 1 0s
}

// A leaky bucket is full when as much water is in it as it holds, and drains evenly.
func Example_leakyBucket() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.LeakyBucket, limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 4, Window: time.Minute}
	for _, step := range []struct {
		wait time.Duration
		cost int64
	}{{0, 4}, {16 * time.Second, 1}, {0, 1}} {
		now = now.Add(step.wait)
		d, _ := l.AllowN(context.Background(), "user:42", limit, step.cost)
		fmt.Println(d.Allowed, d.Used, d.RetryAfter)
	}
	// Output:
	// true 4 0s
	// true 4 0s
	// false 4 14s
}

// State is the arithmetic alone: what a screen forecasts with.
func ExampleState_Peek() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	s := limiter.State{Algorithm: limiter.SlidingLog, Log: []limiter.Entry{{At: now, Count: 99}}}
	limit := limiter.Limit{Count: 100, Window: time.Minute}
	d := s.Peek(now.Add(time.Second), limit, limiter.Convention{}, 3)
	fmt.Println(d.Allowed, d.Remaining, d.RetryAfter)
	// Output: false 1 59s
}

// Several limits are charged together or not at all.
func ExampleMemory_AllowKeys() {
	l, err := limiter.NewMemory(limiter.SlidingLog)
	if err != nil {
		panic(err)
	}
	second, minute := limiter.Limit{Count: 10, Window: time.Second}, limiter.Limit{Count: 12, Window: time.Minute}
	for range 2 {
		all, err := l.AllowKeys(context.Background(), 8, limiter.OnKey("api", second, minute)...)
		if err != nil {
			panic(err)
		}
		d := limiter.Combine(all)
		fmt.Println(d.Allowed, all[0].Used, all[1].Used, d.RetryAfter.Round(time.Second))
	}
	// Output:
	// true 8 8 0s
	// false 8 8 1m0s
}

// A cost that is given back makes room at once.
func ExampleMemory_Refund() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.FixedWindow, limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 10, Window: time.Minute}
	d, _ := l.AllowN(context.Background(), "user:42", limit, 10)
	fmt.Println(d.Used, d.Remaining)
	d, _ = l.Refund(context.Background(), "user:42", limit, 4)
	fmt.Println(d.Used, d.Remaining)
	// Output:
	// 10 0
	// 6 4
}

// Errors are told apart with errors.Is.
func ExampleLimitedError() {
	l, err := limiter.NewMemory(limiter.FixedWindow)
	if err != nil {
		panic(err)
	}
	_, err = limiter.Wait(context.Background(), l, "user:42", limiter.Limit{Count: 10, Window: time.Minute}, 11)
	fmt.Println(errors.Is(err, limiter.ErrLimited), err)
	// Output: true key "user:42" is over its limit of 10 in 1m0s: a request of this cost can never be admitted
}
