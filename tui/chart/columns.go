// Package chart draws quantities into cells: stacked columns, level lanes, bars and
// sparklines. Everything here is a plain value drawn into a rectangle; whatever does
// not fit is clipped, and no size panics.
package chart

import (
	"math"

	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/cell"
)

// Glyphs is the set of shapes that charts are made of. Every meaning has a shape of
// its own, so that nothing depends on colour.
type Glyphs struct {
	Rise    []rune // a cell filled from below, in even steps; the last is full
	Reach   []rune // a cell filled from the left, in even steps; the last is full
	Shade   []rune // a cell by how much of something there is, from little to all
	Cross   rune   // a cell of denied requests
	Half    rune   // what counts of the previous window
	Gone    rune   // what no longer counts
	Gap     rune   // not watched then
	Before  rune   // before the watching began
	Room    rune   // free up to the limit
	Limit   rune   // a limit line across
	LimitV  rune   // a limit line down
	Edge    rune   // a clock-aligned window begins
	MarkYes rune   // fired from here and admitted
	MarkNo  rune   // fired from here and denied
	Flag    rune   // a person marked this moment of a replay
	Slot    rune   // the next request is admitted here
	Axis    rune
	Tick    rune // where the edge of a window meets the axis
	Leaves  rune // the entry of a log that leaves next
	Ahead   rune // the end of a line that runs ahead of now
	Fits    rune // one more request would be admitted
	TooMany rune // admitted with its own true window full
	TooFew  rune // denied with room in its own true window
	Excess  rune // more than the limit in a true window, as a burst and a rate promise
	Here    rune // where a person stands on a line
	Chosen  rune // the tile under the cursor

	FoldedMark, OpenMark string // a group of keys: it can be opened, it is open

	YesMark, OverMark, EasedMark, NearMark, OKMark, IdleMark, StaleMark, BadMark, PinMark, SelMark string
	Box                                                                                            Box
}

// Box is the set of lines of a frame.
type Box struct{ H, V, TL, TR, BL, BR, T rune }

// Unicode is for terminals with blocks and lines, Ascii for all others. In both a sign means
// one thing: the steps of a filled cell share theirs by how much is filled, and a line is a line.
var (
	Unicode = &Glyphs{
		Rise:  []rune("▁▂▃▄▅▆▇█"),
		Reach: []rune("▏▎▍▌▋▊▉█"),
		Shade: []rune("░▒▓█"),
		Cross: '⣿', Half: '▄', Gone: '░', Gap: '╱', Before: '·', Room: '·',
		Limit: '╌', LimitV: '│', Edge: '▏', MarkYes: '◆', MarkNo: '◇', Flag: '★', Slot: '▷', Axis: '─', Tick: '├',
		Leaves: '▾', Ahead: '▶', Fits: '━', TooMany: '▲', TooFew: '▼', Excess: '△', Here: '●', Chosen: '╋',
		FoldedMark: "⊞", OpenMark: "⊟",
		YesMark: "✓", OverMark: "✖", EasedMark: "↓", NearMark: "▲", OKMark: "●",
		IdleMark: "·", StaleMark: "~", BadMark: "?", PinMark: "▸", SelMark: "▌",
		Box: Box{'─', '│', '╭', '╮', '╰', '╯', '┬'},
	}
	Ascii = &Glyphs{
		Rise:  []rune("_%#"),
		Reach: []rune("%#"),
		Shade: []rune("_;%#"),
		Cross: 'x', Half: '%', Gone: ',', Gap: '/', Before: ' ', Room: '.',
		FoldedMark: "{", OpenMark: "}",
		Limit: '=', LimitV: ']', Edge: ':', MarkYes: 'Y', MarkNo: 'N', Flag: '^', Slot: '>', Axis: '-', Tick: ':',
		Leaves: '(', Ahead: ')', Fits: '"', TooMany: 'A', TooFew: 'D', Excess: '7', Here: 'O', Chosen: '@',
		YesMark: "V", OverMark: "X", EasedMark: "v", NearMark: "!", OKMark: "o",
		IdleMark: "z", StaleMark: "~", BadMark: "?", PinMark: "*", SelMark: "@",
		Box: Box{'-', '|', '+', '+', '+', '+', '+'},
	}
)

// Look is what a chart is drawn with.
type Look struct {
	*Glyphs
	*themes.Theme
}

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

// Columns draws one column a bin: admitted from below in fine steps, denied stacked
// on top in whole cells of another shape, so that one denied request is never lost
// under a hundred admitted ones.
type Columns struct {
	Bins   []model.Bin
	Max    int64                         // the count that fills the height
	First  int                           // the first column that was watched; before it nothing is claimed
	Ground func(column int) (rune, bool) // a line behind the column; may be nil

	Fine    bool // in half cells; needs shapes beyond ASCII
	Shifted bool // Fine, and every column begins in the middle of a cell: one more than cells
}

// Draw paints into r; the newest bin stands at its right edge.
func (c *Columns) Draw(g *cell.Buffer, r cell.Rect, look Look) {
	if c.Fine {
		c.drawFine(g, r, look)
		return
	}
	for i := range min(r.W, len(c.Bins)) {
		b := &c.Bins[len(c.Bins)-1-i]
		column := len(c.Bins) - 1 - i
		x := r.X + r.W - 1 - i
		c.ground(g, x, r, column, b, look)
		admitted, denied := Stack(b.Admitted, b.Denied, c.Max, r.H, len(look.Rise))
		rise(g, x, r.Y+r.H-1, admitted, look.Glyphs, look.Admitted)
		base := (admitted + len(look.Rise) - 1) / len(look.Rise)
		for k := range denied {
			g.Set(x, r.Y+r.H-1-base-k, look.Cross, look.Denied)
		}
	}
}

// ground draws what stands behind a column: a line, or that nothing is known of it.
func (c *Columns) ground(g *cell.Buffer, x int, r cell.Rect, column int, b *model.Bin, look Look) {
	before := column < c.First
	if c.Ground != nil && (before || b.Watched) {
		if line, ok := c.Ground(column); ok {
			for y := range r.H {
				g.Set(x, r.Y+y, line, look.Dim)
			}
			return
		}
	}
	missing(g, x, r, before, b.Watched, look)
}

// Stack returns how high admitted stands, in steps of a cell's fraction, and how many
// whole cells of denied stand on it. Anything above zero shows; together they never
// exceed the height.
func Stack(admitted, denied, most int64, height, steps int) (fine, cells int) {
	if height <= 0 || most <= 0 {
		return 0, 0
	}
	scale := float64(height) / float64(most)
	if denied > 0 {
		cells = min(max(1, int(math.Round(float64(denied)*scale))), height)
	}
	if admitted > 0 {
		fine = min(max(1, int(math.Round(float64(admitted)*scale*float64(steps)))), height*steps)
	}
	if over := (fine+steps-1)/steps + cells - height; over > 0 {
		if cells > over || fine == 0 {
			cells -= over
		} else {
			fine = max(0, (height-cells)*steps)
			if fine == 0 && admitted > 0 && height > 1 {
				fine, cells = 1, height-1
			}
		}
	}
	return fine, cells
}

// rise fills upward from row y by `fine` steps.
func rise(g *cell.Buffer, x, y, fine int, gl *Glyphs, st themes.Style) {
	n := len(gl.Rise)
	for ; fine > 0; fine, y = fine-n, y-1 {
		g.Set(x, y, gl.Rise[min(fine, n)-1], st)
	}
}

// Lane draws how a level went against its limit, one column a bin: filled up to the
// level, coloured by how close it is, with the limit as a line across.
type Lane struct {
	Bins  []model.Bin
	Limit int64 // 0 none
	Max   int64 // the level that fills the height
	First int   // the first bin that was watched
	Fine  bool  // in braille, two bins a cell; needs shapes beyond ASCII
}

// Draw paints into r and returns the row of the limit line, or -1.
func (l *Lane) Draw(g *cell.Buffer, r cell.Rect, look Look) (limitRow int) {
	limitRow = -1
	if r.H <= 0 {
		return limitRow
	}
	n := len(look.Rise)
	if l.Limit > 0 && l.Max > 0 {
		fine := int(math.Ceil(float64(l.Limit) / float64(l.Max) * float64(r.H*n)))
		limitRow = r.Y + r.H - 1 - min((fine-1)/n, r.H-1)
		g.Fill(r.X, limitRow, r.W, look.Limit, look.Denied)
	}
	if l.Fine {
		l.drawFine(g, r, look)
		return limitRow
	}
	for i := range min(r.W, len(l.Bins)) {
		b := &l.Bins[len(l.Bins)-1-i]
		x := r.X + r.W - 1 - i
		switch {
		case b.UsedKnown && l.Max > 0:
			fine := int(math.Round(float64(b.Used) / float64(l.Max) * float64(r.H*n)))
			if b.Used > 0 {
				fine = max(fine, 1)
			}
			l.fill(g, x, r, min(fine, r.H*n), b.Used, look)
		default:
			missing(g, x, r, len(l.Bins)-1-i < l.First, b.Watched, look)
		}
	}
	return limitRow
}

// missing draws a column of which no level is known: it was before the watching began, or in a gap.
func missing(g *cell.Buffer, x int, r cell.Rect, before, watched bool, look Look) {
	switch {
	case r.H == 0:
	case before:
		g.Set(x, r.Y+r.H-1, look.Before, look.Faint)
	case !watched:
		for y := r.Y; y < r.Y+r.H; y++ {
			g.Set(x, y, look.Gap, look.Unknown)
		}
	}
}

// fill draws one column of the lane: each cell in the colour of the level it stands for.
func (l *Lane) fill(g *cell.Buffer, x int, r cell.Rect, fine int, used int64, look Look) {
	n := len(look.Rise)
	for y := r.Y + r.H - 1; fine > 0; fine, y = fine-n, y-1 {
		level := (float64(r.Y+r.H-y) - 0.5) / float64(r.H) * float64(l.Max)
		if fine <= n { // the top cell tells the true level
			level = float64(used)
		}
		g.Set(x, y, look.Rise[min(fine, n)-1], l.style(level, look))
	}
}

// Nice returns the smallest of 1, 2, 3, 4, 5, 6, 8, 10, 15 × 10^k that is not below v: a
// scale's top that stays put while the values under it change a little.
func Nice(v int64) int64 {
	if v <= 1 {
		return 1
	}
	for unit := int64(1); unit < math.MaxInt64/200; unit *= 10 {
		for _, m := range [...]int64{1, 2, 3, 4, 5, 6, 8, 10, 15} {
			if m*unit >= v {
				return m * unit
			}
		}
	}
	return v
}

// Fine drawing moves in steps of half a cell: a cell shows two pieces of time beside each
// other, so that a picture that drifts left does so twice as often and half as far.

// Quads are the shapes of a cell whose quarters are filled: 1 upper left, 2 upper right,
// 4 lower left, 8 lower right.
var Quads = []rune(" ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█")

// The dots of a braille cell, from below and, of both its columns, from above.
var (
	dotsLeft  = [...]rune{0, 0x40, 0x44, 0x46, 0x47}
	dotsRight = [...]rune{0, 0x80, 0xa0, 0xb0, 0xb8}
	dotsBelow = [2][5]rune{{0, 0x01, 0x03, 0x07, 0x47}, {0, 0x08, 0x18, 0x38, 0xb8}}
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
		return '▐', l.Shared()
	case right == no:
		return '▌', l.Shared()
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
	return Quads[quarters], l.Admitted
}

// Shared is the style of admitted requests in a cell that denied ones share.
func (l Look) Shared() themes.Style {
	return themes.Style{Fg: l.Beside(l.Admitted.Fg), Bg: l.DeniedWash}
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
			missing(g, x, r, at+1 < l.First, left.Watched || right.Watched, look)
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
