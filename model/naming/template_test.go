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
		{[]string{"a*b:7"}, ""},
	} {
		var p naming.Patterns
		for _, n := range c.names {
			p.Learn(n, "", now)
		}
		text, _, ok := naming.Template(c.names[0], p.Of(c.names[0], "", now), now)
		if text != c.want || ok != (c.want != "") {
			t.Errorf("%q is %q %v, want %q", c.names, text, ok, c.want)
		}
	}
}
