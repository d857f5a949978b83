package widget

import (
	"time"

	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
)

// A toast stays toastLife at most, and longer where it takes longer to read.
const (
	toastLife = 6 * time.Second
	perLetter = 100 * time.Millisecond
)

// Toast is a sentence that lies over the footer for some seconds. The zero Toast
// is empty.
type Toast struct {
	Text  string
	Bad   bool
	until time.Time
}

// Over reports whether the toast's time has passed. Its time begins with the first call.
func (t *Toast) Over(now time.Time) bool {
	if t.Text != "" && t.until.IsZero() {
		t.until = now.Add(max(toastLife, perLetter*time.Duration(safetext.Width(t.Text))))
	}
	return t.Text != "" && now.After(t.until)
}

// lines is the text in at most five lines of a row's width.
func (t *Toast) lines(width int) []string {
	if t.Text == "" || width < 8 {
		return nil
	}
	return format.WrapTo(safetext.Clean(t.Text), width-8, 5)
}

// Rows is how many rows the toast takes of so many columns: 0 where it is empty.
func (t *Toast) Rows(width int) int { return len(t.lines(width)) }

// Paint draws the toast on raised ground over whole rows, from the first of r down.
func (t *Toast) Paint(p *Canvas, r cell.Rect) {
	mark, st := p.Look.OKMark, p.Look.Good
	if t.Bad {
		mark, st = p.Look.OverMark, p.Look.Denied
	}
	lines := t.lines(r.W)
	r.H = len(lines)
	p.Buffer.Clear(r)
	p.Buffer.Tint(r, p.Look.Raised)
	if r.H > 0 {
		p.Buffer.Text(r.X+1, r.Y, r.X+r.W, mark, st.On(p.Look.Raised))
	}
	p.Lines(cell.Rect{X: r.X + 3, Y: r.Y, W: r.W - 4, H: r.H}, p.Look.Text.On(p.Look.Raised), lines...)
}

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
	p.Lines(cell.Rect{X: at.X + 1, Y: at.Y, W: at.W - 1, H: at.H}, p.Look.Text.On(p.Look.Raised), lines...)
}
