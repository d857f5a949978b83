package servertest

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
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

// Monitor returns what lists the names of the commands that the server is sent from now on, in order, by its own account.
func (s *Server) Monitor() (names func() []string) {
	counts := func() map[string]int {
		all := map[string]int{}
		for line := range strings.Lines(s.CLI("INFO", "commandstats")) { // cmdstat_config|get:calls=1,usec=…
			name, said, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
			if command, _, _ := strings.Cut(name, "|"); command != "config" { // whose subcommands differ in what they do
				name = command
			}
			calls := 0
			_, _ = fmt.Sscanf(said, "calls=%d", &calls)
			all[name] += calls
		}
		return all
	}
	before := counts()
	return func() []string {
		after := counts()
		maps.DeleteFunc(after, func(name string, calls int) bool { return calls == before[name] })
		return slices.Sorted(maps.Keys(after))
	}
}
