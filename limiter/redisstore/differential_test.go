package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/limiter/limitertest"
	"ratescope/limiter/redisstore"
)

// far is an instant that no server reaches during a test, aligned to every window used
// here: keys whose window begins with the first request expire on the given clock.
var far = limitertest.Start

// TestLuaAgreesWithGo drives the same random requests through a script on a real server,
// through memory, and through State, which is arithmetic alone. They must agree on
// everything that a decision says.
func TestLuaAgreesWithGo(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const rounds = 6
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			atOnce(t, rounds, func(round int) error {
				rng := rand.New(rand.NewPCG(seed, uint64(round)))
				return walk(client, v, rng, fmt.Sprintf("d:%s:%d", v.name, round))
			})
		})
	}
}

// TestStreamsOfOneInstant walks through requests of which several stand at one instant, because the clock went back, and one of those
// that leave first is not the first of them.
func TestStreamsOfOneInstant(t *testing.T) {
	client := servertest.Client(t)
	for _, v := range variants() {
		if v.algorithm == limiter.StreamCounter {
			if err := walk(client, v, rand.New(rand.NewPCG(1795763464714310791, 11)), "d:one instant:"+v.name); err != nil {
				t.Error(err)
			}
		}
	}
}

// atOnce runs rounds at the same time and fails the test with the errors that they return.
func atOnce(t *testing.T, rounds int, run func(round int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for round := range rounds {
		wg.Go(func() {
			if err := run(round); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

type variant struct {
	name      string
	algorithm limiter.Algorithm
	c         limiter.Convention
	layout    layout.Layout
	like      limiter.Algorithm // that the arithmetic follows; Unknown for algorithm
	noRefunds bool
}

func (v variant) options(more ...redisstore.Option) []redisstore.Option {
	return append(more, redisstore.WithConvention(v.c), redisstore.WithLayout(v.layout))
}

// arithmetic is the algorithm that the decisions follow.
func (v variant) arithmetic() limiter.Algorithm {
	if v.like != limiter.Unknown {
		return v.like
	}
	return v.algorithm
}

func variants() []variant {
	var all []variant
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingLog, limiter.StreamCounter} {
		for _, edge := range []convention.Edge{convention.HalfOpen, convention.Closed} {
			for _, rule := range []convention.Rule{convention.Fits, convention.Below} {
				for _, denied := range []convention.Denied{convention.Free, convention.Charged} {
					c := limiter.Convention{Edge: edge, Rule: rule, Denied: denied}
					all = append(all, variant{name: fmt.Sprintf("%s-%d%d%d", a, edge, rule, denied), algorithm: a, c: c})
				}
			}
		}
	}
	for _, rounding := range []convention.Rounding{convention.Floor, convention.Exact, convention.Nearest} {
		for _, rule := range []convention.Rule{convention.Fits, convention.Below} {
			for _, denied := range []convention.Denied{convention.Free, convention.Charged} {
				c := limiter.Convention{Rounding: rounding, Rule: rule, Denied: denied}
				all = append(all, variant{name: fmt.Sprintf("sliding-%d%d%d", rounding, rule, denied), algorithm: limiter.SlidingWindow, c: c})
			}
		}
	}
	all = append(all,
		variant{name: "fixed-first", algorithm: limiter.FixedWindow, c: limiter.Convention{Alignment: convention.FirstRequest}},
		variant{name: "fixed-first-charged", algorithm: limiter.FixedWindow, c: limiter.Convention{Alignment: convention.FirstRequest, Denied: convention.Charged}},
	)
	all = append(all,
		variant{name: "gcra", algorithm: limiter.GCRA, c: limiter.Convention{}},
		variant{name: "tokens", algorithm: limiter.TokenBucket, c: limiter.Convention{}},
		variant{name: "tokens-interval", algorithm: limiter.TokenBucket, c: limiter.Convention{Refill: convention.Interval}},
		variant{name: "leaky", algorithm: limiter.LeakyBucket, c: limiter.Convention{}},
		variant{name: "gcra-charged", algorithm: limiter.GCRA, c: limiter.Convention{Denied: convention.Charged, Rule: convention.Below}},
		variant{name: "tokens-charged", algorithm: limiter.TokenBucket, c: limiter.Convention{Denied: convention.Charged, Rule: convention.Below}},
	)
	for _, a := range limiter.Algorithms() {
		all = append(all, variant{name: a.String() + "-block", algorithm: a, c: limiter.Convention{Block: 700 * time.Millisecond}})
	}
	// What is given back of a stream of units are its newest entries, as of a log.
	for _, v := range all {
		if v.algorithm != limiter.StreamCounter {
			continue
		}
		v.layout = layout.Layout{PerUnit: true}
		v.name, v.noRefunds = "units-"+v.name, true
		all = append(all, v)
		v.name, v.noRefunds, v.like = "refunded-"+v.name, false, limiter.SlidingLog
		all = append(all, v)
	}
	return all
}

// walk takes one random walk through time on one key, and returns what the stores
// disagree on.
func walk(client redisstore.Client, v variant, rng *rand.Rand, key string) error {
	w := &walker{v: v, key: key, now: far, latest: far, model: limiter.State{Algorithm: v.arithmetic()}}
	clock := func() limiter.Instant { return w.now }
	var err error
	if w.server, err = redisstore.New(client, v.algorithm, v.options(redisstore.WithClock(clock))...); err != nil {
		return err
	}
	if w.memory, err = limiter.NewMemory(v.arithmetic(), limiter.WithConvention(v.c), limiter.WithClock(clock)); err != nil {
		return err
	}
	w.limit = limiter.Limit{Count: rng.Int64N(20) + 1, Window: time.Duration(rng.IntN(3)*997+3) * time.Millisecond}
	if rng.IntN(8) == 0 {
		w.limit.Count = 0
	}
	if rng.IntN(2) == 0 && w.limit.Count > 0 {
		w.limit.Burst = rng.Int64N(30) + 1
	}
	for step := range 150 {
		if err := w.step(rng); err != nil {
			return fmt.Errorf("%s step %d at +%v (clock went back: %v) limit %+v: %w", key, step, w.now.Sub(far), w.jumped, w.limit, err)
		}
	}
	return nil
}

// walker is a walk with its three stores.
type walker struct {
	v        variant
	key      string
	limit    limiter.Limit
	server   *redisstore.Store
	memory   *limiter.Memory
	model    limiter.State
	now      limiter.Instant
	latest   limiter.Instant
	jumped   bool // the clock went back
	refunded bool
}

func (w *walker) step(rng *rand.Rand) error {
	d := stride(rng, w.v, w.limit.Window)
	if d < 0 && (w.refunded || w.v.like != limiter.Unknown) {
		d = 0 // a server drops what a refund empties, and cannot count it again
	}
	if d < 0 && !comparable(&w.model, w.v, w.limit, w.now, w.now.Add(d), w.latest) {
		d = 0
	}
	w.jumped = w.jumped || d < 0
	w.now = w.now.Add(d)
	w.latest = max(w.latest, w.now)
	if rng.IntN(12) == 0 && w.limit.Count > 0 && !w.v.noRefunds {
		if err := w.refund(rng.Int64N(w.limit.Count) + 1); err != nil {
			return err
		}
	}
	n := rng.Int64N(max(w.limit.Count, 2)) / (1 + rng.Int64N(4))
	if rng.IntN(20) == 0 {
		n = w.limit.Count + 1
	}
	ctx := context.Background()
	local, err1 := w.memory.AllowN(ctx, w.key, w.limit, n)
	got, err2 := w.server.AllowN(ctx, w.key, w.limit, n)
	if err := w.compare(fmt.Sprintf("cost %d", n), w.model.Take(w.now, w.limit, w.v.c, n), local, got, errors.Join(err1, err2), w.jumped); err != nil {
		return err
	}
	local, err1 = w.memory.Peek(ctx, w.key, w.limit, 1)
	got, err2 = w.server.Peek(ctx, w.key, w.limit, 1)
	return w.compare("peek", w.model.Peek(w.now, w.limit, w.v.c, 1), local, got, errors.Join(err1, err2), w.jumped)
}

// compare holds what the stores said to the arithmetic.
func (w *walker) compare(what string, want, memory, server limiter.Decision, err error, jumped bool) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if !alike(memory, want, w.v, jumped) || !alike(server, want, w.v, jumped) {
		return fmt.Errorf("%s\nserver %+v\nmemory %+v\nmodel  %+v", what, server, memory, want)
	}
	return nil
}

// refund gives back in all three places, and moves on to when the next entry of a stream
// comes later than the ones that were taken off.
func (w *walker) refund(n int64) error {
	w.now = max(w.now, w.latest).Add(time.Millisecond)
	ctx := context.Background()
	want := w.model.Refund(w.now, w.limit, w.v.c, n)
	local, err1 := w.memory.Refund(ctx, w.key, w.limit, n)
	got, err2 := w.server.Refund(ctx, w.key, w.limit, n)
	if err := w.compare(fmt.Sprintf("refund of %d", n), want, local, got, errors.Join(err1, err2), false); err != nil {
		return err
	}
	w.now = w.now.Add(time.Millisecond)
	w.latest, w.refunded = max(w.latest, w.now), true
	return nil
}

// stride is how far the clock moves: often nothing, often to an edge, seldom back.
func stride(rng *rand.Rand, v variant, w time.Duration) time.Duration {
	var d time.Duration
	switch rng.IntN(10) {
	case 0, 1:
	case 2:
		d = w
	case 3:
		d = w + time.Millisecond
	case 4:
		d = w - time.Microsecond
	case 5:
		d = 3 * w
	case 6:
		d = -time.Duration(rng.Int64N(int64(w / 2)))
	default:
		d = time.Duration(rng.Int64N(int64(w / 4)))
	}
	if v.c.Alignment == convention.FirstRequest {
		return max(d, 0).Truncate(time.Millisecond) // an expiry is a whole millisecond
	}
	return d.Truncate(time.Microsecond)
}

// comparable says whether the two may be compared after the clock jumps back to then:
// counters notice a jump into the window before, and a log that was trimmed has lost
// what would count again.
func comparable(s *limiter.State, v variant, limit limiter.Limit, now, then, latest limiter.Instant) bool {
	switch v.algorithm {
	case limiter.FixedWindow, limiter.SlidingWindow:
		return latest.Sub(then) < limit.Window
	case limiter.SlidingLog, limiter.StreamCounter:
		return s.Peek(then, limit, v.c, 0).Used == s.Peek(latest, limit, v.c, 0).Used
	}
	return true
}

// alike compares all that a server says; what it leaves out is documented at Redis.
func alike(got, want limiter.Decision, v variant, jumped bool) bool {
	switch v.algorithm {
	case limiter.SlidingLog, limiter.StreamCounter:
		want.Previous, want.Current, want.Weight, want.Estimate, want.Start, want.End = 0, 0, 0, 0, 0, 0
		if jumped && got.Allowed {
			want.ResetAfter = got.ResetAfter // a server would have to look for a later entry
		}
	case limiter.FixedWindow:
		want.Previous, got.Previous = 0, 0
	}
	return got == want
}
