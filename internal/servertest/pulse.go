package servertest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
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

// Standstill is how long a server gives no answer before the program says that it is away. Where a test has
// measured less, the machine has not stood still long enough to be to blame.
const Standstill = time.Second

// Anew makes attempts until one of them was not upset by a machine that stood still, and fails the test if
// five were. An attempt brings all that belongs to it, and reports true, without a verdict, where it has
// measured that it was upset.
func Anew(t testing.TB, attempt func() (upset bool)) {
	t.Helper()
	const most = 5
	for range most {
		if !attempt() {
			return
		}
		t.Log("anew: the machine stood still")
	}
	t.Fatalf("the machine stood still in each of %d attempts", most)
}

// Idle returns how long a core has had nothing to do since the machine was started; 0 where the
// system does not tell.
func Idle(core int) time.Duration { return spent("cpu"+strconv.Itoa(core), 3) }

// Stolen returns how long all cores together have had work to do, since the machine was started,
// while the host of a virtual machine ran something else; 0 where the system does not tell.
func Stolen() time.Duration { return spent("cpu", 7) }

// spent returns a column of the line of /proc/stat with a name, which counts hundredths of a second.
func spent(name string, column int) time.Duration {
	text, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > column+1 && f[0] == name {
			ticks, _ := strconv.ParseInt(f[column+1], 10, 64)
			return time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return 0
}
