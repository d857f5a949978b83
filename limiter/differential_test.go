package limiter_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
)

// far is an instant that no server reaches during a test, aligned to every window used
// here: keys whose window begins with the first request expire on the given clock.
var far = limiter.InstantOf(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))

// TestLuaAgreesWithGo drives the same random requests through a script on a real server,
// through memory, and through State, which is arithmetic alone. They must agree on
// everything that a decision says.
func TestLuaAgreesWithGo(t *testing.T) {
	client := limitertest.Client(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			for round := range 12 {
				walk(t, client, v, rng, fmt.Sprintf("d:%s:%d", v.name, round))
			}
		})
	}
}

type variant struct {
	name      string
	algorithm limiter.Algorithm
	c         limiter.Convention
	layout    limiter.Layout
	like      limiter.Algorithm // that the arithmetic follows; Unknown for algorithm
	noRefunds bool
}

func (v variant) options(more ...limiter.Option) []limiter.Option {
	return append(more, limiter.WithConvention(v.c), limiter.WithLayout(v.layout))
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
		for _, edge := range []limiter.Edge{limiter.HalfOpen, limiter.Closed} {
			for _, rule := range []limiter.Rule{limiter.Fits, limiter.Below} {
				for _, denied := range []limiter.Denied{limiter.Free, limiter.Charged} {
					c := limiter.Convention{Edge: edge, Rule: rule, Denied: denied}
					all = append(all, variant{name: fmt.Sprintf("%s-%d%d%d", a, edge, rule, denied), algorithm: a, c: c})
				}
			}
		}
	}
	for _, rounding := range []limiter.Rounding{limiter.Floor, limiter.Exact, limiter.Round} {
		for _, rule := range []limiter.Rule{limiter.Fits, limiter.Below} {
			for _, denied := range []limiter.Denied{limiter.Free, limiter.Charged} {
				c := limiter.Convention{Rounding: rounding, Rule: rule, Denied: denied}
				all = append(all, variant{name: fmt.Sprintf("sliding-%d%d%d", rounding, rule, denied), algorithm: limiter.SlidingWindow, c: c})
			}
		}
	}
	all = append(all,
		variant{name: "fixed-first", algorithm: limiter.FixedWindow, c: limiter.Convention{Alignment: limiter.FirstRequest}},
		variant{name: "fixed-first-charged", algorithm: limiter.FixedWindow, c: limiter.Convention{Alignment: limiter.FirstRequest, Denied: limiter.Charged}},
	)
	all = append(all,
		variant{name: "gcra", algorithm: limiter.GCRA, c: limiter.Convention{}},
		variant{name: "tokens", algorithm: limiter.TokenBucket, c: limiter.Convention{}},
		variant{name: "tokens-interval", algorithm: limiter.TokenBucket, c: limiter.Convention{Refill: limiter.Interval}},
		variant{name: "leaky", algorithm: limiter.LeakyBucket, c: limiter.Convention{}},
		variant{name: "gcra-charged", algorithm: limiter.GCRA, c: limiter.Convention{Denied: limiter.Charged, Rule: limiter.Below}},
		variant{name: "tokens-charged", algorithm: limiter.TokenBucket, c: limiter.Convention{Denied: limiter.Charged, Rule: limiter.Below}},
	)
	for _, a := range limiter.Algorithms() {
		all = append(all, variant{name: a.String() + "-block", algorithm: a, c: limiter.Convention{Block: 700 * time.Millisecond}})
	}
	// What is given back of a stream of units are its newest entries, as of a log.
	for _, v := range all {
		if v.algorithm != limiter.StreamCounter {
			continue
		}
		v.layout = limiter.Layout{Units: true}
		v.name, v.noRefunds = "units-"+v.name, true
		all = append(all, v)
		v.name, v.noRefunds, v.like = "refunded-"+v.name, false, limiter.SlidingLog
		all = append(all, v)
	}
	return all
}

// walk takes one random walk through time on one key.
func walk(t *testing.T, client limiter.Scripter, v variant, rng *rand.Rand, key string) {
	now := far
	l, err := limiter.NewRedis(client, v.algorithm, v.options(limiter.WithClock(func() limiter.Instant { return now }))...)
	if err != nil {
		t.Fatal(err)
	}
	limit := limiter.Limit{Count: rng.Int64N(20) + 1, Window: time.Duration(rng.IntN(3)*997+3) * time.Millisecond}
	if rng.IntN(8) == 0 {
		limit.Count = 0
	}
	if rng.IntN(2) == 0 && limit.Count > 0 {
		limit.Burst = rng.Int64N(30) + 1
	}
	model := limiter.State{Algorithm: v.arithmetic()}
	memory, err := limiter.NewMemory(v.arithmetic(), limiter.WithConvention(v.c), limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		t.Fatal(err)
	}
	jumped, refunded, latest := false, false, now
	for step := range 150 {
		d := stride(rng, v, limit.Window)
		if d < 0 && (refunded || v.like != limiter.Unknown) {
			d = 0 // a server drops what a refund empties, and cannot count it again
		}
		if d < 0 && !comparable(&model, v, limit, now, now.Add(d), latest) {
			d = 0
		}
		jumped = jumped || d < 0
		now = now.Add(d)
		latest = max(latest, now)
		if rng.IntN(12) == 0 && limit.Count > 0 && !v.noRefunds {
			back := rng.Int64N(limit.Count) + 1
			now = max(now, latest).Add(time.Millisecond)
			now = refund(t, l, memory, &model, key, now, limit, v, back)
			latest, refunded = max(latest, now), true
		}
		n := rng.Int64N(max(limit.Count, 2)) / (1 + rng.Int64N(4))
		if rng.IntN(20) == 0 {
			n = limit.Count + 1
		}
		want := model.Take(now, limit, v.c, n)
		if local := memory.AllowAt(now, key, limit, n); !alike(local, want, v, jumped) {
			t.Fatalf("%s step %d at +%v (clock went back: %v) limit %+v cost %d\nmemory %+v\nmodel  %+v", key, step, now.Sub(far), jumped, limit, n, local, want)
		}
		got, err := l.AllowN(context.Background(), key, limit, n)
		if err != nil {
			t.Fatalf("step %d at +%v: %v", step, now.Sub(far), err)
		}
		if !alike(got, want, v, jumped) {
			t.Fatalf("%s step %d at +%v (clock went back: %v) limit %+v cost %d\nserver %+v\nmodel  %+v", key, step, now.Sub(far), jumped, limit, n, got, want)
		}
		seen, err := l.Peek(context.Background(), key, limit, 1)
		if err != nil {
			t.Fatal(err)
		}
		peeked := model.Peek(now, limit, v.c, 1)
		if local := memory.PeekAt(now, key, limit, 1); !alike(local, peeked, v, jumped) {
			t.Fatalf("%s peek after step %d\nmemory %+v\nmodel  %+v", key, step, local, peeked)
		}
		if !alike(seen, peeked, v, jumped) {
			t.Fatalf("%s peek after step %d at +%v limit %+v\nserver %+v\nmodel  %+v", key, step, now.Sub(far), limit, seen, peeked)
		}
	}
}

// refund gives back in all three places, and returns the instant at which to go on: in a
// stream the next entry has to come later than the ones that were taken off.
func refund(t *testing.T, l *limiter.Redis, m *limiter.Memory, s *limiter.State, key string, now limiter.Instant, limit limiter.Limit, v variant, n int64) limiter.Instant {
	t.Helper()
	want := s.Refund(now, limit, v.c, n)
	got, err := l.Refund(context.Background(), key, limit, n)
	if err != nil {
		t.Fatalf("refund: %v", err)
	}
	if !alike(got, want, v, false) {
		t.Fatalf("%s refund of %d at +%v limit %+v\nserver %+v\nmodel  %+v", key, n, now.Sub(far), limit, got, want)
	}
	local, err := m.Refund(context.Background(), key, limit, n)
	if err != nil {
		t.Fatal(err)
	}
	if !alike(local, want, v, false) {
		t.Fatalf("%s refund of %d at +%v limit %+v\nmemory %+v\nmodel  %+v", key, n, now.Sub(far), limit, local, want)
	}
	return now.Add(time.Millisecond)
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
	if v.c.Alignment == limiter.FirstRequest {
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
