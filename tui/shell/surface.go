package shell

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// surface is what a program paints on: a canvas, and what lies over the screen on it: an overlay, a
// sentence, and what is said of the cell under the mouse.
type surface struct {
	Canvas widget.Canvas

	over    Overlay
	toast   widget.Toast
	pointer pointer
	frame   string // the last painted picture
	stale   bool   // something changed since
}

// Redraw says that something changed that is on screen.
func (s *surface) Redraw() { s.stale = true }

// Say shows a sentence for some seconds.
func (s *surface) Say(text string) { s.toast, s.stale = widget.Toast{Text: text}, true }

// Warn shows a sentence about trouble for some seconds.
func (s *surface) Warn(text string) { s.toast, s.stale = widget.Toast{Text: text, Bad: true}, true }

// Hush takes the sentence away.
func (s *surface) Hush() { s.toast, s.stale = widget.Toast{}, true }

// Open lays an overlay over the screen; it has the keyboard until it closes.
func (s *surface) Open(o Overlay) { s.over, s.stale = o, true }

// Over returns the open overlay, or nil.
func (s *surface) Over() Overlay { return s.over }

// follow notes where the mouse is, and returns what says later that it has rested there. It
// waits for nothing where there is nothing to say.
func (s *surface) follow(x, y int) tea.Cmd {
	rests, stale := s.pointer.moveTo(x, y)
	s.stale = s.stale || stale
	if rests || s.over != nil || s.Canvas.TipAt(x, y) == "" {
		return nil
	}
	moves := s.pointer.moves
	return tea.Tick(resting, func(time.Time) tea.Msg { return restMsg{moves} })
}

// paintTip says what is under the mouse, as it is in this picture.
func (s *surface) paintTip(body cell.Rect) {
	if s.pointer.rests && s.over == nil {
		s.Canvas.PaintTip(s.pointer.x, s.pointer.y, s.Canvas.TipAt(s.pointer.x, s.pointer.y),
			cell.Rect{Y: 0, W: s.Canvas.Buffer.W, H: body.Y + body.H})
	}
}

// tickOverlay lets an overlay that goes on by itself do so.
func (s *surface) tickOverlay(at time.Time) tea.Cmd {
	t, ok := s.over.(Ticker)
	if !ok {
		return nil
	}
	before := s.over
	cmd, open := t.Tick(at)
	if !open && s.over == before {
		s.over, s.stale = nil, true
	}
	return cmd
}

// toOverlay gives a message to the open overlay.
func (s *surface) toOverlay(msg tea.Msg) tea.Cmd {
	if s.over == nil {
		return nil
	}
	s.stale = true
	over := s.over
	cmd, open := over.Update(msg)
	if !open && s.over == over { // it may have opened another one
		s.over = nil
	}
	return cmd
}

// tooSmall reports whether there is no room for a screen.
func (s *surface) tooSmall() bool {
	return s.Canvas.Buffer.W < MinWidth || s.Canvas.Buffer.H < MinHeight
}
