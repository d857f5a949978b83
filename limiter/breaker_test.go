package limiter_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/limiter"
)

// patient is a Memory behind a network: it may hang until the context ends, or refuse.
type patient struct {
	*limiter.Memory
	mu    sync.Mutex
	hangs bool
	err   error
	calls int
}

func (p *patient) set(hangs bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangs, p.err = hangs, err
}

func (p *patient) AllowN(ctx context.Context, key string, limit limiter.Limit, n int64) (limiter.Decision, error) {
	p.mu.Lock()
	hangs, err := p.hangs, p.err
	p.calls++
	p.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return limiter.Decision{}, errors.Join(limiter.ErrUnknownOutcome, ctx.Err())
	}
	if err != nil {
		return limiter.Decision{}, err
	}
	return p.Memory.AllowN(ctx, key, limit, n)
}

func newBreaker(t *testing.T, c limiter.BreakerConfig) *limiter.Breaker {
	t.Helper()
	b, err := limiter.NewBreaker(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFallbackTakesItsPartOfABurst: so many processes together admit the burst of the limit, and no more.
func TestFallbackTakesItsPartOfABurst(t *testing.T) {
	for _, c := range []struct {
		processes, count, burst int64
		want                    int
	}{{4, 100, 20, 5}, {2, 10, 100, 50}, {8, 100, 4, 1}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBreaker(t, limiter.BreakerConfig{Limiter: &patient{Memory: newMemory(t, limiter.GCRA), hangs: true}, Timeout: time.Millisecond,
				Fallback: newMemory(t, limiter.GCRA), Processes: c.processes})
			admitted := 0
			for range 200 {
				d, err := b.AllowN(t.Context(), "k", limiter.Limit{Count: c.count, Window: 24 * time.Hour, Burst: c.burst}, 1)
				if err != nil {
					t.Fatal(err)
				}
				if d.Allowed {
					admitted++
				}
			}
			if admitted != c.want {
				t.Errorf("one of %d processes admits %d of a burst of %d, want %d", c.processes, admitted, c.burst, c.want)
			}
		})
	}
}

// TestBreaker takes a store away: 200 callers at once wait for one timeout and no longer, those
// after them for none, one of them asks again each second, and the limit holds meanwhile by
// the fallback, from which the store takes over when it is back.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &patient{Memory: newMemory(t, limiter.GCRA), hangs: true}
		told, changes := 0, []bool{}
		var mu sync.Mutex
		b := newBreaker(t, limiter.BreakerConfig{
			Limiter: store, Timeout: 50 * time.Millisecond, Failures: 3, Fallback: newMemory(t, limiter.SlidingLog), Processes: 2,
			OnError:  func(context.Context, error) { mu.Lock(); told++; mu.Unlock() },
			OnChange: func(away bool, err error) { mu.Lock(); changes = append(changes, away); mu.Unlock() },
		})
		ctx, limit := context.Background(), limiter.Limit{Count: 10, Window: time.Hour}
		start, admitted := time.Now(), 0
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				d, err := b.AllowN(ctx, "k", limit, 1)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
					admitted++
				}
			})
		}
		all.Wait()
		if took := time.Since(start); took != 50*time.Millisecond || admitted != 5 || told != 200 || !b.Away() {
			t.Errorf("200 at once took %v, %d admitted, %d told, away %v", took, admitted, told, b.Away())
		}
		start = time.Now()
		for range 1000 {
			if _, err := b.AllowN(ctx, "k", limit, 1); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took != 0 || store.calls != 200 {
			t.Errorf("1,000 requests to a store that is away took %v and %d calls", took, store.calls-200)
		}
		time.Sleep(time.Second)
		start = time.Now()
		for range 10 {
			all.Go(func() { _, _ = b.AllowN(ctx, "k", limit, 1) })
		}
		all.Wait()
		if took := time.Since(start); took != 50*time.Millisecond || store.calls != 201 {
			t.Errorf("10 requests after a second made %d calls in %v, want one probe", store.calls-200, took)
		}
		store.set(false, nil)
		time.Sleep(time.Second)
		if d, err := b.AllowN(ctx, "k", limit, 1); err != nil || !d.Allowed || b.Away() {
			t.Errorf("a store that is back: %+v, %v", d, err)
		}
		if len(changes) != 2 || !changes[0] || changes[1] {
			t.Errorf("changes %v", changes)
		}
		want := limiter.BreakerCounts{Asked: 202, Failed: 201, Skipped: 1009, FellBack: 1210, Opened: 1}
		if got := b.Counts(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// TestBreakerIsNotOpenedByClients: neither a strange request nor a caller that hangs up says
// anything about the store, and neither is decided about by a fallback.
func TestBreakerIsNotOpenedByClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &patient{Memory: newMemory(t, limiter.GCRA)}
		b := newBreaker(t, limiter.BreakerConfig{Limiter: store, Failures: 1, Timeout: time.Second, Fallback: newMemory(t, limiter.GCRA)})
		for _, err := range []error{limiter.ErrBadRequest, limiter.ErrWrongType, limiter.ErrNotOnStore} {
			store.set(false, err)
			if _, got := b.AllowN(context.Background(), "k", twoASecond, 1); !errors.Is(got, err) || b.Away() {
				t.Errorf("%v: %v, away %v", err, got, b.Away())
			}
		}
		store.set(true, nil)
		gone, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		if _, err := b.AllowN(gone, "k", twoASecond, 1); !errors.Is(err, context.DeadlineExceeded) || b.Away() {
			t.Errorf("a caller that hung up: %v, away %v", err, b.Away())
		}
		if got := b.Counts(); got.FellBack != 0 || got.Failed != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestBreakerWithoutFallback answers at once that the store is away, for several limits too.
func TestBreakerWithoutFallback(t *testing.T) {
	store := &patient{Memory: newMemory(t, limiter.GCRA), err: errors.New("refused")}
	b := newBreaker(t, limiter.BreakerConfig{Limiter: store, Failures: 2})
	for i, want := range []bool{false, false, true} {
		if _, err := b.AllowN(context.Background(), "k", twoASecond, 1); errors.Is(err, limiter.ErrAway) != want || err == nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if _, err := b.AllowKeys(context.Background(), 1, limiter.OnKey("k", twoASecond)...); !errors.Is(err, limiter.ErrAway) {
		t.Error(err)
	}
	if _, err := b.Peek(context.Background(), "k", twoASecond, 1); !errors.Is(err, limiter.ErrAway) {
		t.Error(err)
	}
	if err := b.Reset(context.Background(), "k", twoASecond); !errors.Is(err, limiter.ErrAway) {
		t.Error(err)
	}
}

func TestObserve(t *testing.T) {
	var events []limiter.Event
	store := &patient{Memory: newMemory(t, limiter.GCRA)}
	l, err := limiter.Observe(store, func(_ context.Context, e limiter.Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	allow(t, l, "k", twoASecond, 2)
	allow(t, l, "k", twoASecond, 1)
	if _, err := l.Peek(ctx, "k", twoASecond, 1); err != nil {
		t.Error(err)
	}
	if err := l.Reset(ctx, "k", twoASecond); err != nil {
		t.Error(err)
	}
	if _, err := l.(limiter.Several).AllowKeys(ctx, 1, limiter.OnKey("k", twoASecond)...); err != nil {
		t.Error(err)
	}
	store.set(false, errors.New("refused"))
	_, _ = l.AllowN(ctx, "k", twoASecond, 1)
	store.set(false, limiter.ErrUnknownOutcome)
	_, _ = l.AllowN(ctx, "k", twoASecond, 1)
	want := []string{"allow admitted", "allow denied", "peek denied", "reset done", "allow all admitted", "allow error", "allow unknown"}
	for i, e := range events {
		if got := e.Verb + " " + e.Outcome(); i >= len(want) || got != want[i] || e.Key != "k" {
			t.Errorf("event %d: %s of %q", i, got, e.Key)
		}
	}
	if len(events) != len(want) {
		t.Errorf("%d events, want %d", len(events), len(want))
	}
}

// TestNothingGiven: what is nil, or holds nil, or was not made by its constructor is an error
// and no panic.
func TestNothingGiven(t *testing.T) {
	var (
		noMemory *limiter.Memory
		noQueue  *limiter.Queue
		ctx      = context.Background()
		m        = newMemory(t, limiter.GCRA)
	)
	allow(t, m, "full", twoASecond, 2)
	calls := map[string]func() error{
		"nil option":          func() error { _, err := limiter.NewMemory(limiter.GCRA, nil); return err },
		"few keys":            func() error { _, err := limiter.NewMemory(limiter.GCRA, limiter.WithMaxKeys(7)); return err },
		"nil memory":          func() error { _, err := noMemory.AllowN(ctx, "k", twoASecond, 1); return err },
		"nil memory, several": func() error { _, err := noMemory.AllowKeys(ctx, 1, limiter.OnKey("k", twoASecond)...); return err },
		"zero memory":         func() error { _, err := new(limiter.Memory).AllowN(ctx, "k", twoASecond, 1); return err },
		"wait on nil":         func() error { _, err := limiter.Wait(ctx, nil, "k", twoASecond, 1); return err },
		"wait on nil memory":  func() error { _, err := limiter.Wait(ctx, noMemory, "k", twoASecond, 1); return err },
		"apply to nil":        func() error { _, err := limiter.Apply(ctx, nil, limiter.Drop(), "k", twoASecond, 1); return err },
		"nil policy":          func() error { _, err := limiter.Apply(ctx, m, nil, "full", twoASecond, 1); return err },
		"nil queue":           func() error { _, err := limiter.Apply(ctx, m, noQueue, "full", twoASecond, 1); return err },
		"zero queue":          func() error { _, err := limiter.Apply(ctx, m, new(limiter.Queue), "full", twoASecond, 1); return err },
		"or nil": func() error {
			_, err := limiter.Apply(ctx, m, limiter.Or(nil, noQueue), "full", twoASecond, 1)
			return err
		},
		"zero breaker": func() error { _, err := new(limiter.Breaker).AllowN(ctx, "k", twoASecond, 1); return err },
		"nil breaker":  func() error { _, err := limiter.NewBreaker(limiter.BreakerConfig{Limiter: noMemory}); return err },
		"nil fallback": func() error {
			_, err := limiter.NewBreaker(limiter.BreakerConfig{Limiter: m, Fallback: noMemory})
			return err
		},
		"nil observer": func() error { _, err := limiter.Observe(m, nil); return err },
		"no queue":     func() error { _, err := limiter.NewQueue(0, time.Second); return err },
	}
	if n := noMemory.Len() + int(noMemory.Evicted()) + noMemory.Sweep(0); n != 0 {
		t.Errorf("a nil Memory holds %d keys", n)
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, limiter.ErrBadRequest) && !errors.Is(err, limiter.ErrLimited) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWaitByAGivenClock: a wait ends when the limiter's own clock says so, however long that
// takes on this machine's.
func TestWaitByAGivenClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now := far
		m := newMemory(t, limiter.SlidingLog, limiter.WithClock(func() limiter.Instant { mu.Lock(); defer mu.Unlock(); return now }))
		l, err := limiter.Observe(newBreaker(t, limiter.BreakerConfig{Limiter: m}), func(context.Context, limiter.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		hour := limiter.Limit{Count: 1, Window: time.Hour}
		allow(t, l, "k", hour, 1)
		start := time.Now()
		time.AfterFunc(30*time.Millisecond, func() { mu.Lock(); now = now.Add(time.Hour); mu.Unlock() })
		if d, err := limiter.Wait(context.Background(), l, "k", hour, 1); err != nil || !d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
		if took := time.Since(start); took < 30*time.Millisecond || took > 32*time.Millisecond {
			t.Errorf("waited %v for a clock that moved after 30 ms", took)
		}
	})
}

// TestMaxKeys holds a crowd to a bound: it is kept, a key that is used again and again stays,
// and so does one that is blocked for long.
func TestMaxKeys(t *testing.T) {
	t.Parallel()
	for _, a := range limiter.Algorithms() {
		m := newMemory(t, a, limiter.WithMaxKeys(limiter.MinMaxKeys), limiter.WithBlock(24*time.Hour))
		limit := limiter.Limit{Count: 3, Window: time.Minute}
		at := far
		m.AllowAt(at, "blocked", limit, 3)
		m.AllowAt(at, "blocked", limit, 1)
		for i := range 20_000 {
			at = at.Add(time.Millisecond)
			if d := m.AllowAt(at, visitor(i), limit, 1); !d.Allowed {
				t.Fatalf("%s: visitor %d is denied: %+v", a, i, d)
			}
			if i%100 == 0 && m.Len() > limiter.MinMaxKeys {
				t.Fatalf("%s: %d keys", a, m.Len())
			}
		}
		if n := m.Len(); n < limiter.MinMaxKeys*3/4 || m.Evicted() < 10_000 {
			t.Errorf("%s: %d keys, %d evicted", a, n, m.Evicted())
		}
		if d := m.PeekAt(at, "blocked", limit, 1); d.Allowed {
			t.Errorf("%s: the crowd pushed out a key that is blocked for a day: %+v", a, d)
		}
	}
	m := newMemory(t, limiter.SlidingLog, limiter.WithMaxKeys(limiter.MinMaxKeys))
	second, hour := limiter.Limit{Count: 3, Window: time.Second}, limiter.Limit{Count: 9, Window: time.Hour}
	for i := range 5000 {
		all, err := m.AllowKeys(context.Background(), 1, limiter.OnKey(visitor(i), second, hour)...)
		if err != nil || !all[0].Allowed {
			t.Fatal(all, err)
		}
		if all, err = m.AllowKeys(context.Background(), 0, limiter.OnKey(visitor(i), second, hour)...); err != nil || all[0].Used != 1 || all[1].Used != 1 {
			t.Fatalf("visitor %d: %+v, %v: one of its windows pushed out the other", i, all, err)
		}
	}
}

func visitor(i int) string { return "visitor:" + time.Duration(i).String() }
