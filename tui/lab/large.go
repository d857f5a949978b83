package lab

import (
	"fmt"

	"ratescope/limiter"
	"ratescope/themes"
	"ratescope/tui/cell"
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
	allowed := l.run.Ask(i, max(s.Cost, 1)).Decision.Allowed
	st := l.Look.Good
	if !allowed {
		st = l.Look.Denied
	}
	text := fmt.Sprintf("%d/%d", d.Used, limit)
	if limit == 0 {
		text = fmt.Sprint(d.Used)
	}
	switch {
	case r.H >= 3 && 4*len(text) <= r.W:
		h := r.H
		if h >= 7 {
			h = 5
		} else {
			h = 3
		}
		x := l.paintGlyphs(r.X, r.Y+(r.H-h)/2, r.X+r.W, h, text, st)
		l.Grid.Text(x+1, r.Y+(r.H-1)/2, r.X+r.W, l.mark(allowed), st)
	default:
		l.Grid.Text(r.X, r.Y, r.X+r.W, text+" "+l.mark(allowed), st.With(themes.Bold))
	}
}
