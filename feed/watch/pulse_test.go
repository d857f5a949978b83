package watch_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// pulse measures when the server, or the test itself, stood still: what a test sees then may be the
// machine's doing.
type pulse struct {
	mu     sync.Mutex
	latest time.Time // answer to PING
	gaps   []gap     // between two answers that are standstill or more apart, in order
}

// gap is a time without an answer.
type gap struct{ from, to time.Time }

// beat is the time between an answer to PING and the next PING.
const beat = 10 * time.Millisecond

// startPulse begins to measure, on a connection of its own, until the test ends.
func startPulse(t *testing.T, s *servertest.Server) *pulse {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p := &pulse{latest: time.Now()}
	go func() {
		for answers := bufio.NewScanner(c); ; time.Sleep(beat) {
			if _, err := fmt.Fprint(c, "PING\r\n"); err != nil || !answers.Scan() {
				return
			}
			p.answered(time.Now())
		}
	}()
	return p
}

// answered takes an answer.
func (p *pulse) answered(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.Sub(p.latest) >= standstill {
		p.gaps = append(p.gaps, gap{p.latest, at})
	}
	p.latest = at
}

// stoodStill reports whether for standstill no answer came within the time between from and to, or across
// one of its ends.
func (p *pulse) stoodStill(from, to time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range slices.Concat(p.gaps, []gap{{p.latest, time.Now()}}) {
		if g.to.Sub(g.from) >= standstill && g.to.After(from) && g.from.Before(to) {
			return true
		}
	}
	return false
}

// TestPulse: a standstill is told from its begin to its end, and no shorter pause is one.
func TestPulse(t *testing.T) {
	begun := time.Now()
	after := func(s float64) time.Time { return begun.Add(time.Duration(s * float64(time.Second))) }
	p := &pulse{latest: begun}
	for _, at := range []float64{0.5, 1.4, 3.4, 4, 3600} { // from 1.4 to 3.4 it stood still, and from 4 on
		p.answered(after(at))
	}
	for _, c := range []struct {
		from, to float64
		still    bool
	}{{0, 1.4, false}, {0, 1.5, true}, {2, 2.1, true}, {3.3, 4, true}, {3.5, 4, false}, {3.5, 4.1, true}} {
		if got := p.stoodStill(after(c.from), after(c.to)); got != c.still {
			t.Errorf("from %v s to %v s: %v, want %v", c.from, c.to, got, c.still)
		}
	}
}
