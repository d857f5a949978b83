package chart

import (
	"math"

	"ratescope/themes"
	"ratescope/tui/cell"
)

// Segment is one part of a bar.
type Segment struct {
	Value float64 // in the bar's unit; below 0 counts as 0
	Glyph rune    // 0: solid, in fractions of a cell
	Style themes.Style
}

// Bar draws segments one after the other from the left of a row of w cells, where
// `full` fills it. Solid segments end in a fraction of a cell when nothing follows
// in the same cell.
func Bar(g *cell.Buffer, x, y, w int, full float64, gl *Glyphs, segments ...Segment) {
	if w <= 0 || !(full > 0) || math.IsInf(full, 1) {
		return
	}
	n := len(gl.Reach)
	at := 0.0
	for _, s := range segments {
		if !(s.Value > 0) {
			continue
		}
		from := int(math.Round(at / full * float64(w*n)))
		at = min(at+s.Value, full)
		to := int(math.Round(at / full * float64(w*n)))
		to = min(max(to, from+1), w*n)
		for c := from / n; c*n < to && c < w; c++ {
			switch fill := min(to-c*n, n); {
			case c*n < from && fill <= (from-c*n): // the cell is another's already
			case s.Glyph != 0:
				if c*n >= from || g.At(x+c, y).R == ' ' {
					g.Set(x+c, y, s.Glyph, s.Style)
				}
			case c*n < from: // a boundary inside one cell: the front shows on the back
				front := g.At(x+c, y)
				g.Set(x+c, y, front.R, front.S.On(s.Style.Fg))
			default:
				g.Set(x+c, y, gl.Reach[fill-1], s.Style)
			}
		}
	}
}

// Progress draws the share of a task that is done, 0 to 1, as one bar whose rest is dotted.
func Progress(g *cell.Buffer, x, y, w int, done float64, look Look) {
	g.Fill(x, y, w, look.Room, look.Faint)
	Bar(g, x, y, w, 1, look.Glyphs, Segment{Value: min(done, 1), Style: look.Accent})
}
