package servertest

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// Pulse measures when the server, or the test itself, stood still: what a test sees then may be the
// machine's doing.
type Pulse struct {
	mu     sync.Mutex
	latest time.Time // answer to PING
	gaps   []gap     // between two answers that are Standstill or more apart, in order
}

// gap is a time without an answer.
type gap struct{ from, to time.Time }

// beat is the time between an answer to PING and the next PING.
const beat = 10 * time.Millisecond

// Pulse begins to measure, on a connection of its own, until the test ends.
func (s *Server) Pulse() *Pulse {
	s.t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	p := &Pulse{latest: time.Now()}
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
func (p *Pulse) answered(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.Sub(p.latest) >= Standstill {
		p.gaps = append(p.gaps, gap{p.latest, at})
	}
	p.latest = at
}

// StoodStill reports whether for Standstill no answer came within the time between from and to, or across
// one of its ends.
func (p *Pulse) StoodStill(from, to time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range slices.Concat(p.gaps, []gap{{p.latest, time.Now()}}) {
		if g.to.Sub(g.from) >= Standstill && g.to.After(from) && g.from.Before(to) {
			return true
		}
	}
	return false
}
