package track

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestWithhold holds the figures of a counter that a rule tells by a pattern alone to what its name says: the
// number at its end may be the end of a window as well as its start, and is taken for the start where it is a
// past edge of the window. A number just ahead of the server's clock is no empty window.
func TestWithhold(t *testing.T) {
	edge := noon.Floor(time.Minute)
	for _, c := range []struct {
		what  string
		start limiter.Instant
		want  bool
	}{
		{"the edge before", edge, false},
		{"the edge before that one", edge.Add(-time.Minute), false},
		{"an edge in half a minute", edge.Add(time.Minute), true},
		{"no edge", edge.Add(-7 * time.Second), true},
	} {
		l := &Tracker{evidence: model.Told, decoder: &counterDecoder{starts: []limiter.Instant{c.start}}}
		l.target.Window = time.Minute
		r := model.Reading{At: edge.Add(30 * time.Second)}
		if got := l.withhold(&r); got != c.want || r.Partial != c.want {
			t.Errorf("%s: withheld %v, partial %v, want %v", c.what, got, r.Partial, c.want)
		}
	}
	l := &Tracker{evidence: model.Told, decoder: &counterDecoder{starts: []limiter.Instant{edge.Add(time.Minute)}}}
	l.target.Window = time.Minute
	if r := (model.Reading{At: edge.Add(time.Minute - 600*time.Millisecond)}); !l.withhold(&r) {
		t.Error("a window that begins in 600 ms is taken for an empty one, although its counter counts")
	}
}
