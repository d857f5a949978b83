package redisstore

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"ratescope/internal/servertest"
)

// spread starts a proxy that sends each script to one of its servers by the end of the first key, and INFO to the
// first server if it may. It returns its address.
func spread(t *testing.T, info bool, servers ...*servertest.Server) string {
	return spreadBy(t, func(key string) int { return int(key[len(key)-1]) + int(key[len(key)-2]) }, info, servers...)
}

// byBeginning tells keys apart by what follows the usual prefix: a digit, or another character.
func byBeginning(key string) int {
	if first := strings.TrimPrefix(key, DefaultPrefix)[0]; '0' <= first && first <= '9' {
		return int(first)
	}
	return 0
}

// spreadBy starts a proxy that sends each script to one of its servers by the first key, as twemproxy and Envoy do.
func spreadBy(t *testing.T, by func(key string) int, info bool, servers ...*servertest.Server) string {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listen.Close() })
	go func() {
		for {
			c, err := listen.Accept()
			if err != nil {
				return
			}
			go forward(c, by, info, servers)
		}
	}()
	return listen.Addr().String()
}

// forward serves one connection of a proxy until it ends.
func forward(c net.Conn, by func(string) int, info bool, servers []*servertest.Server) {
	defer func() { _ = c.Close() }()
	up, back := make([]net.Conn, len(servers)), make([]*bufio.Reader, len(servers))
	for i, s := range servers {
		up[i], _ = net.Dial("tcp", s.Addr())
		defer func() { _ = up[i].Close() }()
		back[i] = bufio.NewReader(up[i])
	}
	for in := bufio.NewReader(c); ; {
		words, err := value(in)
		if err != nil {
			return
		}
		lines := strings.Split(words, "\r\n") // a length and a value each, after their number
		to, answer := 0, "-ERR unknown command\r\n"
		if script := strings.HasPrefix(strings.ToLower(lines[2]), "eval"); script || info && lines[2] == "info" {
			if script {
				to = by(lines[8]) % len(up)
			}
			_, _ = io.WriteString(up[to], words)
			if answer, err = value(back[to]); err != nil {
				return
			}
		}
		_, _ = io.WriteString(c, answer)
	}
}

// value reads one value of the protocol as it is.
func value(from *bufio.Reader) (string, error) {
	raw, err := from.ReadString('\n')
	n := 0
	if err != nil || strings.ContainsAny(raw[:1], "+-:") {
		return raw, err
	}
	if _, err = fmt.Sscan(raw[1:], &n); err != nil || n < 0 {
		return raw, err
	}
	if raw[0] == '$' {
		text := make([]byte, n+2)
		_, err = io.ReadFull(from, text)
		return raw + string(text), err
	}
	for range n {
		one, err := value(from)
		if err != nil {
			return raw, err
		}
		raw += one
	}
	return raw, nil
}
