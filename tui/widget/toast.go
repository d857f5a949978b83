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

// Toast is a sentence that lies over the bottom of a screen for some seconds. The zero Toast
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

// Paint draws the toast on raised ground at the right end of the last rows of r, in up to
// three lines.
func (t *Toast) Paint(p *Canvas, r cell.Rect) {
	if t.Text == "" || r.W < 8 || r.H < 1 {
		return
	}
	mark, st := p.Look.OKMark, p.Look.Good
	if t.Bad {
		mark, st = p.Look.OverMark, p.Look.Denied
	}
	lines := format.Wrap(safetext.Clean(t.Text), r.W-8)
	lines = lines[:min(len(lines), 3, r.H)]
	width := 0
	for _, l := range lines {
		width = max(width, safetext.Width(l))
	}
	width = min(width+5, r.W)
	x, top := r.X+r.W-width, r.Y+r.H-len(lines)
	p.Buffer.Clear(cell.Rect{X: x, Y: top, W: width, H: len(lines)})
	p.Buffer.Tint(cell.Rect{X: x, Y: top, W: width, H: len(lines)}, p.Look.Raised)
	for i, l := range lines {
		if i == 0 {
			p.Buffer.Text(x+1, top, x+width, mark, st.On(p.Look.Raised))
		}
		p.Buffer.Text(x+3, top+i, x+width-1, l, p.Look.Text.On(p.Look.Raised))
	}
}
