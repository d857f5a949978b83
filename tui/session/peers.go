package session

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// Join makes the sessions of several servers one view: each knows the others.
func Join(all ...*Session) {
	for _, s := range all {
		s.Peers = all
	}
}

// nextServer brings the next of the servers to the front.
func (s *Session) nextServer() tea.Cmd {
	next := s.Peers[(slices.Index(s.Peers, s)+1)%len(s.Peers)].Shell
	next.Group.Front(next)
	return nil
}

// paintPeers draws a line for each of several servers: whether it answers, what may be done to it, and how
// many of its keys are throttled. A click brings it to the front.
func (h header) paintPeers(r cell.Rect) {
	widest := 0
	for _, p := range h.s.Peers {
		widest = max(widest, safetext.Width(p.Options.Target))
	}
	for i, p := range h.s.Peers {
		line, y := header{h.c, p}, r.Y+i
		mark, arms := " ", ""
		if p == h.s {
			mark = h.c.Look.SelMark
		}
		label, style := line.state()
		if st := p.Orders.Armament(); st.Armed && st.Refused == nil {
			arms = " ARMED "
		}
		x := h.c.Spans(r.X, y, r.X+r.W, widget.Styled(mark, h.c.Look.Accent),
			widget.Styled(p.Options.Target+strings.Repeat(" ", widest-safetext.Width(p.Options.Target)), p.TargetStyle(h.c.Look)),
			widget.Styled(" ", h.c.Look.Text),
			widget.Styled(label, style), widget.Styled(" ", h.c.Look.Text))
		if p.Options.Production {
			x = h.c.Spans(x, y, r.X+r.W, widget.Styled("PROD", h.c.Look.BadgeBad), widget.Styled(" ", h.c.Look.Text))
		}
		x = h.c.Spans(x, y, r.X+r.W, widget.Styled(arms, h.c.Look.BadgeArmed))
		h.c.OnClick(cell.Rect{X: r.X, Y: y, W: r.W, H: 1}, func(int) tea.Cmd { p.Shell.Group.Front(p.Shell); return nil })
		line.paintVerdict(x, y, r.X+r.W)
	}
}
