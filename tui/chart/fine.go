package chart

import (
	"math"

	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/cell"
)

// Fine drawing moves in steps of half a cell: a cell shows two pieces of time beside each
// other, so that a picture that drifts left does so twice as often and half as far.

// quads are the shapes of a cell whose quarters are filled: 1 upper left, 2 upper right,
// 4 lower left, 8 lower right.
var quads = []rune(" ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█")

// The dots of a braille cell, from below and from above.
var (
	dotsLeft  = [...]rune{0, 0x40, 0x44, 0x46, 0x47}
	dotsRight = [...]rune{0, 0x80, 0xa0, 0xb0, 0xb8}
	hungLeft  = [...]rune{0, 0x01, 0x03, 0x07, 0x47}
	hungRight = [...]rune{0, 0x08, 0x18, 0x38, 0xb8}
)

const braille rune = 0x2800

// side is what one half of a cell shows.
type side uint8

const (
	bare side = iota
	half      // admitted, the lower half
	full      // admitted
	no        // denied
)

// stacked is a column as half steps of admitted below whole cells of denied.
type stacked struct{ admitted, denied int }

// at returns what stands in row k from below.
func (s stacked) at(k int) side {
	base := (s.admitted + 1) / 2
	switch {
	case 2*k+1 < s.admitted:
		return full
	case 2*k+1 == s.admitted:
		return half
	case k >= base && k < base+s.denied:
		return no
	}
	return bare
}

func (c *Columns) stack(i, height int) stacked {
	if i < 0 || i >= len(c.Bins) {
		return stacked{}
	}
	b := &c.Bins[i]
	admitted, denied := Stack(b.Admitted, b.Denied, c.Max, height, 2)
	return stacked{admitted, denied}
}

// drawFine paints in half cells. Where Shifted is set each column begins in the middle of
// a cell, and there is one more of them than cells.
func (c *Columns) drawFine(g *cell.Buffer, r cell.Rect, look Look) {
	var older stacked
	if first := len(c.Bins) - r.W; c.Shifted {
		older = c.stack(first-1, r.H)
	}
	for i := range r.W {
		column := len(c.Bins) - r.W + i
		if column < 0 {
			continue
		}
		x := r.X + i
		c.ground(g, x, r, column, &c.Bins[column], look)
		right := c.stack(column, r.H)
		left := right
		if c.Shifted {
			left, older = older, right
		}
		for k := range r.H {
			if glyph, st := look.halves(left.at(k), right.at(k)); glyph != 0 {
				g.Set(x, r.Y+r.H-1-k, glyph, st)
			}
		}
	}
}

// halves returns the cell with these two sides, or 0 where both are bare. Denied keeps its
// shape, and where admitted stands beside it its colour.
func (l Look) halves(left, right side) (rune, themes.Style) {
	if left == bare && right == bare {
		return 0, themes.Style{}
	}
	switch {
	case left == no && right == no:
		return l.Cross, l.Denied
	case left == no && right == bare:
		return braille | dotsLeft[4], l.Denied
	case left == bare && right == no:
		return braille | dotsRight[4], l.Denied
	case left == no:
		return '▐', l.Admitted.On(l.DeniedWash)
	case right == no:
		return '▌', l.Admitted.On(l.DeniedWash)
	}
	quarters := 0
	for _, s := range [...]struct {
		side         side
		upper, lower int
	}{{left, 1, 4}, {right, 2, 8}} {
		if s.side == full {
			quarters |= s.upper
		}
		if s.side != bare {
			quarters |= s.lower
		}
	}
	return quads[quarters], l.Admitted
}

// drawFine paints the lane in braille: two pieces of time and four levels a cell.
func (l *Lane) drawFine(g *cell.Buffer, r cell.Rect, look Look) {
	for i := range r.W {
		at := len(l.Bins) - 2*(r.W-i)
		if at < 0 {
			continue
		}
		left, right := &l.Bins[at], &l.Bins[at+1]
		x := r.X + i
		if !left.UsedKnown && !right.UsedKnown {
			switch {
			case at+1 < l.First:
				g.Set(x, r.Y+r.H-1, look.Before, look.Faint)
			case !left.Watched && !right.Watched:
				for y := r.Y; y < r.Y+r.H; y++ {
					g.Set(x, y, look.Gap, look.Unknown)
				}
			}
			continue
		}
		l.dots(g, x, r, left, right, look)
	}
}

func (l *Lane) dots(g *cell.Buffer, x int, r cell.Rect, left, right *model.Bin, look Look) {
	height := func(b *model.Bin) int {
		if !b.UsedKnown || b.Used <= 0 || l.Max <= 0 {
			return 0
		}
		return min(max(int(math.Round(float64(b.Used)/float64(l.Max)*float64(r.H*4))), 1), r.H*4)
	}
	a, b := height(left), height(right)
	for k := 0; 4*k < max(a, b); k++ {
		glyph := braille | dotsLeft[min(max(a-4*k, 0), 4)] | dotsRight[min(max(b-4*k, 0), 4)]
		level := (float64(k) + 0.5) / float64(r.H) * float64(l.Max)
		if 4*k+4 >= max(a, b) { // the top cell tells the true level
			level = float64(max(left.Used, right.Used))
		}
		g.Set(x, r.Y+r.H-1-k, glyph, l.style(level, look))
	}
}

// style is the colour of a level.
func (l *Lane) style(level float64, look Look) themes.Style {
	if l.Limit <= 0 {
		return look.Admitted
	}
	return look.Fill(level / float64(l.Limit))
}
