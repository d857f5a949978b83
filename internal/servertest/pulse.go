package servertest

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"time"
)

// Pulse measures for how long the server, or the test itself, stood still: what a test then sees may be
// the machine's doing.
type Pulse struct {
	mu      sync.Mutex
	latest  time.Time // answer to PING
	longest time.Duration
}

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
			p.mu.Lock()
			p.longest, p.latest = max(p.longest, time.Since(p.latest)), time.Now()
			p.mu.Unlock()
		}
	}()
	return p
}

// Longest returns the longest time without an answer so far, the present one included.
func (p *Pulse) Longest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.longest, time.Since(p.latest))
}
