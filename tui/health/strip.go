package health

import (
	"slices"

	"ratescope/limiter"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// Strip is a few of the graphs side by side, for another screen: what became of the requests at all
// keys, and how fast the server answers. The zero Strip is ready.
type Strip struct {
	plots  Plots
	graphs []graph // as of the newest sample
	at     limiter.Instant
	n      int // how many samples there were
}

// StripHeight is how many rows a strip takes.
const StripHeight = 9

// Paint draws the strip; what is not known yet leaves its room empty.
func (s *Strip) Paint(c *widget.Canvas, r cell.Rect, o *session.Session) {
	if s.plots == nil {
		s.plots = Plots{}
	}
	v := viewOf(c, o, s.plots)
	at := limiter.Instant(0)
	if n := len(v.Past); n > 0 {
		at = v.Past[n-1].At
	}
	if s.at != at || s.n != len(v.Past) || s.graphs == nil { // another board may end at the same instant
		s.at, s.n = at, len(v.Past)
		s.graphs = slices.DeleteFunc(v.figures(), func(g graph) bool { return g.label != "requests" && g.label != "latency" })
		slices.Reverse(s.graphs) // the requests first
	}
	left, right := r.Left(r.W * 3 / 5)
	for i, at := range []cell.Rect{left, right} {
		v.paintGraph(at, &s.graphs[i])
	}
}
