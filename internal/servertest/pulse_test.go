package servertest

import (
	"testing"
	"time"
)

// TestPulse: a standstill is told from its begin to its end, and no shorter pause is one.
func TestPulse(t *testing.T) {
	begun := time.Now()
	after := func(s float64) time.Time { return begun.Add(time.Duration(s * float64(time.Second))) }
	p := &Pulse{latest: begun}
	for _, at := range []float64{0.5, 1.4, 3.4, 4, 3600} { // from 1.4 to 3.4 it stood still, and from 4 on
		p.answered(after(at))
	}
	for _, c := range []struct {
		from, to float64
		still    bool
	}{{0, 1.4, false}, {0, 1.5, true}, {2, 2.1, true}, {3.3, 4, true}, {3.5, 4, false}, {3.5, 4.1, true}} {
		if got := p.StoodStill(after(c.from), after(c.to)); got != c.still {
			t.Errorf("from %v s to %v s: %v, want %v", c.from, c.to, got, c.still)
		}
	}
}
