package watch

import (
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/limiter"
)

// TestClock: however slow and lopsided the ways are, the true offset lies within the
// uncertainty of the estimate, which is that of the fastest round trip.
func TestClock(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, truth := range []time.Duration{0, 1234567 * time.Microsecond, -40 * time.Second} {
		var c clock
		if c.uncertainty() != 0 {
			t.Errorf("the uncertainty before the first answer is %v, want 0", c.uncertainty())
		}
		at := time.Unix(1_795_000_000, 0)
		for range 500 {
			there, back := time.Duration(r.IntN(30_000))*time.Microsecond, time.Duration(r.IntN(30_000))*time.Microsecond
			answer := at.Add(there).Add(truth)
			c.observe(at, at.Add(there+back), limiter.InstantOf(answer), true)
			if off := (c.offset - truth).Abs(); off > c.uncertainty()+time.Microsecond {
				t.Fatalf("the offset is %v off, and %v is said", off, c.uncertainty())
			}
			at = at.Add(10 * time.Millisecond) // all within boundsLast
		}
		if c.uncertainty() > 3*time.Millisecond {
			t.Errorf("after 500 round trips of 0 to 60 ms the uncertainty is %v", c.uncertainty())
		}
	}
}
