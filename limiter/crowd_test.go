package limiter_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
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
	for step := range 40_000 {
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
			if err := m.Reset(t.Context(), key); err != nil {
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
