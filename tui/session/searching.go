package session

import (
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// PaintSearch says in the room of a screen without a key what the search for limiters has found,
// and while the first one of many keys goes on how far it is.
func PaintSearch(c *widget.Canvas, r cell.Rect, b *model.Board) {
	c.Buffer.Text(r.X+2, r.Y+1, r.X+r.W, Searching(b), c.Look.Dim)
	w, far := &b.Sweep, SearchedText(&b.Sweep)
	if far == "" || r.H < 3 {
		return
	}
	const widest = 80
	x, y := r.X+2, r.Y+2
	width := max(min(r.W-4, widest)-safetext.Width(far)-1, 0)
	c.Buffer.Fill(x, y, width, c.Look.Room, c.Look.Faint)
	chart.Bar(&c.Buffer, x, y, width, float64(w.Total), c.Look.Glyphs, chart.Segment{Value: float64(min(w.Scanned, w.Total)), Style: c.Look.Accent})
	c.Buffer.Text(x+width+1, y, r.X+r.W, far, c.Look.Dim)
}
