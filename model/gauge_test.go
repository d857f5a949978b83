package model_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// conventions are the ones whose forecast can differ.
var conventions = []limiter.Convention{
	{}, {Edge: convention.Closed}, {Alignment: convention.FirstRequest}, {Rounding: convention.Exact}, {Rounding: convention.Nearest},
	{Rule: convention.Below}, {Denied: convention.Charged}, {Rule: convention.Below, Denied: convention.Charged, Rounding: convention.Exact}, {Refill: convention.Interval},
	{Block: time.Second},
}

// lived returns the state of a key after some traffic, and the instant after it.
func lived(r *rand.Rand, a limiter.Algorithm, l limiter.Limit, c limiter.Convention) (limiter.State, limiter.Instant) {
	s := limiter.State{Algorithm: a}
	at := today
	for range r.IntN(40) {
		at += limiter.Instant(r.Int64N(int64(l.Window/time.Microsecond) / 8))
		s.Take(at, l, c, 1+r.Int64N(3))
	}
	return s, at + limiter.Instant(r.Int64N(int64(l.Window/time.Microsecond)/2))
}

// TestForecastIsWhatWouldHappen plays the same requests one by one against a copy of
// the state.
func TestForecastIsWhatWouldHappen(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for _, a := range limiter.Algorithms() {
		for _, c := range conventions {
			for range 150 {
				l := limiter.Limit{Count: r.Int64N(25), Window: 10 * time.Second, Burst: r.Int64N(12)}
				state, now := lived(r, a, l, c)
				n, cost := r.IntN(30), 1+r.Int64N(4)
				if r.IntN(10) == 0 {
					cost = 100 // above any limit
				}
				reading := model.Reading{Key: "k", Type: "zset", At: now, State: state, Target: model.Target{Algorithm: a, Limit: l, LimitKnown: true, Window: l.Window, Convention: c}}
				before := state.Clone()
				got := reading.Forecast(now, n, cost)
				want := model.Forecast{Known: true}
				alone := state.Clone()
				for range n {
					d := alone.Take(now, l, c, cost)
					want.Remaining = d.Remaining
					if d.Allowed {
						want.Admitted++
					} else {
						want.Denied++
					}
				}
				want.Next = alone.Peek(now, l, c, cost).RetryAfter
				if n == 0 {
					want.Remaining = got.Remaining // nothing was asked
				}
				if got != want {
					t.Fatalf("%v %+v, limit %+v, %d requests of %d: %+v, want %+v", a, c, l, n, cost, got, want)
				}
				if after := reading.State; after.Start != before.Start || after.Current != before.Current || after.TAT != before.TAT || after.Level != before.Level || len(after.Log) != len(before.Log) {
					t.Fatalf("%v: the forecast changed the reading", a)
				}
				for i, e := range reading.State.Log {
					if e != before.Log[i] {
						t.Fatalf("%v: the forecast wrote into the reading's log", a)
					}
				}
			}
		}
	}
}

func TestForecastOfWhatIsNotKnown(t *testing.T) {
	known := logReading("k", today, 0, 3, 10)
	if f := known.Forecast(today, 20, 1); !f.Known || f.Admitted != 7 || f.Denied != 13 || f.Remaining != 0 {
		t.Errorf("with all known the forecast is %+v", f)
	}
	for name, spoil := range map[string]func(*model.Reading){
		"the limit":     func(r *model.Reading) { r.Target.LimitKnown = false },
		"the window":    func(r *model.Reading) { r.Target.Window = 0 },
		"the algorithm": func(r *model.Reading) { r.Target.Algorithm = limiter.Unknown },
		"anything":      func(r *model.Reading) { r.Err = "is of another type" },
	} {
		r := logReading("k", today, 0, 3, 10)
		spoil(&r)
		if f := r.Forecast(today, 20, 1); f != (model.Forecast{}) {
			t.Errorf("without %s the forecast is %+v", name, f)
		}
	}
}

// TestUnknownIsNeverZero holds that what a reading cannot tell is not known, whatever
// else is in it.
func TestUnknownIsNeverZero(t *testing.T) {
	type knowledge struct {
		used, remaining, previous, current, exact, rate, next, denied bool
	}
	all := knowledge{true, true, true, true, true, true, true, true}
	for _, tc := range []struct {
		name  string
		spoil func(*model.Reading)
		want  knowledge
	}{
		{"all is known", func(*model.Reading) {}, all},
		{"without limit", func(r *model.Reading) { r.Target.LimitKnown = false },
			knowledge{used: true, previous: true, current: true, exact: true, rate: true, denied: true}},
		{"count only", func(r *model.Reading) { r.Target.Limit.Count = 0 },
			knowledge{used: true, previous: true, current: true, exact: true, rate: true, next: true, denied: true}},
		{"without window", func(r *model.Reading) { r.Target.Window = 0 }, knowledge{used: true, denied: true}},
		{"without window and log", func(r *model.Reading) { r.Target.Window = 0; r.State.Log = nil }, knowledge{denied: true}},
		{"without algorithm", func(r *model.Reading) { r.Target.Algorithm = limiter.Unknown }, knowledge{used: true, denied: true}},
		{"unreadable", func(r *model.Reading) { r.Err = "is of another type" }, knowledge{denied: true}},
		{"previous not held", func(r *model.Reading) { r.PreviousKnown = false },
			knowledge{used: true, remaining: true, current: true, exact: true, rate: true, next: true, denied: true}},
		{"exact not told", func(r *model.Reading) { r.ExactKnown = false },
			knowledge{used: true, remaining: true, previous: true, current: true, rate: true, next: true, denied: true}},
		{"denials not recorded", func(r *model.Reading) { r.Denied = model.Count{} },
			knowledge{used: true, remaining: true, previous: true, current: true, exact: true, rate: true, next: true}},
		{"gcra", func(r *model.Reading) {
			r.Target.Algorithm, r.State, r.ExactKnown = limiter.GCRA, limiter.State{Algorithm: limiter.GCRA, TAT: today + 100}, false
		}, knowledge{used: true, remaining: true, next: true, denied: true}},
	} {
		r := logReading("k", today, 0, 3, 10)
		r.Denied = model.Count{Known: true, N: 20}
		tc.spoil(&r)
		g := r.Gauge(today)
		got := knowledge{g.Used.Known, g.Remaining.Known, g.Previous.Known, g.Current.Known, g.Exact.Known, g.RateKnown, g.NextKnown, g.DeniedInW.Known}
		if got != tc.want {
			t.Errorf("%s: known is %+v, want %+v", tc.name, got, tc.want)
		}
		if !got.next && g.Throttled() || !got.remaining && (g.Near() || g.Utilization != 0) {
			t.Errorf("%s: it counts as throttled %v, near %v, %g full", tc.name, g.Throttled(), g.Near(), g.Utilization)
		}
	}
}

// TestGaugeAgreesWithTheLimiter holds the gauge to what a limiter says about the same
// state, at instants between readings too.
func TestGaugeAgreesWithTheLimiter(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	for _, a := range limiter.Algorithms() {
		for _, c := range conventions {
			for range 60 {
				l := limiter.Limit{Count: 1 + r.Int64N(25), Window: 10 * time.Second, Burst: r.Int64N(12)}
				state, now := lived(r, a, l, c)
				reading := model.Reading{Key: "k", Type: "zset", At: now, State: state, ExactKnown: true, PreviousKnown: true, Target: model.Target{Algorithm: a, Limit: l, LimitKnown: true, Window: l.Window, Convention: c}}
				capacity := l.Count
				if a.Bursts() && l.Burst > 0 {
					capacity = l.Burst
				}
				if got := model.Capacity(reading.Target); got != capacity {
					t.Fatalf("%v %+v: the capacity is %d, want %d", a, l, got, capacity)
				}
				for _, later := range []time.Duration{0, time.Millisecond, 3 * time.Second, 25 * time.Second} {
					at := now.Add(later)
					g, d := reading.Gauge(at), state.Peek(at, l, c, 1)
					if g.Used.N != d.Used || g.Remaining.N != d.Remaining || g.Next != d.RetryAfter || g.Throttled() == d.Allowed {
						t.Fatalf("%v %+v %v later: %+v, and the limiter says %+v", a, c, later, g, d)
					}
					if want := float64(d.Used) / float64(capacity); math.Abs(g.Utilization-want) > 1e-12 {
						t.Fatalf("%v: it is %g full, want %g", a, g.Utilization, want)
					}
					if g.Near() != (g.Utilization >= model.NearLimit) || g.Weight < 0 || g.Weight > 1 {
						t.Fatalf("%v: near %v at %g, weight %g", a, g.Near(), g.Utilization, g.Weight)
					}
				}
			}
		}
	}
}

// TestStuckWindow: a counter that lost its expiry never frees, however long ago it was read;
// under its limit it admits, and the rate that cannot be known is not made up.
func TestStuckWindow(t *testing.T) {
	reading := func(used int64, ttl time.Duration, a convention.Alignment) model.Reading {
		return model.Reading{
			Key: "stuck:login", Type: "string", At: today, TTL: ttl,
			State:  limiter.State{Algorithm: limiter.FixedWindow, Start: today, Current: used},
			Target: model.Target{Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 100, Window: time.Minute}, LimitKnown: true, Window: time.Minute, Convention: limiter.Convention{Alignment: a}},
		}
	}
	for _, later := range []time.Duration{0, 59 * time.Second, time.Minute, 40 * time.Hour} {
		for used, next := range map[int64]time.Duration{150: limiter.Never, 100: limiter.Never, 99: 0, 1: 0} {
			r := reading(used, model.Forever, convention.FirstRequest)
			g := r.Gauge(today.Add(later))
			if !g.Stuck || g.Used.N != used || !g.NextKnown || g.Next != next || g.Reset != limiter.Never || g.RateKnown || g.Start != 0 || g.End != 0 {
				t.Errorf("%d used, %v later: %+v", used, later, g)
			}
			if f := r.Forecast(today.Add(later), 200, 1); f.Next != limiter.Never || int64(f.Admitted) != max(100-used, 0) {
				t.Errorf("%d used, %v later: 200 requests would find %+v", used, later, f)
			}
		}
	}
	for name, r := range map[string]model.Reading{
		"with an expiry":    reading(150, time.Minute, convention.FirstRequest),
		"aligned windows":   reading(150, model.Forever, convention.Epoch),
		"nothing was taken": reading(0, model.Forever, convention.FirstRequest),
	} {
		if g := r.Gauge(today.Add(time.Second)); g.Stuck || g.Next < 0 || g.Reset < 0 {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

// TestRateOfWhatOutlivesItsWindow: how fast a counter fills is not known when its window
// would begin in the future, or when it was seen to live longer than the window.
func TestRateOfWhatOutlivesItsWindow(t *testing.T) {
	r := model.Reading{
		Key: "k", Type: "string", At: today, TTL: 50 * time.Second,
		State:  limiter.State{Algorithm: limiter.FixedWindow, Start: today.Add(40 * time.Second), Current: 47_000},
		Target: model.Target{Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 20_000, Window: 10 * time.Second}, LimitKnown: true, Window: 10 * time.Second, Convention: limiter.Convention{Alignment: convention.FirstRequest}},
	}
	if g := r.Gauge(today); g.RateKnown || g.Next != 50*time.Second {
		t.Errorf("before the window would begin: %+v", g)
	}
	r.State.Start, r.TTL = today.Add(-time.Second), 9*time.Second
	if g := r.Gauge(today); !g.RateKnown || g.Rate != 47_000 {
		t.Errorf("of a window as long as it should be: %+v", g)
	}
	r.Notes = []model.Note{model.Outlives}
	if g := r.Gauge(today); g.RateKnown || g.Next != 9*time.Second {
		t.Errorf("of a longer one: %+v", g)
	}
}

func TestExactCountsTheSlidingWindow(t *testing.T) {
	w := 10 * time.Second
	r := logReading("k", today, 0, 0, 10)
	for i := range 40 {
		r.State.Log = append(r.State.Log, limiter.Entry{At: today.Add(time.Duration(i-39) * 500 * time.Millisecond), Count: int64(i%3 + 1)})
	}
	for _, edge := range []convention.Edge{convention.HalfOpen, convention.Closed} {
		r.Target.Convention.Edge = edge
		for back := limiter.Instant(0); back < 12_000_000; back += 250_000 {
			now := today + 5_000_000 - back
			var want int64
			for _, e := range r.State.Log {
				age := now.Sub(e.At)
				if age >= 0 && (age < w || age == w && edge == convention.Closed) {
					want += e.Count
				}
			}
			if got := r.Gauge(now).Exact; got.N != want || !got.Known {
				t.Fatalf("edge %v, %d: exact is %+v, want %d", edge, now-today, got, want)
			}
		}
	}
}

// BenchmarkForecastOfALargeBurst is the price of the line under the burst button, which
// is worked out at every frame.
func BenchmarkForecastOfALargeBurst(b *testing.B) {
	r := logReading("k", today, 0, 0, 50_000)
	for i := range 16_000 {
		r.State.Log = append(r.State.Log, limiter.Entry{At: today.Add(time.Duration(i-16_000) * 600 * time.Microsecond), Count: 1})
	}
	b.ReportAllocs()
	for b.Loop() {
		if f := r.Forecast(today, model.MaxRequests, 1); f.Admitted != model.MaxRequests {
			b.Fatal(f)
		}
	}
}

// TestTick: a limiter whose clock counts whole seconds sees the instant as the second that began
// last, and admits when a second begins.
func TestTick(t *testing.T) {
	start := today.Floor(time.Minute)
	r := model.Reading{
		Key: "k", Type: "string", State: limiter.State{Algorithm: limiter.SlidingWindow, Start: start, Previous: 8, Current: 4},
		Target: model.Target{Algorithm: limiter.SlidingWindow, Limit: limiter.Limit{Count: 10, Window: time.Minute}, LimitKnown: true, Window: time.Minute, Tick: time.Second},
	}
	for _, c := range []struct {
		after time.Duration
		used  int64
	}{
		{7500 * time.Millisecond, 11}, // 8*53/60 = 7.07
		{15 * time.Second, 10},        // 8*45/60 = 6
	} {
		now := start.Add(c.after)
		g := r.Gauge(now)
		if g.Used.N != c.used || g.Start != start {
			t.Errorf("after %v: used %v in the window of %v, want %d in that of %v", c.after, g.Used, g.Start, c.used, start)
		}
		if at := now.Add(g.Next); at.Floor(time.Second) != at || g.Next <= 0 {
			t.Errorf("after %v: next in %v, which is no whole second", c.after, g.Next)
		}
		if before := r.Gauge(now.Add(g.Next - time.Microsecond)); before.Next == 0 {
			t.Errorf("after %v: admitted before %v", c.after, g.Next)
		}
		if then := r.Gauge(now.Add(g.Next)); then.Next != 0 {
			t.Errorf("after %v: not admitted after %v, but in %v more", c.after, g.Next, then.Next)
		}
	}
}

// TestABucketThatExpires is as new once its key is gone, of another library, whose keys may expire before they are full.
func TestABucketThatExpires(t *testing.T) {
	for _, c := range []struct {
		library string
		ttl     time.Duration
		age     time.Duration // of the reading
		want    time.Duration
	}{
		{"traefik", 2 * time.Second, 0, 2 * time.Second},
		{"traefik", 2 * time.Second, 500 * time.Millisecond, 1500 * time.Millisecond},
		{"traefik", 2 * time.Second, 3 * time.Second, 0},
		{"traefik", model.Forever, 0, 20 * time.Second},
		{"traefik", time.Minute, 0, 20 * time.Second},
		{"", 2 * time.Second, 0, 20 * time.Second},
		{model.OwnLibrary, 2 * time.Second, 0, 20 * time.Second},
	} {
		l := limiter.Limit{Count: 10, Window: time.Second, Burst: 200}
		r := model.Reading{At: today, Type: "hash", TTL: c.ttl, State: limiter.State{Algorithm: limiter.TokenBucket, Filled: today}}
		r.Target = model.Target{Algorithm: limiter.TokenBucket, Limit: l, LimitKnown: true, Window: l.Window, Library: c.library}
		if g := r.Gauge(today.Add(c.age)); g.AsNew() != c.want {
			t.Errorf("%q expires in %v, %v later: as new in %v, want %v", c.library, c.ttl, c.age, g.AsNew(), c.want)
		}
	}
}
