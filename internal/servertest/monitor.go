package servertest

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
)

// Monitor collects the names of the commands that a server is sent, read raw because
// go-redis's own Monitor needs RESP2 and a client of its own.
type Monitor struct {
	conn net.Conn
	mu   sync.Mutex
	seen map[string]int
}

func (s *Server) Monitor() *Monitor {
	s.t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		s.t.Fatal(err)
	}
	m := &Monitor{conn: c, seen: map[string]int{}}
	fmt.Fprint(c, "MONITOR\r\n")
	lines := bufio.NewScanner(c)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || lines.Text() != "+OK" {
		s.t.Fatalf("MONITOR answered %q", lines.Text())
	}
	go func() {
		for lines.Scan() {
			// +1700000000.123456 [0 127.0.0.1:5000] "set" "a" "b"
			_, rest, _ := strings.Cut(lines.Text(), "] \"")
			name, rest, _ := strings.Cut(rest, "\"")
			if strings.EqualFold(name, "config") { // its subcommands differ in what they do
				sub, _, _ := strings.Cut(strings.TrimPrefix(rest, " \""), "\"")
				name += "|" + sub
			}
			m.mu.Lock()
			m.seen[strings.ToLower(name)]++
			m.mu.Unlock()
		}
	}()
	s.t.Cleanup(func() { c.Close() })
	return m
}

// Names returns the names of the commands that were seen, in order.
func (m *Monitor) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for n := range m.seen {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
