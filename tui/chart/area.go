package chart

import (
	"math"

	"ratescope/tui/cell"
)

// Area fills the space under a series of values, of which `top` reaches the upper edge;
// the newest stands at the right. In braille a cell shows two values and four levels, in
// ASCII one value; while there are few they are drawn wider. NaN is not known, and marked
// as such.
func Area(g *cell.Grid, r cell.Rect, values []float64, top float64, look Look) {
	if r.W <= 0 || r.H <= 0 {
		return
	}
	const most = 4 // times wider
	per, levels := 2, 4
	if g.ASCII {
		per, levels = 1, len(look.Rise)
	}
	stretch := min(max(per*r.W/max(len(values), 1), 1), most)
	value := func(i int) (v float64, there bool) {
		if i = len(values) - 1 - i/stretch; i < 0 {
			return 0, false
		}
		return values[i], true
	}
	height := func(i int) int {
		v, there := value(i)
		if !there || !(top > 0) || !(v > 0) {
			return 0
		}
		return max(int(math.Round(min(v/top, 1)*float64(r.H*levels))), 1)
	}
	for i := range r.W {
		newest, older := per*i, per*i+per-1
		v, there := value(newest)
		if !there {
			return
		}
		x := r.X + r.W - 1 - i
		if before, _ := value(older); math.IsNaN(v) && math.IsNaN(before) {
			g.Set(x, r.Y+r.H-1, look.Before, look.Faint)
			continue
		}
		a, b := height(older), height(newest)
		for k := 0; levels*k < max(a, b); k++ {
			left, right := min(max(a-levels*k, 0), levels), min(max(b-levels*k, 0), levels)
			glyph := braille | dotsLeft[min(left, 4)] | dotsRight[min(right, 4)]
			if g.ASCII {
				glyph = look.Rise[max(right, 1)-1]
			}
			g.Set(x, r.Y+r.H-1-k, glyph, look.Accent)
		}
	}
}
