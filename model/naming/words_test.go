package naming_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/naming"
)

// TestTemplate writes names as rules do, by what differs among them.
func TestTemplate(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 23, 22, 14, 37, 0, time.UTC))
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"rl:alice:202611232214"}, "rl:{who}:{window:%Y%m%d%H%M}"},
		{[]string{"throttle/2026-11-23T22:14/203.0.113.7"}, "throttle/{window:%Y-%m-%dT%H:%M}/{who}"},
		{[]string{"api:v2:tenant:17:user:42"}, "api:v2:tenant:*:user:{who}"},
		{[]string{"user:alice:requests", "user:bob:requests"}, "user:{who}:requests"},
		{[]string{"user:alice:requests"}, "user:{who}:requests"},
		{[]string{"{api:77}:hits"}, "{api:{who}}:hits"},
		{[]string{"w:1795472100:alice"}, "w:{window:end.s}:{who}"},
		{[]string{"rate:user0:29924534", "rate:user1:29924534", "rate:user17:29924534"}, "rate:{who}:{window:index}"},
		{[]string{"global"}, "global"},
		{[]string{"signin:ban:ann.lee@mail.example.com"}, "signin:ban:{who}"}, // mail is no word here
		{[]string{"a*b:7"}, ""},
	} {
		var p naming.Patterns
		for _, n := range c.names {
			p.Learn(n, "", now)
		}
		text, _, ok := naming.Template(c.names[0], p.Of(c.names[0], "", now), 0, now)
		if text != c.want || ok != (c.want != "") {
			t.Errorf("%q is %q %v, want %q", c.names, text, ok, c.want)
		}
	}
}

// TestTemplateOfRounds writes the number of a window that comes round, for a window of that length alone.
func TestTemplateOfRounds(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 23, 22, 52, 37, 0, time.UTC))
	for _, c := range []struct {
		name, pattern string
		length        time.Duration
		want          string
	}{
		{"rl:f:52", "rl:f:*", time.Minute, "rl:{who}:{window:index%60}"},
		{"hits:user17:day:23", "hits:*:day:*", 0, "hits:{who}:day:{window:%d}"},
		{"rl:alice:52:x", "rl:*:*:x", time.Minute, "rl:{who}:{window:index%60}:x"},
		{"rl:alice:22", "rl:*:*", time.Hour, "rl:{who}:{window:index%24}"},
		{"rl:alice:23", "rl:*:*", 24 * time.Hour, "rl:{who}:{window:%d}"},
		{"rl:alice:52", "rl:alice:*", 0, "rl:alice:{who}"},
		{"rl:alice:51", "rl:alice:*", time.Minute, "rl:alice:{who}"},
		{"alice:minute:52", "*:minute:*", 0, "{who}:minute:{window:index%60}"},
	} {
		if got, _, ok := naming.Template(c.name, c.pattern, c.length, now); !ok || got != c.want {
			t.Errorf("%s with a window of %v: %s, want %s", c.name, c.length, got, c.want)
		}
	}
}
