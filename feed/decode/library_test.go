package decode

import (
	"testing"
	"time"
)

// TestWindows: the window of a kind is the longest expiry seen over all its keys, once that is just
// below a usual period.
func TestWindows(t *testing.T) {
	a, b := &Library{Name: "a"}, &Library{Name: "b"}
	key := func(l *Library, prefix, name string) *Match { return &Match{Library: l, Prefix: prefix, Name: name} }
	var w Windows
	for _, c := range []struct {
		m    *Match
		span time.Duration
		want time.Duration
	}{
		{key(a, "rl:", "rl:1"), 10 * time.Second, 10 * time.Second},
		{key(a, "rl:", "rl:2"), 43 * time.Second, 0},
		{key(a, "rl:", "rl:3"), 59_400 * time.Millisecond, time.Minute},
		{key(a, "rl:", "rl:4"), 7 * time.Second, time.Minute},
		{key(b, "rl:", "rl:4"), 7 * time.Second, 0},
		{key(a, "login:", "login:1"), 3599 * time.Second, time.Hour},
		{key(a, "", "x"), 10 * time.Second, 10 * time.Second},
		{key(a, "", "y"), -1, 0},
		{key(a, "rl:", "rl:5"), time.Minute + time.Millisecond, 0}, // longer than the period: it was none
	} {
		w.Learn(c.m, c.span)
		if got := w.Of(c.m); got != c.want {
			t.Errorf("after %s of %s with %v: the window is %v, want %v", c.m.Name, c.m.Library.Name, c.span, got, c.want)
		}
	}
	var none *Windows
	none.Learn(key(a, "rl:", "rl:1"), time.Minute)
	if got := none.Of(key(a, "rl:", "rl:1")); got != 0 {
		t.Errorf("no windows infer %v", got)
	}
}
