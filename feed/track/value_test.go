package track

import (
	"testing"
	"time"

	"ratescope/limiter"
)

// TestABurstIsCountedBeforeItLeaks: a burst into an empty bucket counts in full at the next
// reading, though some of it leaked by then. GCRA keeps no time of the burst, so that what has
// leaked is missing: its rate is a lower bound.
func TestABurstIsCountedBeforeItLeaks(t *testing.T) {
	limit := limiter.Limit{Count: 100, Window: time.Minute} // 0.6 s a unit
	for algorithm, want := range map[limiter.Algorithm]int64{limiter.TokenBucket: 5, limiter.LeakyBucket: 5, limiter.GCRA: 3} {
		l := New("k", nil, false, nil)
		l.target.Algorithm, l.target.Limit, l.target.Window, l.target.LimitKnown = algorithm, limit, limit.Window, true
		state := limiter.State{Algorithm: algorithm}
		state.Take(noon, limit, l.target.Convention, 1)
		b := &valueDecoder{last: state.Clone(), known: true}
		l.since = noon.Add(10 * time.Second)
		for range 5 {
			state.Take(noon.Add(11*time.Second), limit, l.target.Convention, 1)
		}
		got := int64(0)
		for _, a := range b.rise(noon.Add(12500*time.Millisecond), l, state) {
			got += a.N
		}
		if got != want {
			t.Errorf("%s: a burst of 5 counts as %d 1.5 s later, want %d", algorithm, got, want)
		}
	}
}
