package lab

import (
	"fmt"
	"math"

	"ratescope/limiter"
	"ratescope/model/lab"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
)

// large are glyphs of 3 by 5 cells, for the back row of a room.
var large = map[rune][5]string{
	'0': {"###", "# #", "# #", "# #", "###"}, '1': {" # ", "## ", " # ", " # ", "###"}, '2': {"###", "  #", "###", "#  ", "###"},
	'3': {"###", "  #", " ##", "  #", "###"}, '4': {"# #", "# #", "###", "  #", "  #"}, '5': {"###", "#  ", "###", "  #", "###"},
	'6': {"###", "#  ", "###", "# #", "###"}, '7': {"###", "  #", "  #", " # ", " # "}, '8': {"###", "# #", "###", "# #", "###"},
	'9': {"###", "# #", "###", "  #", "###"}, '/': {"  #", "  #", " # ", "#  ", "#  "}, '.': {"   ", "   ", "   ", "   ", " # "},
	'+': {"   ", " # ", "###", " # ", "   "}, '>': {"#  ", " # ", "  #", " # ", "#  "}, ' ': {},
}

// paintGlyphs writes large glyphs: of full cells, two to a dot where the width allows it,
// or where the height is short with two rows in one cell. It returns the column after them.
func (l *Lab) paintGlyphs(x, y, end, h int, text string, st themes.Style) int {
	dot, full := 1, '█'
	if h >= 5 && x+8*len(text)+2 <= end {
		dot = 2
	}
	if l.o.ASCII {
		full = '#'
	}
	for _, r := range text {
		glyph, ok := large[r]
		if !ok || x+3*dot > end {
			return x
		}
		for row := range 5 {
			for col, c := range glyph[row] {
				switch {
				case c != '#':
				case h >= 5:
					l.Grid.Fill(x+col*dot, y+row, dot, full, st)
				default:
					l.half(x+col, y+row/2, row%2 == 0, st)
				}
			}
		}
		x += 4 * dot
	}
	return x
}

// half fills the upper or the lower half of a cell.
func (l *Lab) half(x, y int, upper bool, st themes.Style) {
	switch at := l.Grid.At(x, y).R; {
	case l.o.ASCII:
		l.Grid.Set(x, y, '#', st)
	case upper:
		l.Grid.Set(x, y, '▀', st)
	case at == '▀':
		l.Grid.Set(x, y, '█', st)
	default:
		l.Grid.Set(x, y, '▄', st)
	}
}

// paintLarge is a contender's picture in presenter mode: how much is used of how much.
func (l *Lab) paintLarge(r cell.Rect, i int, d limiter.Decision) {
	s := l.run.Setup()
	limit := s.Limit.Count
	if c := s.Contenders[i]; c.Algorithm == limiter.GCRA || c.Algorithm == limiter.TokenBucket || c.Algorithm == limiter.LeakyBucket {
		limit = burst(s)
	}
	next := l.run.Ask(i, max(s.Cost, 1)).Decision
	st := l.outcome(next.Allowed)
	used := fmt.Sprint(d.Used)
	if s.Contenders[i].Algorithm == limiter.SlidingWindow { // its fraction may be what decides
		used = lab.Number(math.Round(d.Estimate*10) / 10)
	}
	text := fmt.Sprintf("%s/%d", used, limit)
	if limit == 0 {
		text = used
	}
	what := fmt.Sprintf("%s room for %d", l.mark(true), d.Remaining)
	switch {
	case limit == 0:
		what = "counts only"
	case next.RetryAfter == limiter.Never:
		what = l.mark(false) + " never"
	case !next.Allowed:
		what = l.mark(false) + " next slot in " + figure.Span(next.RetryAfter)
	}
	h := 3
	if r.H >= 7 || l.o.ASCII { // without half blocks there are no low glyphs
		h = 5
	}
	if r.H < h || 4*len(text) > r.W {
		l.Grid.Text(r.X, r.Y, r.X+r.W, text+" "+l.mark(next.Allowed), st.With(themes.Bold))
		return
	}
	y := r.Y + max((r.H-h-2)/2, 0)
	x := l.paintGlyphs(r.X, y, r.X+r.W, h, text, st)
	if r.H > h {
		l.Grid.Text(r.X, y+h+min(r.H-h-1, 1), r.X+r.W, what, st.With(themes.Bold))
		return
	}
	l.Grid.Text(x+1, y+1, r.X+r.W, l.mark(next.Allowed), st)
}
