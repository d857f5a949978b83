// Package cell is the paper that everything on screen is drawn on: a grid of w×h
// cells that can be written past its edges without harm and turns into exactly h
// lines of exactly w columns.
package cell

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"ratescope/model/safetext"
	"ratescope/themes"
)

// Cell is one place on the grid. A wide rune takes its cell and leaves the next one
// with R == 0.
type Cell struct {
	R rune
	S themes.Style
}

// Rect is a rectangle of cells; W and H are never negative when made by this package.
type Rect struct{ X, Y, W, H int }

// Inset returns r without a border of n cells.
func (r Rect) Inset(n int) Rect {
	return Rect{r.X + n, r.Y + n, max(0, r.W-2*n), max(0, r.H-2*n)}
}

// Holds says whether the cell x, y is in r.
func (r Rect) Holds(x, y int) bool {
	return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H
}

// Top cuts n rows off the top of r and returns them and the rest.
func (r Rect) Top(n int) (top, rest Rect) {
	n = min(max(n, 0), r.H)
	return Rect{r.X, r.Y, r.W, n}, Rect{r.X, r.Y + n, r.W, r.H - n}
}

// Left cuts n columns off the left of r and returns them and the rest.
func (r Rect) Left(n int) (left, rest Rect) {
	n = min(max(n, 0), r.W)
	return Rect{r.X, r.Y, n, r.H}, Rect{r.X + n, r.Y, r.W - n, r.H}
}

// Buffer is a sheet of cells. The zero Buffer is empty. Not safe for concurrent use.
type Buffer struct {
	W, H  int
	ASCII bool // nothing beyond ASCII is written; a wide rune becomes two characters

	clip  Rect // what can be written on
	cells []Cell
	out   strings.Builder
	sgrs  map[themes.Style]string // what sgr has made
}

// Resize makes the grid w×h and blank.
func (g *Buffer) Resize(w, h int) {
	g.W, g.H = max(w, 0), max(h, 0)
	if n := g.W * g.H; n <= cap(g.cells) {
		g.cells = g.cells[:n]
	} else {
		g.cells = make([]Cell, n)
	}
	g.clip = g.Bounds()
	g.Clear(g.clip)
}

// Clip lets only what is in r, and in the grid, be written on, and returns what could be
// before. It is a widget's first line:
//
//	defer g.Clip(g.Clip(r))
func (g *Buffer) Clip(r Rect) (before Rect) {
	before = g.clip
	x, y := max(r.X, 0), max(r.Y, 0)
	g.clip = Rect{x, y, max(min(r.X+r.W, g.W)-x, 0), max(min(r.Y+r.H, g.H)-y, 0)}
	return before
}

// within returns the edges of the part of r that can be written on.
func (g *Buffer) within(r Rect) (left, top, right, bottom int) {
	c := g.clip
	return max(r.X, c.X), max(r.Y, c.Y), min(r.X+r.W, c.X+c.W), min(r.Y+r.H, c.Y+c.H)
}

// Bounds returns the whole grid.
func (g *Buffer) Bounds() Rect { return Rect{0, 0, g.W, g.H} }

// Clear blanks a rectangle.
func (g *Buffer) Clear(r Rect) {
	from, top, to, bottom := g.within(r)
	for y := top; y < bottom && from < to; y++ {
		row := g.cells[y*g.W : (y+1)*g.W]
		if row[from].R == 0 && from > 0 { // a wide rune across the edge goes as a whole
			row[from-1].R = ' '
		}
		if to < g.W && row[to].R == 0 {
			row[to].R = ' '
		}
		for x := from; x < to; x++ {
			row[x] = Cell{R: ' '}
		}
	}
}

// Raise moves n lines of the grid up, and those in whose place they come down.
func (g *Buffer) Raise(from, to, n int) {
	for i := range g.W * n {
		a, b := &g.cells[from*g.W+i], &g.cells[to*g.W+i]
		*a, *b = *b, *a
	}
}

// Set writes one rune of width 1. Where it cannot be written it does nothing.
func (g *Buffer) Set(x, y int, r rune, s themes.Style) {
	if !g.clip.Holds(x, y) {
		return
	}
	if g.ASCII {
		r = plain(r)
	}
	i := y*g.W + x
	if g.cells[i].R == 0 && x > 0 { // the tail of a wide rune: its head goes
		g.cells[i-1].R = ' '
	}
	if x+1 < g.W && g.cells[i+1].R == 0 {
		g.cells[i+1].R = ' '
	}
	g.cells[i] = Cell{r, s}
}

// At returns the cell at x, y; outside the grid a blank.
func (g *Buffer) At(x, y int) Cell {
	if x < 0 || y < 0 || x >= g.W || y >= g.H {
		return Cell{R: ' '}
	}
	return g.cells[y*g.W+x]
}

// Text writes s from x on, at most to the column before `end`, and returns the column
// after it. A wide rune that does not fit is left out. s must be clean: no control
// bytes (see model/safetext).
func (g *Buffer) Text(x, y, end int, s string, st themes.Style) int {
	end = min(end, g.clip.X+g.clip.W)
	for _, r := range s {
		w := safetext.RuneWidth(r)
		if w == 0 {
			continue
		}
		if x+w > end {
			return x
		}
		if g.clip.Holds(x, y) {
			g.Set(x, y, r, st)
			if w == 2 && g.ASCII {
				g.Set(x+1, y, '?', st)
			} else if w == 2 {
				g.Set(x+1, y, ' ', st)
				g.cells[y*g.W+x+1].R = 0
			}
		}
		x += w
	}
	return x
}

// Right writes s so that it ends before column `end`, but not left of x.
func (g *Buffer) Right(x, y, end int, s string, st themes.Style) {
	g.Text(max(x, end-safetext.Width(s)), y, end, s, st)
}

// Fill writes a rune n times.
func (g *Buffer) Fill(x, y, n int, r rune, st themes.Style) {
	for i := range n {
		g.Set(x+i, y, r, st)
	}
}

// Tint gives a rectangle another background and leaves what is written there.
func (g *Buffer) Tint(r Rect, bg themes.Ink) {
	left, top, right, bottom := g.within(r)
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			g.cells[y*g.W+x].S.Bg = bg
		}
	}
}

// Ground gives the cells of a rectangle that have no background of their own one.
func (g *Buffer) Ground(r Rect, bg themes.Ink) {
	left, top, right, bottom := g.within(r)
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			if c := &g.cells[y*g.W+x]; c.S.Bg == 0 {
				c.S.Bg = bg
			}
		}
	}
}

// Recolour gives what is drawn in one ink another one.
func (g *Buffer) Recolour(r Rect, from, to themes.Ink) {
	left, top, right, bottom := g.within(r)
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			if c := &g.cells[y*g.W+x]; c.S.Fg == from {
				c.S.Fg = to
			}
		}
	}
}

// Wash gives everything written in a rectangle one style and leaves its shapes; it keeps its attributes where the
// style has none.
func (g *Buffer) Wash(r Rect, st themes.Style) {
	left, top, right, bottom := g.within(r)
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			c := &g.cells[y*g.W+x]
			if c.S = st.With(c.S.Attr); st.Attr != 0 {
				c.S = st
			}
		}
	}
}

// String returns the grid as lines joined by newlines, one style run a change.
func (g *Buffer) String() string {
	size := max(g.out.Len(), len(g.cells)*3) // about as long as the last time
	g.out.Reset()
	g.out.Grow(size + size/8)
	for y := range g.H {
		if y > 0 {
			g.out.WriteByte('\n')
		}
		var st themes.Style
		for _, c := range g.cells[y*g.W : (y+1)*g.W] {
			if c.R == 0 {
				continue
			}
			if c.S != st {
				g.out.WriteString(g.sgr(c.S))
				st = c.S
			}
			if c.R < 0x80 {
				g.out.WriteByte(byte(c.R))
			} else {
				g.out.WriteRune(c.R)
			}
		}
		if st != (themes.Style{}) {
			g.out.WriteString("\x1b[m")
		}
	}
	return g.out.String()
}

// Plain returns the grid without colours.
func (g *Buffer) Plain() string {
	var b strings.Builder
	for y := range g.H {
		if y > 0 {
			b.WriteByte('\n')
		}
		for _, c := range g.cells[y*g.W : (y+1)*g.W] {
			if c.R != 0 {
				b.WriteRune(c.R)
			}
		}
	}
	return b.String()
}

// attrs are the attributes, with their parameters of an escape sequence and what they are to ultraviolet, 0 where it has a style.
var attrs = [...]struct {
	ours   themes.Attr
	code   string
	theirs uint8
}{{themes.Bold, ";1", uv.AttrBold}, {themes.Faint, ";2", uv.AttrFaint}, {themes.Italic, ";3", uv.AttrItalic}, {themes.Underline, ";4", 0},
	{themes.Reverse, ";7", uv.AttrReverse}}

// sgr returns the escape sequence of a style. Made once a style: on a busy screen most cells change the style.
func (g *Buffer) sgr(s themes.Style) string {
	text, made := g.sgrs[s]
	if made {
		return text
	}
	text = "\x1b[0"
	for _, a := range attrs {
		if s.Attr&a.ours != 0 {
			text += a.code
		}
	}
	text += ink(38, s.Fg) + ink(48, s.Bg) + "m"
	if g.sgrs == nil || len(g.sgrs) >= mostStyles {
		g.sgrs = map[themes.Style]string{}
	}
	g.sgrs[s] = text
	return text
}

// mostStyles bounds the styles that are kept as text; a theme with its gradients has some hundred.
const mostStyles = 4096

// ink returns the parameters of an escape sequence that choose a colour; "" for the terminal's own.
func ink(ground int, k themes.Ink) string {
	if n, own := k.Index(); own {
		return fmt.Sprintf(";%d;5;%d", ground, n)
	}
	if r, g, b, set := k.RGB(); set {
		return fmt.Sprintf(";%d;2;%d;%d;%d", ground, r, g, b)
	}
	return ""
}

// stands are the ASCII characters for the signs that the screens write in text. Shapes
// that carry a meaning (marks, bars, lines) have a set of their own in package chart.
var stands = map[rune]rune{
	'·': '-', '–': '-', '—': '-', '−': '-', '…': '~', '×': 'x', '∞': '~', 'µ': 'u', '‹': '<', '›': '>',
	'←': '<', '→': '>', '↑': '^', '↓': 'v', '▏': '|', '│': '|', '─': '-', '≥': '>', '≤': '<', '≈': '~', '±': '~',
}

// plain returns what stands for r on a terminal that has nothing beyond ASCII.
func plain(r rune) rune {
	if r <= '~' {
		return r
	}
	if s, ok := stands[r]; ok {
		return s
	}
	return '?'
}

// Place draws what a bubble or a chart has rendered, text with SGR sequences in it, into r.
// What it leaves blank keeps the ground that is there, and nothing is written outside r.
func (g *Buffer) Place(r Rect, view string) {
	defer g.Clip(g.Clip(r))
	left, top, right, bottom := g.within(r)
	if left >= right || top >= bottom {
		return
	}
	s := surface{g: g}
	uv.NewStyledString(view).Draw(&s, uv.Rect(r.X, r.Y, r.W, r.H))
}

// surface is a Buffer as an ultraviolet screen: bubbles and charts can draw on it.
type surface struct {
	g    *Buffer
	last uv.Cell // what CellAt returned
}

// Bounds returns the whole buffer.
func (s *surface) Bounds() uv.Rectangle { return uv.Rect(0, 0, s.g.W, s.g.H) }

// CellAt returns a copy of the cell at x, y that is valid until the next call; nil outside.
func (s *surface) CellAt(x, y int) *uv.Cell {
	if !s.g.Bounds().Holds(x, y) {
		return nil
	}
	c := s.g.At(x, y)
	s.last = uv.Cell{Content: string(c.R), Width: 1, Style: uv.Style{Fg: c.S.Fg.Color(), Bg: c.S.Bg.Color(), Attrs: attributes(c.S.Attr)}}
	return &s.last
}

// SetCell writes a cell; nil blanks it. Without a background of its own it keeps the one
// that is there.
func (s *surface) SetCell(x, y int, c *uv.Cell) {
	ground := s.g.At(x, y).S.Bg
	if c == nil {
		s.g.Set(x, y, ' ', themes.Style{Bg: ground})
		return
	}
	if c.Width == 0 { // the tail of a wide rune, which Text has written
		return
	}
	st := themes.Style{Fg: themes.InkOf(c.Style.Fg), Bg: themes.InkOf(c.Style.Bg), Attr: attributesOf(&c.Style)}
	st.Bg = cmp.Or(st.Bg, ground)
	r, size := utf8.DecodeRuneInString(c.Content)
	if size == 0 {
		r = ' '
	}
	if c.Width == 2 {
		s.g.Text(x, y, x+2, string(r), st)
		return
	}
	s.g.Set(x, y, r, st)
}

// WidthMethod measures text by grapheme.
func (s *surface) WidthMethod() uv.WidthMethod { return ansi.GraphemeWidth }

func attributes(a themes.Attr) (b uint8) {
	for _, p := range attrs {
		if a&p.ours != 0 {
			b |= p.theirs
		}
	}
	return b
}

func attributesOf(s *uv.Style) (a themes.Attr) {
	for _, p := range attrs {
		if s.Attrs&p.theirs != 0 {
			a |= p.ours
		}
	}
	if s.Underline != 0 {
		a |= themes.Underline
	}
	return a
}
