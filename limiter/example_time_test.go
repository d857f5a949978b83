package limiter_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/limiter"
)

// A fake clock: the test moves it, and what depends on time is decided by it.
func ExampleWithClock() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.SlidingLog, limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 1, Window: time.Hour}
	for _, step := range []time.Duration{0, 59 * time.Minute, time.Minute} {
		now = now.Add(step)
		d, err := l.AllowN(context.Background(), "user:42", limit, 1)
		fmt.Println(now.Time().Format(time.TimeOnly), d.Allowed, d.RetryAfter, err)
	}
	// Output:
	// 12:00:00 true 0s <nil>
	// 12:59:00 false 1m0s <nil>
	// 13:00:00 true 0s <nil>
}

// One-time passwords: three wrong ones in ten minutes block the user for an hour, whatever
// comes in between.
func ExampleWithBlock() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.FixedWindow, limiter.WithBlock(time.Hour), limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	limit := limiter.Limit{Count: 3, Window: 10 * time.Minute}
	for i := range 5 {
		d, err := l.AllowN(context.Background(), "otp:user:42", limit, 1)
		if err != nil {
			panic(err)
		}
		fmt.Println("attempt", i+1, d.Allowed, d.RetryAfter)
	}
	now = now.Add(59 * time.Minute)
	d, _ := l.AllowN(context.Background(), "otp:user:42", limit, 1)
	fmt.Println("59 minutes later", d.Allowed, d.RetryAfter)
	now = now.Add(time.Minute)
	d, _ = l.AllowN(context.Background(), "otp:user:42", limit, 1)
	fmt.Println("after the hour", d.Allowed)
	// Output:
	// attempt 1 true 0s
	// attempt 2 true 0s
	// attempt 3 true 0s
	// attempt 4 false 1h0m0s
	// attempt 5 false 1h0m0s
	// 59 minutes later false 1m0s
	// after the hour true
}

// A store that is away costs a few requests a timeout, and the others nothing: a Memory of
// this process decides meanwhile. errStore stands in for a redisstore.Store.
func ExampleBreaker() {
	local, err := limiter.NewMemory(limiter.GCRA)
	if err != nil {
		panic(err)
	}
	l, err := limiter.NewBreaker(limiter.BreakerConfig{
		Limiter: errStore{local}, Timeout: 50 * time.Millisecond, Failures: 2,
		Fallback: local, Processes: 2, // two of them share the limit
		OnChange: func(away bool, err error) { fmt.Println("away:", away, "-", err) },
	})
	if err != nil {
		panic(err)
	}
	for range 4 {
		d, err := l.AllowN(context.Background(), "user:42", limiter.Limit{Count: 6, Window: time.Hour}, 1)
		fmt.Println(d.Allowed, err)
	}
	fmt.Printf("%+v\n", l.Counts())
	// Output:
	// true <nil>
	// away: true - connection refused
	// true <nil>
	// true <nil>
	// false <nil>
	// {Asked:2 Failed:2 Skipped:2 FellBack:4 Opened:1}
}

type errStore struct{ limiter.Limiter }

func (errStore) AllowN(context.Context, string, limiter.Limit, int64) (limiter.Decision, error) {
	return limiter.Decision{}, fmt.Errorf("connection refused")
}

// Metrics: each call reaches a function, with its outcome and how long it took.
func ExampleObserve() {
	m, err := limiter.NewMemory(limiter.GCRA)
	if err != nil {
		panic(err)
	}
	counts := map[string]int{}
	l, err := limiter.Observe(m, func(_ context.Context, e limiter.Event) { counts[e.Outcome()]++ })
	if err != nil {
		panic(err)
	}
	for range 5 {
		if _, err := limiter.Allow(context.Background(), l, "user:42", limiter.Limit{Count: 2, Window: time.Hour}); err != nil {
			panic(err)
		}
	}
	fmt.Println(counts)
	// Output: map[admitted:2 denied:3]
}

// TestInABubble is the test of the package's documentation: in a bubble of testing/synctest
// an hour passes at once, in waits too, and no clock has to be given.
func TestInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := limiter.NewMemory(limiter.SlidingLog)
		if err != nil {
			t.Fatal(err)
		}
		start, limit := time.Now(), limiter.Limit{Count: 1, Window: time.Hour}
		for range 3 {
			if _, err := limiter.Wait(t.Context(), l, "user:42", limit, 1); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 2*time.Hour {
			t.Errorf("three requests at one an hour took %v", took)
		}
	})
}
