package servertest

import (
	"bufio"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Monitor collects the names of the commands that a server is sent.
type Monitor struct {
	mu   sync.Mutex
	seen map[string]bool
}

// Monitor begins to collect, until the test ends.
func (s *Server) Monitor() *Monitor {
	s.t.Helper()
	cmd := exec.Command("redis-cli", "-p", strconv.Itoa(s.Port), "MONITOR")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || lines.Text() != "OK" {
		s.t.Fatalf("MONITOR answered %q", lines.Text())
	}
	m := &Monitor{seen: map[string]bool{}}
	go func() {
		for lines.Scan() {
			// 1700000000.123456 [0 127.0.0.1:5000] "config" "get" "maxmemory"
			_, rest, _ := strings.Cut(lines.Text(), "] \"")
			words := strings.Split(strings.ToLower(strings.TrimSuffix(rest, `"`)), `" "`)
			if words[0] == "config" && len(words) > 1 { // its subcommands differ in what they do
				words[0] += "|" + words[1]
			}
			m.mu.Lock()
			m.seen[words[0]] = true
			m.mu.Unlock()
		}
	}()
	return m
}

// Names returns the names of the commands that were seen, in order.
func (m *Monitor) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.seen))
}
