package servertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

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

// Key is a Redis key as a fixture of a limiter has it; see feed/decode/testdata/record/README.md.
type Key struct {
	Key   json.RawMessage `json:"key"`
	Type  string          `json:"type"`
	TTL   float64         `json:"ttl_ms"`
	Value json.RawMessage `json:"value"`
}

// Text reads a string, or {"base64": "..."} in its place.
func Text(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b struct {
		Base64 string `json:"base64"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return strings.Trim(string(raw), `"`) // a bare number
	}
	out, err := base64.StdEncoding.DecodeString(b.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Restore writes the key and returns its name.
func (k Key) Restore(t testing.TB, p redis.Pipeliner) (name string) {
	t.Helper()
	ctx := t.Context()
	name = Text(t, k.Key)
	switch k.Type {
	case "string":
		p.Set(ctx, name, Text(t, k.Value), 0)
	case "hash":
		var fields map[string]json.RawMessage
		unmarshal(t, k.Value, &fields)
		for f, v := range fields {
			p.HSet(ctx, name, f, Text(t, v))
		}
	case "zset":
		var pairs [][2]json.RawMessage
		unmarshal(t, k.Value, &pairs)
		for _, e := range pairs {
			p.Do(ctx, "ZADD", name, Text(t, e[1]), Text(t, e[0]))
		}
	case "list", "set":
		var elements []json.RawMessage
		unmarshal(t, k.Value, &elements)
		for _, e := range elements {
			p.Do(ctx, map[string]string{"list": "RPUSH", "set": "SADD"}[k.Type], name, Text(t, e))
		}
	case "stream":
		var entries [][2]json.RawMessage
		unmarshal(t, k.Value, &entries)
		for _, e := range entries {
			var fields map[string]json.RawMessage
			unmarshal(t, e[1], &fields)
			var values []string
			for f, v := range fields {
				values = append(values, f, Text(t, v))
			}
			p.XAdd(ctx, &redis.XAddArgs{Stream: name, ID: Text(t, e[0]), Values: values})
		}
	default:
		t.Fatalf("%s: type %q", name, k.Type)
	}
	if k.TTL > 0 {
		p.PExpire(ctx, name, time.Duration(math.Round(k.TTL))*time.Millisecond)
	}
	return name
}

func unmarshal(t testing.TB, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%v: %.80s", err, raw)
	}
}
