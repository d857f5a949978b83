package chart

import (
	"ratescope/themes"
	"ratescope/tui/cell"
)

// Frame draws a box along the inner edge of r.
func (b Box) Frame(g *cell.Buffer, r cell.Rect, st themes.Style) {
	right, bottom := r.X+r.W-1, r.Y+r.H-1
	g.Fill(r.X, r.Y, r.W, b.H, st)
	g.Fill(r.X, bottom, r.W, b.H, st)
	for y := r.Y + 1; y < bottom; y++ {
		g.Set(r.X, y, b.V, st)
		g.Set(right, y, b.V, st)
	}
	g.Set(r.X, r.Y, b.TL, st)
	g.Set(right, r.Y, b.TR, st)
	g.Set(r.X, bottom, b.BL, st)
	g.Set(right, bottom, b.BR, st)
}
