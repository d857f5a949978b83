package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratescope/limiter"
)

// clock is the moving time of an example, which begins on a full minute.
type clock struct{ now limiter.Instant }

func (c *clock) read() limiter.Instant { return c.now }

func story(a limiter.Algorithm, c limiter.Convention) (*limiter.Memory, *clock) {
	at := &clock{limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))}
	l, err := limiter.NewMemory(a, limiter.WithClock(at.read), limiter.WithConvention(c))
	if err != nil {
		panic(err)
	}
	return l, at
}

func ask(l limiter.Limiter, limit string, n int64) {
	lim, err := limiter.ParseLimit(limit)
	if err != nil {
		panic(err)
	}
	d, err := l.AllowN(context.Background(), "user:42", lim, n)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%-5v used %d, %d left, again in %v\n", d.Allowed, d.Used, d.Remaining, d.RetryAfter)
}

// A fixed window lets twice its limit through across an edge: three at the end of one
// window and three at the start of the next, 2 ms apart.
func Example_fixedWindow() {
	l, at := story(limiter.FixedWindow, limiter.Convention{})
	at.now = at.now.Add(59_999 * time.Millisecond)
	ask(l, "3/1m", 3)
	ask(l, "3/1m", 1)
	at.now = at.now.Add(2 * time.Millisecond)
	ask(l, "3/1m", 3)
	// Output:
	// true  used 3, 0 left, again in 0s
	// false used 3, 0 left, again in 1ms
	// true  used 3, 0 left, again in 0s
}

// A sliding log remembers every request, so a slot frees exactly one window after it was
// taken.
func Example_slidingLog() {
	l, at := story(limiter.SlidingLog, limiter.Convention{})
	ask(l, "2/1m", 1)
	at.now = at.now.Add(20 * time.Second)
	ask(l, "2/1m", 1)
	ask(l, "2/1m", 1)
	at.now = at.now.Add(40 * time.Second)
	ask(l, "2/1m", 1)
	// Output:
	// true  used 1, 1 left, again in 0s
	// true  used 2, 0 left, again in 0s
	// false used 2, 0 left, again in 40s
	// true  used 2, 0 left, again in 0s
}

// The weighted counter with Cloudflare's published numbers: 42 in the previous minute,
// 18 in the first 15 seconds of this one, 42 × 0.75 + 18 = 49.5 of 50.
func Example_slidingWindow() {
	l, at := story(limiter.SlidingWindow, limiter.Convention{Rounding: limiter.RoundExact})
	limit := limiter.Limit{Count: 50, Window: time.Minute}
	d, _ := l.AllowN(context.Background(), "user:42", limit, 42)
	at.now = at.now.Add(75 * time.Second)
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
	l, at := story(limiter.StreamCounter, limiter.Convention{})
	ask(l, "100/1m", 70)
	at.now = at.now.Add(10 * time.Second)
	ask(l, "100/1m", 40)
	ask(l, "100/1m", 30)
	// Output:
	// true  used 70, 30 left, again in 0s
	// false used 70, 30 left, again in 50s
	// true  used 100, 0 left, again in 0s
}

// GCRA spaces requests out: after the burst one comes every 200 ms.
func Example_gcra() {
	l, at := story(limiter.GCRA, limiter.Convention{})
	ask(l, "5/1s", 5)
	ask(l, "5/1s", 1)
	at.now = at.now.Add(200 * time.Millisecond)
	ask(l, "5/1s", 1)
	// Output:
	// true  used 5, 0 left, again in 0s
	// false used 5, 0 left, again in 200ms
	// true  used 5, 0 left, again in 0s
}

// A token bucket that refills in batches gives nothing back before its interval is over.
func Example_tokenBucket() {
	l, at := story(limiter.TokenBucket, limiter.Convention{Refill: limiter.RefillInterval})
	ask(l, "2/1s", 2)
	at.now = at.now.Add(999 * time.Millisecond)
	ask(l, "2/1s", 1)
	at.now = at.now.Add(time.Millisecond)
	ask(l, "2/1s", 1)
	// Output:
	// true  used 2, 0 left, again in 0s
	// false used 2, 0 left, again in 1ms
	// true  used 1, 1 left, again in 0s
}

// A leaky bucket is full when as much water is in it as it holds, and drains evenly.
func Example_leakyBucket() {
	l, at := story(limiter.LeakyBucket, limiter.Convention{})
	ask(l, "4/1m", 4)
	at.now = at.now.Add(16 * time.Second)
	ask(l, "4/1m", 1)
	ask(l, "4/1m", 1)
	// Output:
	// true  used 4, 0 left, again in 0s
	// true  used 4, 0 left, again in 0s
	// false used 4, 0 left, again in 14s
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
func ExampleMemory_AllowAll() {
	l, _ := story(limiter.SlidingLog, limiter.Convention{})
	second, minute := limiter.Limit{Count: 10, Window: time.Second}, limiter.Limit{Count: 12, Window: time.Minute}
	for range 2 {
		all, err := l.AllowAll(context.Background(), "api", 8, second, minute)
		if err != nil {
			panic(err)
		}
		d := limiter.Combine(all)
		fmt.Println(d.Allowed, all[0].Used, all[1].Used, d.RetryAfter)
	}
	// Output:
	// true 8 8 0s
	// false 8 8 1m0s
}

// A cost that is given back makes room at once.
func ExampleMemory_Refund() {
	l, _ := story(limiter.FixedWindow, limiter.Convention{})
	ask(l, "10/1m", 10)
	d, err := l.Refund(context.Background(), "user:42", limiter.Limit{Count: 10, Window: time.Minute}, 4)
	fmt.Println(d.Used, d.Remaining, err)
	// Output:
	// true  used 10, 0 left, again in 0s
	// 6 4 <nil>
}

// Errors are told apart with errors.Is.
func ExampleLimitedError() {
	l, _ := story(limiter.FixedWindow, limiter.Convention{})
	_, err := limiter.Wait(context.Background(), l, "user:42", limiter.Limit{Count: 10, Window: time.Minute}, 11)
	fmt.Println(errors.Is(err, limiter.ErrLimited), err)
	// Output: true key "user:42" is over its limit of 10 in 1m0s: a request of this cost can never be admitted
}
