package chart

import (
	"math"

	"ratescope/model"
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

// Meter draws a utilization, 0 to 1 with greater values as 1, as one bar whose free part is
// dotted.
func Meter(g *cell.Buffer, x, y, w int, utilization float64, look Look) {
	g.Fill(x, y, w, look.Room, look.Faint)
	if !(utilization > 0) {
		return
	}
	full := min(utilization, 1)
	Bar(g, x, y, w, 1, look.Glyphs, Segment{Value: full})
	for i := range w { // each cell in the colour of the level it stands for
		if at := float64(i) / float64(w); at < full {
			c := g.At(x+i, y)
			g.Set(x+i, y, c.R, look.Fill(min(at+1/float64(w), full)))
		}
	}
}

// Spark draws bins as one row of small columns, scaled to their own maximum; a column
// with denials is drawn in the colour and, where it is all denials, the shape of denied.
func Spark(g *cell.Buffer, x, y, w int, bins []model.Bin, look Look) {
	var most int64
	for i := range bins {
		most = max(most, bins[i].Admitted+bins[i].Denied)
	}
	n := len(look.Rise)
	for i := range min(w, len(bins)) {
		b := &bins[len(bins)-1-i]
		cx := x + w - 1 - i
		sum := b.Admitted + b.Denied
		if sum == 0 || most == 0 {
			continue
		}
		st := look.Admitted
		if b.Denied > 0 {
			st = look.Denied
		}
		glyph := look.Rise[min(max(int(math.Round(float64(sum)/float64(most)*float64(n))), 1), n)-1]
		if b.Admitted == 0 {
			glyph = look.Cross
		}
		g.Set(cx, y, glyph, st)
	}
}
