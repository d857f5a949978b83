package servertest

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Replies are what a fake server answers to commands, by their names in lower case.
type Replies map[string]func(io.Writer)

// Fake starts a server that is no Redis: it answers the commands that are listed with what
// is listed, HELLO with an error and all others with +OK. It returns its URL.
func Fake(t testing.TB, replies Replies) string {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listen.Close() })
	go func() {
		for {
			c, err := listen.Accept()
			if err != nil {
				return
			}
			go answer(c, replies)
		}
	}()
	return "redis://" + listen.Addr().String()
}

// answer serves one connection until it ends.
func answer(c net.Conn, replies Replies) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		var arguments int
		if _, err := fmt.Sscanf(lines.Text(), "*%d", &arguments); err != nil {
			return
		}
		name := ""
		for i := range 2 * arguments { // a length and a value each
			if lines.Scan(); i == 1 {
				name = strings.ToLower(lines.Text())
			}
		}
		switch reply := replies[name]; {
		case reply != nil:
			reply(c)
		case name == "hello":
			_, _ = io.WriteString(c, "-ERR unknown command\r\n")
		default:
			_, _ = io.WriteString(c, "+OK\r\n")
		}
	}
}

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
