package health

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
	"ratescope/tui/keymap"
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
func (h *Screen) Keys() keymap.Actions {
	list := h.s.Actions().Only(keymap.Pause, keymap.Record, keymap.ExportKeys, keymap.More, keymap.Less)
	return append(list, h.s.TimeActions()...)
}

// Update says that no key is on screen.
func (h *Screen) Update(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(shell.LayoutMsg); ok {
		h.s.Selection.See(0, 0)
	}
	return nil
}

// Paint draws what is known of the server.
func (h *Screen) Paint(p *widget.Canvas, r cell.Rect) {
	const hottest = 12
	b := h.s.Shown.Board()
	v := viewOf(p, h.s, h.plots)
	v.Hot, v.Name, v.Pace = &b.HotKeys, h.s.ShortName, session.PaceText(&h.s.Shown.Live().Sweep)
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
