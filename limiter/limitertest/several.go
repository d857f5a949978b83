package limitertest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratescope/limiter"
)

// several returns the limiter if it decides about limits on several keys in one call.
func (b *bench) several() (limiter.Several, bool) {
	l, ok := b.Limiter.(limiter.Several)
	if !ok {
		return nil, false
	}
	_, err := l.AllowKeys(context.Background(), 0, limiter.OnKey("k", tenAMinute)...)
	return l, !errors.Is(err, limiter.ErrNotOnStore) // a layout that keeps one limit a key
}

// severalKeys walks random requests under limits on one to three keys through the limiter, beside a
// State for each key and window: the request is charged to all or to none.
func severalKeys(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	l, ok := b.several()
	if !ok {
		return
	}
	limits := []limiter.Limit{{Count: 4, Window: time.Second}, {Count: 9, Window: time.Minute}, {Count: 6, Window: 10 * time.Second}}
	truth := make(map[limiter.KeyLimit]*limiter.State)
	rng := rand.New(rand.NewPCG(7, 8))
	for step := range 300 {
		b.now = b.now.Add(time.Duration(rng.IntN(900)) * time.Millisecond)
		var parts []limiter.KeyLimit
		for i, key := range []string{"address", "user", "{tag}:tenant"} {
			for j, limit := range limits {
				if rng.IntN(3) == 0 && (i+j)%2 == 0 {
					parts = append(parts, limiter.KeyLimit{Key: key, Limit: limit})
				}
			}
		}
		if len(parts) == 0 {
			continue
		}
		n := rng.Int64N(4)
		got, err := l.AllowKeys(context.Background(), n, parts...)
		if err != nil {
			t.Fatalf("step %d, %+v: %v", step, parts, err)
		}
		all := true
		want := make([]limiter.Decision, len(parts))
		for i, p := range parts {
			if truth[p] == nil {
				truth[p] = &limiter.State{Algorithm: s.Algorithm}
			}
			want[i] = truth[p].Peek(b.now, p.Limit, limiter.Convention{}, n)
			all = all && want[i].Allowed
		}
		for i, p := range parts {
			if all {
				want[i] = truth[p].Take(b.now, p.Limit, limiter.Convention{}, n)
			}
			g, w := got[i], want[i]
			if g.Allowed != w.Allowed || g.Used != w.Used || g.Remaining != w.Remaining || g.RetryAfter != w.RetryAfter ||
				g.ResetAfter != w.ResetAfter || g.Limit != p.Limit {
				t.Fatalf("step %d, part %d of %+v, cost %d:\n%+v\nwant\n%+v", step, i, parts, n, g, w)
			}
		}
	}
}

// severalAtOnce lets many clients ask at once, each under the limit of an address that they share and
// under one of its own: no limit is passed, and what one denies is charged to no other.
func severalAtOnce(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	l, ok := b.several()
	if !ok {
		return
	}
	shared := limiter.KeyLimit{Key: "address", Limit: limiter.Limit{Count: 30, Window: time.Hour}}
	own := limiter.Limit{Count: 5, Window: time.Hour}
	var total atomic.Int64
	var admitted [8]int64
	var wg sync.WaitGroup
	key := func(i int) string { return string(rune('a' + i)) }
	for i := range admitted {
		wg.Go(func() {
			for j := range 20 {
				parts := []limiter.KeyLimit{shared, {Key: key(i), Limit: own}}
				if j%2 == 0 {
					parts[0], parts[1] = parts[1], parts[0]
				}
				all, err := l.AllowKeys(context.Background(), 1, parts...)
				if err != nil {
					t.Error(err)
					return
				}
				if limiter.Combine(all).Allowed {
					admitted[i]++
					total.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if total.Load() != 30 {
		t.Errorf("%d admitted, want 30: eight clients could have had 40", total.Load())
	}
	for i, n := range admitted {
		all, err := l.AllowKeys(context.Background(), 0, shared, limiter.KeyLimit{Key: key(i), Limit: own})
		if err != nil || n > 5 || all[0].Used != 30 || all[1].Used != n {
			t.Errorf("client %d was admitted %d times: %+v, %v", i, n, all, err)
		}
	}
}
