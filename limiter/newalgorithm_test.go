package limiter

import (
	"testing"
	"time"
)

// decideCooldown is the arithmetic of a made-up algorithm: one request a window, whatever
// the limit. It keeps the last one in at.
func (q *request) decideCooldown(d *Decision, k packed) (packed, bool) {
	free := k == packed{} || q.now >= k.at+Instant(q.w)
	charged := q.settle(d, free || q.n == 0)
	if charged {
		k, free = packed{at: q.now}, false
	}
	if !free {
		d.Used, d.ResetAfter = 1, (k.at + Instant(q.w)).Sub(q.now)
	}
	if !d.Allowed {
		d.RetryAfter = d.ResetAfter
	}
	q.close(d)
	return k, charged
}

// TestNewAlgorithm adds an algorithm as a contributor would, by an entry, and uses it by
// its name, in a State and in memory.
func TestNewAlgorithm(t *testing.T) {
	before := algorithms
	defer func() { algorithms = before }()
	algorithms = append(algorithms[:len(algorithms):len(algorithms)],
		arithmetic{name: "cooldown", kind: kindArrival, decide: (*request).decideCooldown})
	a, err := ParseAlgorithm("cooldown")
	if err != nil || a.arithmetic().kind != kindArrival || a.Bursts() {
		t.Fatalf("%v of kind %v, %v", a, a.arithmetic().kind, err)
	}
	now := InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	m, err := NewMemory(a, WithClock(func() Instant { return now }))
	if err != nil {
		t.Fatal(err)
	}
	s, limit := State{Algorithm: a}, Limit{Count: 3, Window: time.Minute}
	for i, want := range []struct {
		after   time.Duration
		allowed bool
		retry   time.Duration
	}{{0, true, 0}, {time.Second, false, 59 * time.Second}, {58 * time.Second, false, time.Second}, {time.Second, true, 0}} {
		now = now.Add(want.after)
		inState := s.Take(now, limit, Convention{}, 1)
		inMemory, err := m.AllowN(t.Context(), "k", limit, 1)
		if err != nil || inState != inMemory || inMemory.Allowed != want.allowed || inMemory.RetryAfter != want.retry {
			t.Errorf("request %d: %+v in a State, %+v in memory, %v; want %+v", i+1, inState, inMemory, err, want)
		}
	}
}
