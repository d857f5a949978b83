package shell

import "time"

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
