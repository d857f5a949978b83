package connect_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
)

// TestHostileReplies holds a client to the bounds of a reply: each of these ended the
// program or took gigabytes while go-redis read them by itself.
func TestHostileReplies(t *testing.T) {
	endless := func(head, piece string) func(io.Writer) {
		return func(w io.Writer) {
			_, err := io.WriteString(w, head)
			for err == nil {
				_, err = io.WriteString(w, piece)
			}
		}
	}
	says := func(text string) func(io.Writer) {
		return func(w io.Writer) { io.WriteString(w, text) }
	}
	for name, tc := range map[string]struct {
		reply func(io.Writer)
		want  string
	}{
		"a length near 2^63":       {says("$9223372036854775806\r\n"), "announces a string of 9223372036854775806 bytes"},
		"a length beyond 2^63":     {says("$92233720368547758070\r\n"), "announces a length of"},
		"a length below -1":        {says("$-2\r\n"), "announces a length of"},
		"six gigabytes":            {says("$6000000000\r\n"), "announces a string of 6000000000 bytes"},
		"an error without an end":  {endless("-ERR ", strings.Repeat("x", 64<<10)), "a line of more than"},
		"a header without an end":  {endless("*", strings.Repeat("1", 64<<10)), "a line of more than"},
		"a billion elements":       {says("*1000000000\r\n"), "more than 1048576 elements"},
		"elements in elements":     {endless("", "*500000\r\n"), "more than 1048576 elements"},
		"arrays in arrays":         {endless("", "*1\r\n"), "nests more than"},
		"a map near 2^63":          {says("%4611686018427387905\r\n"), "more than 1048576 elements"},
		"attributes in attributes": {endless("", "|1\r\n"), "nests more than"},
		"attributes in a row":      {endless("", "|0\r\n"), "attributes with one reply"},
		"strings without an end":   {endless("*1000000\r\n", "$1000000\r\n"+strings.Repeat("x", 1000000)+"\r\n"), "more than 128 MB"},
		"no Redis":                 {says("HTTP/1.1 400 Bad Request\r\n\r\n"), "a value of type 'H'"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := connect.Parse([]string{fake(t, replies{"zrange": tc.reply})}, connect.TLSFiles{})
			if err != nil {
				t.Fatal(err)
			}
			c := e.Open("test", 1, &connect.Guard{})
			defer c.Close()
			// 128 MB take a busy machine longer than a command may.
			patient := c.(*redis.Client).WithTimeout(time.Minute)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = patient.Do(context.Background(), "zrange").Err()
			runtime.ReadMemStats(&after)
			if reply := (*connect.ReplyError)(nil); !errors.As(err, &reply) || !strings.Contains(reply.Why, tc.want) {
				t.Errorf("the client says %v, want %q", err, tc.want)
			}
			if text := connect.Explain(err, e.Shown); !strings.Contains(text, tc.want) || !strings.Contains(text, "check the address") {
				t.Errorf("the sentence is %q", text)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 400 {
				t.Errorf("the reply took %d MB", took)
			}
		})
	}
}

// TestRepliesPassWhole: bounds change nothing of what a server may say, in whatever pieces
// it comes.
func TestRepliesPassWhole(t *testing.T) {
	reply := "$" + fmt.Sprint(1<<20) + "\r\n" + strings.Repeat("x\r\n$", 1<<18) + "\r\n"
	for piece, times := range map[int]int{1 << 10: 1, 4093: 1, len(reply): 130} { // 130 are more than may be outstanding at once
		e, err := connect.Parse([]string{fake(t, replies{"info": func(w io.Writer) {
			for rest := reply; rest != ""; rest = rest[min(piece, len(rest)):] {
				io.WriteString(w, rest[:min(piece, len(rest))])
			}
		}})}, connect.TLSFiles{})
		if err != nil {
			t.Fatal(err)
		}
		c := e.Open("test", 1, &connect.Guard{})
		for range times {
			text, err := c.Info(context.Background()).Result()
			if err != nil || text != reply[len("$1048576\r\n"):len(reply)-2] {
				t.Fatalf("pieces of %d: %d bytes, %v", piece, len(text), err)
			}
		}
		c.Close()
	}
}

// replies are what a fake server answers to commands, by their names in lower case.
type replies map[string]func(io.Writer)

// fake starts a server that is no Redis: it answers the commands that are listed with what
// is listed, HELLO with an error and all others with +OK. It returns its URL.
func fake(t testing.TB, to replies) string {
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
			go answer(c, to)
		}
	}()
	return "redis://" + listen.Addr().String()
}

// answer serves one connection until it ends.
func answer(c net.Conn, to replies) {
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
		switch reply := to[name]; {
		case reply != nil:
			reply(c)
		case name == "hello":
			_, _ = io.WriteString(c, "-ERR unknown command\r\n")
		default:
			_, _ = io.WriteString(c, "+OK\r\n")
		}
	}
}
