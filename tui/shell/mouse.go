package shell

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
)

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

// follow notes where the mouse is, and returns what says later that it has rested there. It
// waits for nothing where there is nothing to say.
func (a *App) follow(x, y int) tea.Cmd {
	if x == a.pointer.x && y == a.pointer.y && a.pointer.rests {
		return nil
	}
	a.lift()
	a.pointer.x, a.pointer.y = x, y
	if a.over != nil || a.TipAt(x, y) == "" {
		return nil
	}
	moves := a.pointer.moves
	return tea.Tick(resting, func(time.Time) tea.Msg { return restMsg{moves} })
}

// rested shows what is to be said of the cell under the mouse.
func (a *App) rested(msg restMsg) {
	if msg.moves == a.pointer.moves {
		a.pointer.rests, a.stale = true, true
	}
}

// lift takes away what is said of the cell under the mouse.
func (a *App) lift() {
	if a.pointer.moves++; a.pointer.rests {
		a.pointer.rests, a.stale = false, true
	}
}

// paintTip says what is under the mouse, as it is in this picture.
func (a *App) paintTip(body cell.Rect) {
	if a.pointer.rests && a.over == nil {
		a.PaintTip(a.pointer.x, a.pointer.y, a.TipAt(a.pointer.x, a.pointer.y), cell.Rect{Y: 0, W: a.Buffer.W, H: body.Y + body.H})
	}
}
