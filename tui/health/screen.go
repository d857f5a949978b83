package health

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// Screen is the health of the Redis behind the keys. Make one with New.
type Screen struct {
	s     *session.Session
	plots Plots
}

// New returns the health screen of a session.
func New(s *session.Session) *Screen { return &Screen{s: s, plots: Plots{}} }

// Keys lists what can be done here: what concerns all keys.
func (sc *Screen) Keys() shell.Actions {
	list := sc.s.Actions().Only(shell.Pause, shell.Record, shell.ExportKeys, shell.More, shell.Less)
	return append(list, sc.s.TimeActions()...)
}

// Update says that no key is on screen.
func (sc *Screen) Update(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(shell.LayoutMsg); ok {
		sc.s.Selection.See(0, 0)
	}
	return nil
}

// Paint draws what is known of the server.
func (sc *Screen) Paint(p *widget.Canvas, r cell.Rect) {
	const hottest = 12
	b := sc.s.Shown.Board()
	v := viewOf(p, sc.s, sc.plots)
	v.Hot, v.Name, v.Pace = &b.HotKeys, sc.s.ShortName, session.PaceText(&sc.s.Shown.Live().Sweep)
	if b.HotKeys.At != 0 {
		v.Hottest = b.Hottest(hottest)
	}
	v.Paint(r)
}

// viewOf returns what there is to draw of the server of a session, without its hot keys.
func viewOf(c *widget.Canvas, s *session.Session, plots Plots) *View {
	b := s.Shown.Board()
	return &View{Canvas: c, Health: &b.Health, Past: b.HealthSamples(), Link: s.Shown.Live().Server, Server: s.Shown.Server(),
		Cost: s.Shown.Cost(), Plots: plots}
}

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
