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
	"ratescope/limiter/convention"
)

// several returns the limiter if it decides about limits on several keys in one call.
func (b *bench) several() (limiter.Several, bool) {
	l, ok := b.Limiter.(limiter.Several)
	if ok && errors.Is(limiter.CheckLimits(l, true, limiter.OnKey("k", tenAMinute)...), limiter.ErrNotOnStore) {
		return nil, false // a layout that keeps one limit a key
	}
	return l, ok
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

// Admission is a request that was admitted.
type Admission struct {
	At limiter.Instant
	N  int64
}

// Arrivals drives bursty traffic with costs through one key, from Start on, and returns
// what allow admitted. Some of it can never be admitted, and some has a cost of 0.
func Arrivals(rng *rand.Rand, limit limiter.Limit, requests int, allow func(now limiter.Instant, n int64) bool) []Admission {
	now := Start
	var in []Admission
	for range requests {
		switch rng.IntN(6) {
		case 0:
			now = now.Add(limit.Window - time.Duration(rng.IntN(3))*time.Microsecond)
		case 1, 2:
			now = now.Add(time.Duration(rng.Int64N(int64(limit.Window)) / 3).Truncate(time.Microsecond))
		}
		n := rng.Int64N(3) + 1
		switch rng.IntN(20) {
		case 0:
			n = 0
		case 1:
			n = limit.Count + 1
		}
		if allow(now, n) {
			in = append(in, Admission{now, n})
		}
	}
	return in
}

// MostInWindow returns the largest sum admitted in any half-open window of length w. It is
// enough to look at those that end with an admission.
func MostInWindow(in []Admission, w time.Duration) (high int64) {
	from, sum := 0, int64(0)
	for _, one := range in {
		sum += one.N
		for in[from].At <= one.At.Add(-w) {
			sum -= in[from].N
			from++
		}
		high = max(high, sum)
	}
	return high
}

// Bound returns the most that an algorithm may admit in any window of the limit's length:
// a log the limit, weighted counters and fixed windows less than twice the limit, and what
// refills its burst and what comes back in a window.
func Bound(a limiter.Algorithm, c limiter.Convention, limit limiter.Limit) int64 {
	switch {
	case a == limiter.SlidingLog || a == limiter.StreamCounter:
		return limit.Count
	case a == limiter.SlidingWindow && c.Rounding == convention.Exact:
		return 2*limit.Count - 1
	}
	return 2 * limit.Count
}
