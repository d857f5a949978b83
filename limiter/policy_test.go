package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/limiter"
)

var twoASecond = limiter.Limit{Count: 2, Window: time.Second}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemory(t, limiter.SlidingLog)
		ctx := context.Background()
		start := time.Now()
		for i := range 6 {
			if d, err := limiter.Wait(ctx, l, "k", twoASecond, 1); err != nil || !d.Allowed {
				t.Fatalf("request %d: %+v, %v", i, d, err)
			}
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("six requests at two a second took %v, want 2 s", took)
		}
		if _, err := limiter.Wait(ctx, l, "k", twoASecond, 3); !errors.Is(err, limiter.ErrLimited) {
			t.Errorf("a cost above the limit: %v", err)
		}
		soon, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		start = time.Now()
		_, err := limiter.Wait(soon, l, "k", twoASecond, 1)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, limiter.ErrLimited) || time.Since(start) != 0 {
			t.Errorf("a wait beyond the deadline: %v after %v", err, time.Since(start))
		}
		gone, stop := context.WithCancel(ctx)
		time.AfterFunc(100*time.Millisecond, stop)
		if _, err := limiter.Wait(gone, l, "k", twoASecond, 1); !errors.Is(err, context.Canceled) || time.Since(start) != 100*time.Millisecond {
			t.Errorf("a cancelled wait: %v after %v", err, time.Since(start))
		}
	})
}

func TestPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		queue, err := limiter.NewQueue(1, 300*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name    string
			policy  limiter.Policy
			allowed bool
			limited bool
			took    time.Duration
		}{
			{"drop", limiter.Drop(), false, false, 0},
			{"reject", limiter.Reject(), false, true, 0},
			{"throttle", limiter.Throttle(2 * time.Second), true, false, time.Second},
			{"throttle too short", limiter.Throttle(time.Second / 2), false, true, 0},
			{"queue too short", queue, false, true, 0},
			{"or", limiter.Or(queue, limiter.Throttle(time.Minute)), true, false, time.Second},
			{"or drop", limiter.Or(queue, limiter.Drop()), false, false, 0},
			{"or reject", limiter.Or(limiter.Throttle(1), limiter.Reject()), false, true, 0},
		} {
			l := newMemory(t, limiter.SlidingLog)
			allow(t, l, "k", twoASecond, 2)
			start := time.Now()
			d, err := limiter.Apply(ctx, l, c.policy, "k", twoASecond, 1)
			if d.Allowed != c.allowed || errors.Is(err, limiter.ErrLimited) != c.limited || time.Since(start) != c.took {
				t.Errorf("%s: %+v, %v after %v", c.name, d, err, time.Since(start))
			}
		}
	})
}

// TestQueue sends ten requests at once at two a second: they leave in the order in which
// they came, the one too many is told so, and a newcomer does not jump the line.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemory(t, limiter.SlidingLog)
		q, err := limiter.NewQueue(8, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		ask := func(name string) {
			wg.Go(func() {
				d, err := limiter.Apply(ctx, l, q, "k", twoASecond, 1)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, limiter.ErrQueueFull):
					name += " full"
				case err != nil || !d.Allowed:
					t.Errorf("%s: %+v, %v", name, d, err)
				}
				order = append(order, name)
			})
			synctest.Wait()
		}
		for i := range 11 {
			ask(fmt.Sprint(i))
		}
		time.Sleep(1500 * time.Millisecond)
		ask("late")
		wg.Wait()
		if got, want := fmt.Sprint(order), "[0 1 10 full 2 3 4 5 6 7 8 9 late]"; got != want {
			t.Errorf("they left as %s, want %s", got, want)
		}
		if q.Len("k") != 0 {
			t.Errorf("%d still wait", q.Len("k"))
		}
	})
}

// TestQueueForgets lets one give up in the middle of the line and one grow too old.
func TestQueueForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemory(t, limiter.SlidingLog)
		slow := limiter.Limit{Count: 1, Window: 10 * time.Second}
		q, err := limiter.NewQueue(8, 15*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		allow(t, l, "k", slow, 1)
		results := make([]error, 3)
		var wg sync.WaitGroup
		for i := range 3 {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i == 1 {
				time.AfterFunc(time.Second, cancel)
			}
			wg.Go(func() { _, results[i] = limiter.Apply(ctx, l, q, "k", slow, 1) })
			synctest.Wait()
		}
		wg.Wait()
		if results[0] != nil || !errors.Is(results[1], context.Canceled) || !errors.Is(results[2], context.DeadlineExceeded) {
			t.Errorf("%v", results)
		}
		if q.Len("k") != 0 {
			t.Errorf("%d still wait", q.Len("k"))
		}
	})
}
