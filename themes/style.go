// Package themes holds the palettes and the styles that are made of them. A theme is
// data: colours for what things mean (admitted, denied, near the limit, …), never for
// where they stand. Screens ask for a meaning and get a Style.
package themes

import (
	"fmt"
	"image/color"
	"strconv"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Attr is a set of text attributes.
type Attr uint8

// The attributes.
const (
	Bold Attr = 1 << iota
	Faint
	Italic
	Underline
	Reverse
)

// Ink is a 24-bit colour, one of the terminal's own sixteen by its number, or none: what the
// terminal draws by itself. Terminals that have fewer colours get the nearest; that is the
// renderer's business.
type Ink uint32

const (
	inkSet   Ink = 1 << 24
	inkIndex Ink = 1 << 25 // the low bits are a number of 0 to 15
)

// Index returns the number of one of the terminal's own sixteen colours.
func (i Ink) Index() (n uint8, yes bool) { return uint8(i & 15), i&inkIndex != 0 }

// Style is how one cell is drawn. It is a small comparable value; the zero Style is
// the terminal's default.
type Style struct {
	Fg, Bg Ink
	Attr   Attr
}

// On returns the style on another background.
func (s Style) On(bg Ink) Style { s.Bg = bg; return s }

// With returns the style with more attributes.
func (s Style) With(a Attr) Style { s.Attr |= a; return s }

// Hex makes an ink of "#rrggbb". It panics on anything else: palettes are constants
// or have been checked when they were read.
func Hex(s string) Ink {
	ink, err := ParseHex(s)
	if err != nil {
		panic(err)
	}
	return ink
}

// ParseHex makes an ink of "#rrggbb" or of a number of 0 to 15; "" is what the terminal draws
// by itself.
func ParseHex(s string) (Ink, error) {
	if s == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(s, 10, 4); err == nil {
		return inkIndex | Ink(n), nil
	}
	if len(s) == 7 && s[0] == '#' {
		if v, err := strconv.ParseUint(s[1:], 16, 32); err == nil {
			return inkSet | Ink(v), nil
		}
	}
	return 0, fmt.Errorf("colour %q is not of the form #rrggbb", s)
}

// RGB returns the parts of a set ink.
func (i Ink) RGB() (r, g, b uint8, set bool) {
	return uint8(i >> 16), uint8(i >> 8), uint8(i), i&inkSet != 0
}

// Color returns the ink as an image colour; unset ink is nil.
func (i Ink) Color() color.Color {
	if n, yes := i.Index(); yes {
		return ansi.BasicColor(n)
	}
	r, g, b, set := i.RGB()
	if !set {
		return nil
	}
	return color.RGBA{r, g, b, 255}
}

// InkOf is the inverse of Color: nil is the terminal's own colour.
func InkOf(c color.Color) Ink {
	if c == nil {
		return 0
	}
	if n, basic := c.(ansi.BasicColor); basic {
		return inkIndex | Ink(n)
	}
	r, g, b, _ := c.RGBA()
	return inkSet | Ink(r>>8)<<16 | Ink(g>>8)<<8 | Ink(b>>8)
}

// ramp blends through the given stops in n even steps, in a space where they look even. The
// terminal's own colours are not blended: each stop has its share of the steps.
func ramp(n int, stops ...Ink) []Ink {
	for _, s := range stops {
		if _, _, _, set := s.RGB(); !set {
			out := make([]Ink, n)
			for i := range out {
				out[i] = stops[min(i*len(stops)/n, len(stops)-1)]
			}
			return out
		}
	}
	in := make([]color.Color, len(stops))
	for i, s := range stops {
		in[i] = s.Color()
	}
	out := make([]Ink, n)
	for i, c := range lipgloss.Blend1D(n, in...) {
		out[i] = InkOf(c)
	}
	return out
}
