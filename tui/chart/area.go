package chart

import (
	"math"

	"ratescope/themes"
	"ratescope/tui/cell"
)

// Area is the space under a series of values; the newest stands at the right. NaN is not
// known, and marked as such.
type Area struct {
	Values []float64
	Top    float64                           // the value that reaches the far edge
	Hang   bool                              // it hangs from the upper edge: the other half of a mirrored pair
	Ink    func(height float64) themes.Style // of a cell, by how far from the base it is, 0 to 1
}

// Draw fills r. In braille a cell shows two values and four levels, in ASCII one value; as
// long as there are few they are drawn two, four or eight times as wide.
func (a Area) Draw(g *cell.Buffer, r cell.Rect, look Look) {
	if r.W <= 0 || r.H <= 0 {
		return
	}
	per, levels := 2, 4
	if g.ASCII {
		per, levels = 1, len(look.Rise)
	}
	cells := a.cellsPerSample(per * r.W)
	for i := range r.W {
		newest, older := a.value(per*i/cells), a.value((per*i+per-1)/cells)
		if per*i/cells >= len(a.Values) {
			return
		}
		x := r.X + r.W - 1 - i
		if math.IsNaN(newest) && math.IsNaN(older) {
			g.Set(x, a.row(r, 0), look.Before, look.Faint)
			continue
		}
		left, right := a.height(older, r.H*levels), a.height(newest, r.H*levels)
		for k := 0; levels*k < max(left, right); k++ {
			l, h := min(max(left-levels*k, 0), levels), min(max(right-levels*k, 0), levels)
			glyph := braille | dotsLeft[min(l, 4)] | dotsRight[min(h, 4)]
			switch {
			case g.ASCII:
				glyph = look.Rise[max(h, 1)-1]
			case a.Hang:
				glyph = braille | hungLeft[min(l, 4)] | hungRight[min(h, 4)]
			}
			g.Set(x, a.row(r, k), glyph, a.Ink((float64(k)+0.5)/float64(r.H)))
		}
	}
}

// cellsPerSample is how many pieces of n a value takes.
func (a Area) cellsPerSample(n int) int {
	wide := 8
	for wide > 1 && wide*len(a.Values) > n {
		wide /= 2
	}
	return wide
}

// value returns the i-th value, counted from the newest; NaN where there is none.
func (a Area) value(i int) float64 {
	if i >= len(a.Values) {
		return math.NaN()
	}
	return a.Values[len(a.Values)-1-i]
}

// height returns how many of n levels a value reaches: what is above 0 reaches one.
func (a Area) height(v float64, n int) int {
	if !(a.Top > 0) || !(v > 0) {
		return 0
	}
	return max(int(math.Round(min(v/a.Top, 1)*float64(n))), 1)
}

// row returns the k-th row from the base.
func (a Area) row(r cell.Rect, k int) int {
	if a.Hang {
		return r.Y + k
	}
	return r.Y + r.H - 1 - k
}
