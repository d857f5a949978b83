package limiter_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
)

// TestMemoryKeepsKeysApart sends a crowd of keys, short and long, with the same beginnings
// and endings, through one Memory and through a State each: whatever comes, goes and moves
// in the table, every answer is that of the key alone.
func TestMemoryKeepsKeysApart(t *testing.T) {
	for _, block := range []time.Duration{0, 300 * time.Millisecond} {
		for _, a := range limiter.Algorithms() {
			for _, window := range []time.Duration{200 * time.Millisecond, 2 * time.Hour} {
				name := fmt.Sprintf("%s/window=%v/block=%v", a, window, block)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					crowd(t, a, limiter.Limit{Count: 12, Window: window}, limiter.Convention{Block: block})
				})
			}
		}
	}
}

func crowd(t *testing.T, a limiter.Algorithm, limit limiter.Limit, c limiter.Convention) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	now := far
	m := newMemory(t, a, limiter.WithConvention(c), limiter.WithClock(func() limiter.Instant { return now }))
	alone := map[string]*limiter.State{}
	keys := crowdOf(3000)
	busy := len(keys)
	for step := range volume(40_000) {
		if step%5000 == 0 { // others fall silent, and their cells go
			busy = 10 + rng.IntN(len(keys)-10)
		}
		now = now.Add(limit.Window / 1000 * time.Duration(rng.IntN(1000)) / 1000)
		key := keys[rng.IntN(busy)]
		s := alone[key]
		if s == nil {
			s = &limiter.State{Algorithm: a}
			alone[key] = s
		}
		n := int64(rng.IntN(4)) // 0 is a peek
		if rng.IntN(20) == 0 {
			n = 13 // never admitted
		}
		var got, want limiter.Decision
		switch what := rng.IntN(20); {
		case what < 2 && key == "": // refused
			continue
		case what == 0:
			if err := m.Reset(t.Context(), key, limit); err != nil {
				t.Fatal(err)
			}
			*s = limiter.State{Algorithm: a}
			continue
		case what == 1:
			var err error
			if got, err = m.Refund(t.Context(), key, limit, n); err != nil {
				t.Fatal(err)
			}
			want = s.Refund(now, limit, c, n)
		case what == 2:
			got, want = m.PeekAt(now, key, limit, n), s.Peek(now, limit, c, n)
		default:
			got, want = m.AllowAt(now, key, limit, n), s.Take(now, limit, c, n)
		}
		if a == limiter.SlidingLog || a == limiter.StreamCounter { // a Memory leaves these out
			want.Previous, want.Current, want.Weight, want.Estimate, want.Start, want.End = 0, 0, 0, 0, 0, 0
		}
		if a == limiter.FixedWindow { // it explains more of a key that it has not yet forgotten
			want.Previous = got.Previous
		}
		if got != want {
			t.Fatalf("seed %d, step %d, key %q, cost %d:\n got %+v\nwant %+v", seed, step, key, n, got, want)
		}
	}
	m.Sweep(now.Add(2*limit.Window + time.Minute))
	if held := m.Len(); held != 0 {
		t.Errorf("seed %d: %d keys are held after all fell silent", seed, held)
	}
}

// crowdOf returns so many keys, the first of which are all lengths around those that a
// table tells apart.
func crowdOf(n int) []string {
	all := []string{""}
	for length := 1; length < 300; length++ {
		all = append(all, strings.Repeat("k", length))
	}
	for i := len(all); i < n; i++ {
		all = append(all, fmt.Sprintf("%*d", 1+i%40, i))
	}
	return all
}

// TestMemoryKeepsWhatWasCharged asks, of a key that is full, what must change nothing, lets
// all be swept that may go, and looks again, also with a clock that has gone back to where
// it was: every answer is still that of a State.
func TestMemoryKeepsWhatWasCharged(t *testing.T) {
	t.Parallel()
	type question struct {
		name  string
		limit limiter.Limit
		n     int64
		after time.Duration
	}
	hour, second := limiter.Limit{Count: 10, Window: time.Hour}, limiter.Limit{Count: 10, Window: time.Second}
	for _, a := range limiter.Algorithms() {
		for _, tc := range []struct {
			limit limiter.Limit
			ask   question
		}{
			{hour, question{"cost 0 in a shorter window", limiter.Limit{Count: 10, Window: time.Millisecond}, 0, time.Second}},
			{hour, question{"more than the limit of a shorter window", limiter.Limit{Count: 10, Window: time.Millisecond}, 11, 0}},
			{hour, question{"a limit that is not valid", limiter.Limit{Count: 10}, 1, time.Second}},
			{hour, question{"denied", hour, 1, time.Minute}},
			{second, question{"more than the limit", second, 11, 1500 * time.Millisecond}},
			{second, question{"cost 0", second, 0, 1500 * time.Millisecond}},
		} {
			m, s := newMemory(t, a), limiter.State{Algorithm: a}
			if d := m.AllowAt(far, "key", tc.limit, 10); !d.Allowed || !s.Take(far, tc.limit, limiter.Convention{}, 10).Allowed {
				t.Fatalf("%s, %s: a new key denies", a, tc.ask.name)
			}
			now := far.Add(tc.ask.after)
			if d := m.AllowAt(now, "key", tc.ask.limit, tc.ask.n); d.Allowed && tc.ask.n > 0 {
				t.Fatalf("%s, %s: admitted", a, tc.ask.name)
			}
			m.Sweep(now.Add(min(tc.limit.Window, time.Minute) / 4))
			for _, back := range []limiter.Instant{far.Add(time.Millisecond), now} {
				got, want := m.PeekAt(back, "key", tc.limit, 1), s.Peek(back, tc.limit, limiter.Convention{}, 1)
				if got.Used != want.Used || got.Allowed != want.Allowed || got.RetryAfter != want.RetryAfter || got.ResetAfter != want.ResetAfter {
					t.Errorf("%s, after %s: at %v a peek says\n%+v and not\n%+v", a, tc.ask.name, back.Sub(far), got, want)
				}
			}
		}
	}
}

// TestMemoryCountsFromAnyInstant starts clocks where nothing says that they are odd: at zero,
// as those of tests do, and before it.
func TestMemoryCountsFromAnyInstant(t *testing.T) {
	t.Parallel()
	limit := limiter.Limit{Count: 5, Window: time.Second}
	for _, a := range limiter.Algorithms() {
		for _, start := range []limiter.Instant{0, 1, -1, -1_000_000, -62_135_596_800_000_000} {
			m, s := newMemory(t, a), limiter.State{Algorithm: a}
			admitted, taken := 0, 0
			for range 20 {
				if m.AllowAt(start, "key", limit, 1).Allowed {
					admitted++
				}
				if s.Take(start, limit, limiter.Convention{}, 1).Allowed {
					taken++
				}
			}
			if admitted != 5 || taken != 5 {
				t.Errorf("%s at %d: %d in memory and %d by a State are admitted, want 5", a, start, admitted, taken)
			}
		}
	}
}

// TestMemoryGivesRoomBack lets a key have a burst of very many requests once, and few from
// then on: what the burst needed does not stay with the key.
func TestMemoryGivesRoomBack(t *testing.T) {
	limit := limiter.Limit{Count: 1_000_000, Window: time.Second}
	for _, a := range []limiter.Algorithm{limiter.SlidingLog, limiter.StreamCounter} {
		for _, pause := range []time.Duration{1100 * time.Millisecond, 300 * time.Millisecond} { // empty in between, and not
			m := newMemory(t, a)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			now := far
			for range volume(500_000) {
				now++
				m.AllowAt(now, "key", limit, 1)
			}
			for range 400 {
				now = now.Add(pause)
				m.AllowAt(now, "key", limit, 1)
			}
			m.Sweep(now)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 1<<20 {
				t.Errorf("%s, a request each %v: %d KB stay after a burst", a, pause, kept>>10)
			}
			runtime.KeepAlive(m)
		}
	}
}

// TestMemoryFindsTheOneThatLeaves denies requests at a log that charges them, and so holds
// far more than the limit: what must leave first is the same as in a State.
func TestMemoryFindsTheOneThatLeaves(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	limit, c := limiter.Limit{Count: 10, Window: time.Second}, limiter.Convention{Denied: convention.Charged}
	for _, a := range []limiter.Algorithm{limiter.SlidingLog, limiter.StreamCounter} {
		m, s, now := newMemory(t, a, limiter.WithConvention(c)), limiter.State{Algorithm: a}, far
		for step := range volume(3000) {
			now = now.Add(time.Duration(rng.IntN(30)) * time.Millisecond)
			n := 1 + int64(rng.IntN(4))
			if rng.IntN(10) == 0 { // the limit is lowered and raised
				limit.Count = 5 + int64(rng.IntN(100))
			}
			got, want := m.AllowAt(now, "key", limit, n), s.Take(now, limit, c, n)
			if got.Allowed != want.Allowed || got.Used != want.Used || got.RetryAfter != want.RetryAfter {
				t.Fatalf("%s, step %d, cost %d:\n got %+v\nwant %+v", a, step, n, got, want)
			}
		}
	}
}

// TestMemoryLogIsThatOfAState lets a log grow and shrink through all the forms that it has in
// memory, with costs of one unit and more, refunds, silences and, while nothing has left the
// window, a clock that jumps back.
func TestMemoryLogIsThatOfAState(t *testing.T) {
	t.Parallel()
	for _, a := range []limiter.Algorithm{limiter.SlidingLog, limiter.StreamCounter} {
		for _, jumps := range []bool{false, true} {
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 0))
			limit, pace := limiter.Limit{Count: 3000, Window: time.Second}, int64(2*time.Millisecond)
			if jumps {
				limit.Window = time.Hour
			}
			now, several := far, 0
			m, s := newMemory(t, a, limiter.WithClock(func() limiter.Instant { return now })), limiter.State{Algorithm: a}
			for step := range volume(20_000) {
				if step%1000 == 0 {
					pace = []int64{20_000, 200_000, 2_000_000, 50_000_000}[rng.IntN(4)] // nanoseconds
					several = []int{0, 0, 0, 50}[rng.IntN(4)]
					m.Sweep(now)
				}
				switch {
				case jumps && rng.IntN(50) == 0:
					now = now.Add(-time.Duration(rng.Int64N(pace)))
				case jumps:
					now = now.Add(time.Duration(rng.Int64N(pace) / 100))
				case rng.IntN(3000) == 0:
					now = now.Add(2500 * time.Millisecond)
				default:
					now = now.Add(time.Duration(rng.Int64N(pace)))
				}
				n := int64(1)
				if several > 0 && rng.IntN(several) == 0 {
					n = 1 + rng.Int64N(3)
				}
				var got, want limiter.Decision
				if rng.IntN(40) == 0 {
					var err error
					if got, err = m.Refund(t.Context(), "key", limit, n); err != nil {
						t.Fatal(err)
					}
					want = s.Refund(now, limit, limiter.Convention{}, n)
				} else {
					got, want = m.AllowAt(now, "key", limit, n), s.Take(now, limit, limiter.Convention{}, n)
				}
				if got.Allowed != want.Allowed || got.Used != want.Used || got.RetryAfter != want.RetryAfter || got.ResetAfter != want.ResetAfter {
					t.Fatalf("%s, seed %d, jumps %v, step %d, cost %d:\n got %+v\nwant %+v", a, seed, jumps, step, n, got, want)
				}
			}
		}
	}
}
