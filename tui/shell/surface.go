package shell

import (
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"ratescope/themes"
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

// resting is how long the mouse stays where it is before the screen says what is there.
const resting = 400 * time.Millisecond

// pointer is where the mouse is.
type pointer struct {
	x, y  int
	moves int  // counts them: a rest that an older one began is none
	rests bool // long enough on one cell
}

// restMsg comes when the mouse may have rested; moves is what it was when the rest began.
type restMsg struct{ moves int }

// moveTo notes where the mouse is. It reports whether the mouse had rested there already, and
// whether what is said of another cell has to go.
func (p *pointer) moveTo(x, y int) (rests, stale bool) {
	if x == p.x && y == p.y && p.rests {
		return true, false
	}
	stale = p.lift()
	p.x, p.y = x, y
	return false, stale
}

// rested reports whether the mouse has stayed where a rest began.
func (p *pointer) rested(msg restMsg) bool {
	if msg.moves != p.moves {
		return false
	}
	p.rests = true
	return true
}

// lift ends a rest, and reports whether something is said of the cell under the mouse that has to go.
func (p *pointer) lift() bool {
	p.moves++
	was := p.rests
	p.rests = false
	return was
}

// theming chooses the theme of a surface: by the terminal's background until a person has picked one, and
// by how many colours the terminal has.
type theming struct {
	on      *surface
	shelf   themes.Shelf
	ascii   bool // nothing beyond ASCII
	fixed   bool // a person has picked it
	dark    bool // the terminal's background is
	sixteen bool // the terminal has sixteen colours
}

// set puts a theme on. A terminal of sixteen colours gets its own.
func (th *theming) set(t *themes.Theme) {
	if th.sixteen {
		t = themes.Sixteen(th.dark)
	}
	th.on.Canvas.SetTheme(t, th.ascii)
	th.on.stale = true
}

// profiled takes in how many colours the terminal has.
func (th *theming) profiled(p colorprofile.Profile) {
	if th.sixteen = p == colorprofile.ANSI; th.sixteen {
		th.set(th.on.Canvas.Look.Theme)
	}
}

// background takes in whether the terminal's background is dark.
func (th *theming) background(dark bool) {
	th.dark = dark
	if (!th.fixed || th.sixteen) && th.on.Canvas.Look.Dark != dark {
		th.set(th.shelf.Default(dark))
	}
}
