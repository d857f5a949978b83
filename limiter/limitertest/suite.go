// Package limitertest checks that an implementation of limiter.Limiter keeps the promises
// of that interface, and starts real Redis servers for tests that need one.
package limitertest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
)

// Subject is one implementation under test.
type Subject struct {
	Algorithm limiter.Algorithm
	// New returns a limiter with nothing on its keys and the given clock. It is called for
	// every test anew.
	New func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter
}

// Start is the instant at which every test of the suite begins: aligned to seconds,
// minutes and hours, and ahead of any server's clock.
var Start = limiter.InstantOf(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))

// Run checks a subject against every promise.
func Run(t *testing.T, s Subject) {
	for _, one := range []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"admits the limit and no more", admitsTheLimit},
		{"all or nothing", allOrNothing},
		{"never", never},
		{"a peek changes nothing", peekChangesNothing},
		{"waiting is enough", waitingIsEnough},
		{"as new after reset", asNewAfterReset},
		{"count only", countOnly},
		{"keys are independent", keysAreIndependent},
		{"clock jumping back", clockJumpsBack},
		{"limit may change", limitMayChange},
		{"block", block},
		{"many at once", manyAtOnce},
		{"bad input", badInput},
		{"several keys", severalKeys},
		{"several keys at once", severalAtOnce},
	} {
		t.Run(one.name, func(t *testing.T) { one.test(t, s) })
	}
}

// bench is a subject with a clock that the test moves.
type bench struct {
	*testing.T
	limiter.Limiter
	now limiter.Instant
}

func (s Subject) bench(t *testing.T, c limiter.Convention) *bench {
	b := &bench{T: t, now: Start}
	b.Limiter = s.New(t, func() limiter.Instant { return b.now }, c)
	return b
}

func (b *bench) take(key string, limit limiter.Limit, n int64) limiter.Decision {
	b.Helper()
	d, err := b.AllowN(context.Background(), key, limit, n)
	if err != nil {
		b.Fatalf("AllowN(%q, %+v, %d): %v", key, limit, n, err)
	}
	if d.At != b.now || d.Cost != n || d.Limit != limit {
		b.Fatalf("the decision does not say what it is about: %+v", d)
	}
	if d.Allowed && d.RetryAfter != 0 || d.Remaining < 0 || d.ResetAfter < 0 {
		b.Fatalf("the decision contradicts itself: %+v", d)
	}
	return d
}

func (b *bench) want(d limiter.Decision, allowed bool, used, remaining int64) {
	b.Helper()
	if d.Allowed != allowed || d.Used != used || d.Remaining != remaining {
		b.Errorf("%+v\nwant allowed %v, used %d, remaining %d", d, allowed, used, remaining)
	}
}

var tenAMinute = limiter.Limit{Count: 10, Window: time.Minute}

func admitsTheLimit(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	for i := int64(1); i <= 10; i++ {
		b.want(b.take("k", tenAMinute, 1), true, i, 10-i)
	}
	b.want(b.take("k", tenAMinute, 1), false, 10, 0)
}

func allOrNothing(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	b.want(b.take("k", tenAMinute, 7), true, 7, 3)
	b.want(b.take("k", tenAMinute, 4), false, 7, 3)
	b.want(b.take("k", tenAMinute, 3), true, 10, 0)
}

func never(t *testing.T, s Subject) {
	for _, c := range []limiter.Convention{{}, {Denied: convention.Charged}, {Rule: convention.Below}} {
		b := s.bench(t, c)
		b.take("k", tenAMinute, 2)
		d := b.take("k", tenAMinute, 11)
		b.want(d, false, 2, 8)
		if d.RetryAfter != limiter.Never {
			b.Errorf("%+v: a cost above the limit may be tried again after %v", c, d.RetryAfter)
		}
		b.want(b.take("k", tenAMinute, 0), true, 2, 8)
	}
}

func peekChangesNothing(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	b.take("k", tenAMinute, 4)
	for _, n := range []int64{0, 1, 6, 7, 11} {
		d, err := b.Peek(context.Background(), "k", tenAMinute, n)
		if err != nil {
			t.Fatal(err)
		}
		b.want(d, n <= 6, 4, 6)
		if n > 6 && d.RetryAfter == 0 {
			b.Errorf("a peek that is denied says nothing about when: %+v", d)
		}
	}
	b.want(b.take("k", tenAMinute, 6), true, 10, 0)
}

// waitingIsEnough holds RetryAfter to its promise: after it the request is admitted, a
// microsecond before it is not.
func waitingIsEnough(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	limit := limiter.Limit{Count: 7, Window: time.Second}
	for i := range 60 {
		b.now = b.now.Add(time.Duration(i*i%97) * time.Millisecond)
		n := int64(i%3) + 1
		d := b.take("k", limit, n)
		if d.Allowed {
			continue
		}
		at := b.now
		b.now = at.Add(d.RetryAfter - time.Microsecond)
		if early, err := b.Peek(context.Background(), "k", limit, n); err != nil || early.Allowed {
			t.Fatalf("step %d: %v was too long: %+v, %v", i, d.RetryAfter, early, err)
		}
		b.now = at.Add(d.RetryAfter)
		if late := b.take("k", limit, n); !late.Allowed {
			t.Fatalf("step %d: %v was not enough: %+v", i, d.RetryAfter, late)
		}
	}
}

func asNewAfterReset(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	b.take("k", tenAMinute, 9)
	d := b.take("k", tenAMinute, 0)
	if d.ResetAfter <= 0 {
		t.Fatalf("a used key is as new already: %+v", d)
	}
	b.now = b.now.Add(d.ResetAfter)
	b.want(b.take("k", tenAMinute, 0), true, 0, 10)
	b.take("k", tenAMinute, 9)
	if err := b.Reset(context.Background(), "k", tenAMinute); err != nil {
		t.Fatal(err)
	}
	d = b.take("k", tenAMinute, 0)
	b.want(d, true, 0, 10)
	if d.ResetAfter != 0 {
		t.Errorf("a key that was reset is as new only after %v", d.ResetAfter)
	}
}

func countOnly(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	limit := limiter.Limit{Window: time.Minute}
	for range 30 {
		if d := b.take("k", limit, 1000); !d.Allowed {
			t.Fatalf("limit 0 denied: %+v", d)
		}
	}
	if d := b.take("k", limit, 0); d.Used != 30_000 && d.Used != 0 {
		t.Errorf("counted %d, want 30000, or 0 from an algorithm that cannot count", d.Used)
	}
}

func keysAreIndependent(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	keys := []string{"a", "A", "a ", "{a}", "a}", "}a", "{", "}", "{}", "{}a", "a{b}c", "a:fw:1", "{a}:fw:0",
		"\x1b[31mred", "日本語 🔥", "\xff\xfe", "a\x00b", strings.Repeat("k", limiter.MaxKeyLen)}
	for i, k := range keys {
		b.take(k, tenAMinute, int64(i%9)+1)
	}
	for i, k := range keys {
		used := int64(i%9) + 1
		b.want(b.take(k, tenAMinute, 0), true, used, 10-used)
	}
}

func clockJumpsBack(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	b.now = b.now.Add(5 * time.Second)
	b.take("k", tenAMinute, 10)
	for _, back := range []time.Duration{time.Microsecond, time.Millisecond, 5 * time.Second, 30 * time.Second} {
		b.now = Start.Add(5*time.Second - back)
		if d := b.take("k", tenAMinute, 1); d.Allowed {
			t.Errorf("a jump of %v back freed something: %+v", back, d)
		}
	}
}

// limitMayChange lowers and raises a limit in use. Of what drains, a leaky bucket alone keeps what was
// taken, and not a time or what is left: of the others only the bounds can be told.
func limitMayChange(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	b.take("k", tenAMinute, 8)
	if s.Algorithm.Bursts() && s.Algorithm != limiter.LeakyBucket {
		low := limiter.Limit{Count: 5, Window: time.Minute}
		admitted := 0
		for range 20 {
			if b.take("k", low, 1).Allowed {
				admitted++
			}
		}
		if admitted > 5 {
			t.Errorf("a limit that was lowered to 5 admits %d", admitted)
		}
		d := b.take("k", limiter.Limit{Count: 1000, Window: time.Minute}, 1)
		b.now = b.now.Add(d.RetryAfter)
		if d := b.take("k", limiter.Limit{Count: 1000, Window: time.Minute}, 1); !d.Allowed {
			t.Errorf("a limit that was raised denies after the wait it named: %+v", d)
		}
		return
	}
	if d := b.take("k", limiter.Limit{Count: 5, Window: time.Minute}, 1); d.Allowed || d.Remaining != 0 {
		t.Errorf("a limit that was lowered admits: %+v", d)
	}
	if d := b.take("k", limiter.Limit{Count: 1000, Window: time.Minute}, 1); !d.Allowed {
		t.Errorf("a limit that was raised denies: %+v", d)
	}
}

func block(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{Block: 5 * time.Minute})
	b.take("k", tenAMinute, 10)
	d := b.take("k", tenAMinute, 1)
	if d.Allowed || d.RetryAfter < 5*time.Minute {
		t.Fatalf("a key that overran: %+v", d)
	}
	b.now = b.now.Add(2 * time.Minute)
	if d := b.take("k", tenAMinute, 1); d.Allowed || d.RetryAfter != 3*time.Minute || d.Remaining != 0 {
		t.Errorf("while it is blocked: %+v", d)
	}
	b.now = b.now.Add(3 * time.Minute)
	if d := b.take("k", tenAMinute, 1); !d.Allowed {
		t.Errorf("after the block: %+v", d)
	}
	if d := b.take("never", tenAMinute, 11); d.Allowed || d.RetryAfter != limiter.Never {
		t.Errorf("above the limit: %+v", d)
	}
	if d := b.take("never", tenAMinute, 1); !d.Allowed {
		t.Errorf("a cost above the limit blocked the key: %+v", d)
	}
}

func manyAtOnce(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 10 {
				d, err := b.AllowN(context.Background(), "k", limiter.Limit{Count: 100, Window: time.Minute}, 1)
				if err != nil {
					t.Error(err)
					return
				}
				if d.Allowed {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := admitted.Load(); got != 100 {
		t.Errorf("%d admitted, want 100", got)
	}
}

func badInput(t *testing.T, s Subject) {
	b := s.bench(t, limiter.Convention{})
	ctx := context.Background()
	ok := tenAMinute
	for _, c := range []struct {
		key   string
		limit limiter.Limit
		n     int64
	}{
		{"", ok, 1},
		{strings.Repeat("k", limiter.MaxKeyLen+1), ok, 1},
		{"k", ok, -1},
		{"k", ok, 1 << 62},
		{"k", limiter.Limit{}, 1},
		{"k", limiter.Limit{Count: -1, Window: time.Minute}, 1},
		{"k", limiter.Limit{Count: 1 << 62, Window: time.Minute}, 1},
		{"k", limiter.Limit{Count: 1, Burst: -1, Window: time.Minute}, 1},
		{"k", limiter.Limit{Count: 1, Burst: 1 << 62, Window: time.Minute}, 1},
		{"k", limiter.Limit{Count: 1, Window: -time.Minute}, 1},
		{"k", limiter.Limit{Count: 1, Window: 999 * time.Microsecond}, 1},
		{"k", limiter.Limit{Count: 1, Window: 367 * 24 * time.Hour}, 1},
		{"k", limiter.Limit{Count: 1, Window: time.Second + 1}, 1},
	} {
		if _, err := b.AllowN(ctx, c.key, c.limit, c.n); !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("AllowN(%.20q, %+v, %d): %v, want a bad request", c.key, c.limit, c.n, err)
		}
		if _, err := b.Peek(ctx, c.key, c.limit, c.n); !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("Peek(%.20q, %+v, %d): %v, want a bad request", c.key, c.limit, c.n, err)
		}
	}
	large := limiter.Limit{Count: 2 * limiter.MaxLogCost, Window: time.Minute}
	if _, err := b.Peek(ctx, "k", large, limiter.MaxLogCost+1); s.Algorithm == limiter.SlidingLog &&
		!errors.Is(err, limiter.ErrBadRequest) {
		t.Errorf("a cost of one more than a log takes: %v", err)
	}
	var none context.Context
	gone, cancel := context.WithCancel(ctx)
	cancel()
	allow := func(ctx context.Context) error { _, err := b.AllowN(ctx, "k", ok, 1); return err }
	for what, c := range map[string]struct{ err, want error }{
		"a nil context":                    {allow(none), limiter.ErrBadRequest},
		"a reset with a nil context":       {b.Reset(none, "k", ok), limiter.ErrBadRequest},
		"a cancelled context":              {allow(gone), context.Canceled},
		"a reset of an empty key":          {b.Reset(ctx, "", ok), limiter.ErrBadRequest},
		"a reset with a cancelled context": {b.Reset(gone, "k", ok), context.Canceled},
	} {
		if !errors.Is(c.err, c.want) || errors.Is(c.err, limiter.ErrUnknownOutcome) {
			t.Errorf("%s: %v", what, c.err)
		}
	}
	b.want(b.take("k", ok, 0), true, 0, 10)
}

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
