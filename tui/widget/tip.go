package widget

import (
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
)

// tip is a part of the screen that says what it is made of while the mouse rests on it.
type tip struct {
	r   cell.Rect
	say func(x, y int) string
}

// Tip lets a rectangle say in a sentence or two what it shows at a cell of the screen; "" says
// nothing. What is painted later lies on top. It is asked only while the mouse rests there.
func (p *Canvas) Tip(r cell.Rect, say func(x, y int) string) {
	p.tips = append(p.tips, tip{r, say})
}

// TipAt returns what the screen says of the cell x, y; "" nothing.
func (p *Canvas) TipAt(x, y int) string {
	for i := len(p.tips) - 1; i >= 0; i-- {
		if t := p.tips[i]; t.r.Holds(x, y) {
			return t.say(x, y)
		}
	}
	return ""
}

// PaintTip writes a tip beside the cell that it is about, on raised ground: below it, or above
// where that is outside of r. It covers what stands there and moves nothing.
func (p *Canvas) PaintTip(x, y int, text string, r cell.Rect) {
	const widest = 64
	lines := format.Wrap(text, min(widest, r.W-4))
	if text == "" || len(lines) > r.H || r.W < 10 {
		return
	}
	w := 0
	for _, l := range lines {
		w = max(w, safetext.Width(l))
	}
	at := cell.Rect{X: max(min(x+1, r.X+r.W-w-2), r.X), Y: y + 1, W: w + 2, H: len(lines)}
	if at.Y+at.H > r.Y+r.H {
		at.Y = max(y-at.H, r.Y)
	}
	p.Buffer.Clear(at)
	p.Buffer.Tint(at, p.Look.Raised)
	for i, l := range lines {
		p.Buffer.Text(at.X+1, at.Y+i, at.X+at.W, l, p.Look.Text.On(p.Look.Raised))
	}
}
