package e2e

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// monitor listens to every command that a server runs.
type monitor struct {
	mu    sync.Mutex
	lines []string
}

// watch starts listening; it ends with the test.
func (s redisServer) watch(t testing.TB) *monitor {
	t.Helper()
	c, err := net.DialTimeout("tcp", s.Addr(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(c, 1<<20)
	if line, err := r.ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatalf("MONITOR answers %q, %v", line, err)
	}
	m := &monitor{}
	go func() {
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			m.mu.Lock()
			m.lines = append(m.lines, line)
			m.mu.Unlock()
		}
	}()
	return m
}

// commands returns the names of the commands seen so far, in lower case, with those
// that scripts ran: a name for each line.
func (m *monitor) commands() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, line := range m.lines {
		// +1690000000.000000 [0 127.0.0.1:50000] "GET" "key"
		_, rest, found := strings.Cut(line, "] \"")
		name, _, ended := strings.Cut(rest, "\"")
		if found && ended {
			names = append(names, strings.ToLower(name))
		}
	}
	return names
}

// writing returns the commands seen so far that the server itself flags as writing,
// and scripts that may write.
func (m *monitor) writing(t testing.TB, s redisServer) []string {
	t.Helper()
	flags := map[string]bool{}
	var bad []string
	for _, name := range m.commands() {
		writes, asked := flags[name]
		if !asked {
			info := s.cli(t, "COMMAND", "INFO", name)
			writes = strings.Contains(info, "\nwrite\n") || name == "eval" || name == "evalsha" || name == "script" || name == "function" || name == "fcall"
			flags[name] = writes
		}
		if writes {
			bad = append(bad, name)
		}
	}
	return bad
}
