package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ratescope/limiter"
)

func newMemory(t testing.TB, a limiter.Algorithm, opts ...limiter.Option) *limiter.Memory {
	t.Helper()
	m, err := limiter.NewMemory(a, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func allow(t testing.TB, l limiter.Limiter, key string, limit limiter.Limit, n int64) limiter.Decision {
	t.Helper()
	d, err := l.AllowN(context.Background(), key, limit, n)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestMemoryForgets lets a crowd pass and go: idle keys leave as others come, and the
// rest is given back on request.
func TestMemoryForgets(t *testing.T) {
	t.Parallel()
	visitors := volume(120_000)
	for _, a := range limiter.Algorithms() {
		m := newMemory(t, a)
		limit := limiter.Limit{Count: 3, Window: time.Second}
		now := far
		for i := range visitors {
			now = now.Add(12 * time.Second / time.Duration(visitors))
			m.AllowAt(now, fmt.Sprintf("visitor:%d", i), limit, 1)
		}
		// A window and its grace hold a quarter of the visitors at this pace.
		if held := m.Len(); held > visitors/2 {
			t.Errorf("%s: %d keys are held", a, held)
		}
		m.Sweep(now.Add(time.Minute))
		if held := m.Len(); held != 0 {
			t.Errorf("%s: %d keys are held after all fell silent", a, held)
		}
	}
}

// TestMemoryManyClients admits the limit and not one more, under the race detector.
func TestMemoryManyClients(t *testing.T) {
	t.Parallel()
	for _, a := range limiter.Algorithms() {
		m := newMemory(t, a, limiter.WithClock(func() limiter.Instant { return far }))
		var wg sync.WaitGroup
		var mu sync.Mutex
		admitted := int64(0)
		for range 50 {
			wg.Go(func() {
				mine := int64(0)
				for range 20 {
					if m.AllowAt(far, "shared", limiter.Limit{Count: 100, Window: time.Minute}, 1).Allowed {
						mine++
					}
				}
				mu.Lock()
				admitted += mine
				mu.Unlock()
			})
		}
		wg.Wait()
		if admitted != 100 {
			t.Errorf("%s: %d admitted, want 100", a, admitted)
		}
	}
}

func TestMemoryAllocatesNothing(t *testing.T) {
	for _, a := range limiter.Algorithms() {
		m := newMemory(t, a)
		limit := limiter.Limit{Count: 100, Window: time.Second}
		now := far
		step := func() {
			now = now.Add(7 * time.Millisecond)
			m.AllowAt(now, "key", limit, 1)
		}
		for range 1000 {
			step()
		}
		if n := testing.AllocsPerRun(1000, step); n != 0 {
			t.Errorf("%s: %v allocations a decision", a, n)
		}
		// Nor do the checks of AllowN, whose limit need not be the one of the time before.
		ctx, plans, i := context.Background(), []limiter.Limit{{Count: 3, Window: time.Hour}, {Count: 5, Window: time.Hour, Burst: 9}}, 0
		ask := func() {
			i++
			if _, err := m.AllowN(ctx, "many plans", plans[i%2], 1); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			ask()
		}
		if n := testing.AllocsPerRun(1000, ask); n != 0 {
			t.Errorf("%s: %v allocations a decision with its checks", a, n)
		}
	}
}

// BenchmarkMemory measures decisions of which most are admitted, at an instant that is
// passed in.
func BenchmarkMemory(b *testing.B) {
	for _, keys := range []int{1, 10_000} {
		names := make([]string, keys)
		for i := range names {
			names[i] = fmt.Sprintf("user:%d", i)
		}
		for _, a := range limiter.Algorithms() {
			b.Run(fmt.Sprintf("%s/keys=%d", a, keys), func(b *testing.B) {
				m := newMemory(b, a)
				limit := limiter.Limit{Count: 1000, Window: time.Second}
				now, i := far, 0
				b.ReportAllocs()
				for b.Loop() {
					now += limiter.Instant(1500 / keys)
					m.AllowAt(now, names[i], limit, 1)
					if i++; i == keys {
						i = 0
					}
				}
			})
		}
	}
}

// TestNewMemoryRefuses passes what no Memory can be made of: each is an error and no panic,
// now or at the first decision.
func TestNewMemoryRefuses(t *testing.T) {
	t.Parallel()
	if _, err := limiter.NewMemory(limiter.GCRA, nil); !errors.Is(err, limiter.ErrBadRequest) {
		t.Errorf("a nil option: %v", err)
	}
	if _, err := limiter.NewMemory(limiter.Unknown); !errors.Is(err, limiter.ErrBadRequest) {
		t.Errorf("no algorithm: %v", err)
	}
	var zero limiter.Memory
	limit := limiter.Limit{Count: 1, Window: time.Second}
	_, allowed := zero.AllowN(t.Context(), "k", limit, 1)
	_, peeked := zero.Peek(t.Context(), "k", limit, 1)
	for _, err := range []error{allowed, peeked, zero.Reset(t.Context(), "k", limit)} {
		if !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("the zero value: %v", err)
		}
	}
}
