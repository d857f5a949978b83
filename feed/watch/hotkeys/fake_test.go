package hotkeys

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// fake is a server that answers commands with replies as they were on the wire. A command
// that is not listed is answered +OK.
func fake(t testing.TB, protocol int, answers map[string]string) *redis.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go converse(c, answers)
		}
	}()
	c := redis.NewClient(&redis.Options{Addr: l.Addr().String(), Protocol: protocol, MaxRetries: -1, DisableIdentity: true, MaintNotificationsConfig: undisturbed})
	t.Cleanup(func() { c.Close() })
	return c
}

func converse(c net.Conn, answers map[string]string) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		words, err := command(in)
		if err != nil {
			return
		}
		answer, ok := answers[words]
		switch {
		case ok:
		case strings.HasPrefix(words, "hello"):
			answer = "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n"
		default:
			answer = "+OK\r\n"
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

// command reads an array of bulk strings.
func command(in *bufio.Reader) (string, error) {
	head, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(head, "*") {
		return "", fmt.Errorf("%q: %w", head, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(head[1:]))
	if err != nil {
		return "", err
	}
	words := make([]string, n)
	for i := range words {
		if _, err := in.ReadString('\n'); err != nil {
			return "", err
		}
		word, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		words[i] = strings.ToLower(strings.TrimSpace(word))
	}
	return strings.Join(words, " "), nil
}

// wire writes a value as it is on the wire: strings, ints, nil, slices as arrays, and pairs
// as maps.
func wire(v any) string {
	switch v := v.(type) {
	case nil:
		return "$-1\r\n"
	case string:
		return fmt.Sprintf("$%d\r\n%s\r\n", len(v), v)
	case int:
		return fmt.Sprintf(":%d\r\n", v)
	case error:
		return "-" + v.Error() + "\r\n"
	case pairs:
		text := fmt.Sprintf("%%%d\r\n", len(v)/2)
		for _, x := range v {
			text += wire(x)
		}
		return text
	case []any:
		text := fmt.Sprintf("*%d\r\n", len(v))
		for _, x := range v {
			text += wire(x)
		}
		return text
	}
	panic(fmt.Sprintf("%T", v))
}

// pairs is a map in its order.
type pairs []any
