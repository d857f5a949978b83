package session

import (
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// PaintSearch fills a screen without any key: it draws the result of the search for limiters
// and, during the first search of a large keyspace, its progress. If the server does not answer,
// it draws the whole error, which the header may have to cut.
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
	chart.Progress(&c.Buffer, x, y, width, float64(w.Scanned)/float64(w.Total), c.Look)
	c.Buffer.Text(x+width+1, y, r.X+r.W, far, c.Look.Dim)
}
