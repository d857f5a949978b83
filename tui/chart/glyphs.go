// Package chart draws quantities into cells: stacked columns, level lanes, bars and
// sparklines. Everything here is a plain value drawn into a rectangle; whatever does
// not fit is clipped, and no size panics.
package chart

import (
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
