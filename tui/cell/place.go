package cell

import (
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"ratescope/themes"
)

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
	if st.Bg == 0 {
		st.Bg = ground
	}
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

// attributePairs are the attributes that both know.
var attributePairs = [...]struct {
	ours   themes.Attr
	theirs uint8
}{{themes.Bold, uv.AttrBold}, {themes.Faint, uv.AttrFaint}, {themes.Italic, uv.AttrItalic}, {themes.Reverse, uv.AttrReverse}}

func attributes(a themes.Attr) (b uint8) {
	for _, p := range attributePairs {
		if a&p.ours != 0 {
			b |= p.theirs
		}
	}
	return b
}

func attributesOf(s *uv.Style) (a themes.Attr) {
	for _, p := range attributePairs {
		if s.Attrs&p.theirs != 0 {
			a |= p.ours
		}
	}
	if s.Underline != 0 {
		a |= themes.Underline
	}
	return a
}
