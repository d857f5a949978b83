package bench_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/bench"
)

// memory is a limiter of this program as a subject.
type memory struct {
	algorithm limiter.Algorithm
	terms     limiter.Convention
	limit     limiter.Limit
	now       limiter.Instant
	l         *limiter.Memory
}

func (m *memory) Reset() (err error) {
	m.l, err = limiter.NewMemory(m.algorithm, limiter.WithConvention(m.terms),
		limiter.WithClock(func() limiter.Instant { return m.now }))
	return err
}

func (m *memory) Admit(at limiter.Instant, cost int64) bench.Answer {
	m.now = at
	d, err := m.l.AllowN(context.Background(), "k", m.limit, cost)
	return bench.Answer{Admitted: d.Allowed, Err: err}
}

// TestOwn: every algorithm of this program is named with its terms, keeps what it promises, and has the worst
// case that its documentation says.
func TestOwn(t *testing.T) {
	ten := limiter.Limit{Count: 10, Window: 10 * time.Second}
	hundred := limiter.Limit{Count: 100, Window: time.Minute}
	first, exact := limiter.Convention{Alignment: convention.FirstRequest}, limiter.Convention{Rounding: convention.Exact}
	for _, c := range []struct {
		algorithm limiter.Algorithm
		terms     limiter.Convention
		limit     limiter.Limit
		name      limiter.Algorithm
		worst     int64
	}{
		{limiter.FixedWindow, limiter.Convention{}, ten, limiter.FixedWindow, 20},
		{limiter.FixedWindow, first, ten, limiter.FixedWindow, 19},
		{limiter.SlidingLog, limiter.Convention{}, ten, limiter.SlidingLog, 10},
		{limiter.SlidingLog, limiter.Convention{Edge: convention.Closed}, ten, limiter.SlidingLog, 10},
		{limiter.SlidingLog, limiter.Convention{Denied: convention.Charged}, ten, limiter.SlidingLog, 10},
		{limiter.StreamCounter, limiter.Convention{}, ten, limiter.SlidingLog, 10}, // its answers are a log's
		{limiter.SlidingWindow, exact, hundred, limiter.SlidingWindow, 199},
		{limiter.SlidingWindow, limiter.Convention{}, hundred, limiter.SlidingWindow, 200},
		{limiter.SlidingWindow, limiter.Convention{Rounding: convention.Nearest}, ten, limiter.SlidingWindow, 20},
		{limiter.GCRA, limiter.Convention{}, ten, limiter.GCRA, 19},
		{limiter.TokenBucket, limiter.Convention{}, ten, limiter.GCRA, 19},
		{limiter.LeakyBucket, limiter.Convention{}, ten, limiter.GCRA, 19},
		{limiter.TokenBucket, limiter.Convention{Refill: convention.Interval}, ten, limiter.FixedWindow, 19}, // anchored anew when full
	} {
		t.Run(fmt.Sprint(c.algorithm, c.terms), func(t *testing.T) {
			r, err := bench.Check(&memory{algorithm: c.algorithm, terms: c.terms, limit: c.limit}, bench.Options{Limit: c.limit, Cost: true})
			if err != nil {
				t.Fatal(err)
			}
			id := r.Identity
			if id.Algorithm != c.name || !id.Exact || r.Limit.Count != c.limit.Count || r.Limit.Window != c.limit.Window {
				t.Errorf("named %v %+v", r.Name(), id)
			}
			if id.Algorithm == c.algorithm && id.Terms.Edge != c.terms.Edge {
				t.Errorf("edge %v", id.Terms)
			}
			if r.Worst.Admitted != c.worst {
				t.Errorf("worst %d: %s, want %d", r.Worst.Admitted, bench.Words(r.Worst.Steps), c.worst)
			}
			if !r.OK() {
				t.Errorf("%+v", r.Findings)
			}
		})
	}
}
