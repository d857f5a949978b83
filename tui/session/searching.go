package session

import (
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/format"
	"ratescope/tui/widget"
)

// PaintSearch says in the room of a screen without a key what the search for limiters has found,
// and while the first one of many keys goes on how far it is; of a server that does not answer the
// whole sentence, which the header may have to cut.
func PaintSearch(c *widget.Canvas, r cell.Rect, b *model.Board) {
	text := Searching(b)
	if s := &b.Server; s.Link != model.Live && s.Err != "" {
		text = safetext.Clean(s.Err)
	}
	lines := format.Wrap(text, max(r.W-4, 1))
	for i, line := range lines[:min(len(lines), max(r.H-1, 0))] {
		c.Buffer.Text(r.X+2, r.Y+1+i, r.X+r.W, line, c.Look.Dim)
	}
	w, far := &b.Sweep, SearchedText(&b.Sweep)
	x, y := r.X+2, r.Y+1+len(lines)
	if far == "" || y >= r.Y+r.H {
		return
	}
	const widest = 80
	width := max(min(r.W-4, widest)-safetext.Width(far)-1, 0)
	c.Buffer.Fill(x, y, width, c.Look.Room, c.Look.Faint)
	chart.Bar(&c.Buffer, x, y, width, float64(w.Total), c.Look.Glyphs, chart.Segment{Value: float64(min(w.Scanned, w.Total)), Style: c.Look.Accent})
	c.Buffer.Text(x+width+1, y, r.X+r.W, far, c.Look.Dim)
}
