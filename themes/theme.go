// Package themes holds the palettes and the styles that are made of them. A theme is
// data: colours for what things mean (admitted, denied, near the limit, …), never for
// where they stand. Screens ask for a meaning and get a Style.
package themes

import (
	"fmt"
	"image/color"
	"slices"
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

// Palette is the data of a theme: "#rrggbb" for each meaning, "" for the terminal's
// own colour.
type Palette struct {
	Name string
	Dark bool

	Text, Dim, Faint string // body, secondary, decoration
	Title, Accent    string // headings and focus
	Border           string
	Selected         string // background of the selected row
	Raised           string // background of dialogs and buttons
	Window           string // background of what the sliding window covers

	Admitted, Denied, Near string // outcomes and closeness to the limit
	Injected, Unknown      string // fired from here; not known, stale, missing
	Previous, Current      string // the two windows
	Good                   string // healthy
}

// Theme is a palette made into styles, once.
type Theme struct {
	Name string
	Dark bool

	Text, Dim, Faint, Title, Accent, Border           Style
	Admitted, Denied, Near, Injected, Unknown, Good   Style
	Previous, Current                                 Style
	Selected, Raised, Window                          Ink
	Ground                                            Ink // about what the terminal's own background is
	DeniedWash                                        Ink // what is denied, as the background of a cell that admitted requests share
	DeniedGround                                      Ink // background of a row that is denied
	Fine                                              Ink // bars of what is fine
	Coming, ComingDenied                              Ink // bars of what is to come, and where it will be denied
	Button, ButtonKey, BadgeLive, BadgeWarn, BadgeBad Style
	BadgeArmed                                        Style // firing is possible, or under way

	beside map[Ink]Ink // colours, as they are drawn on DeniedWash

	fill []Ink // utilization, 0 to 100 %
	glow []Ink // a figure without a limit, from the foot of its graph to the top
}

// Sixteen returns the theme of a terminal with sixteen colours: every meaning has one of its
// own, by its number, so that what a person has made readable stays readable. There are no
// grounds but of badges: marks and frames stand for them.
func Sixteen(dark bool) *Theme {
	t := New(read(map[bool]string{true: "terminal-dark", false: "terminal-light"}[dark]))
	t.Name, t.DeniedGround = "terminal", 0
	if !dark {
		t.Title.Fg = 0 // many terminals draw bold black as grey
	}
	return t
}

// New makes the styles of a palette.
func New(p Palette) *Theme {
	fg := func(hex string) Style { return Style{Fg: Hex(hex)} }
	tones := map[bool][3]string{true: {"#11131a", "0", "#ffffff"}, false: {"#fbfbf8", "15", "#000000"}}[p.Dark]
	ground, emphasis := Hex(tones[0]), Bold|Reverse // a badge is reversed, so that it stays one where there are no colours
	if _, own := Hex(p.Text).Index(); own {         // many terminals draw bold black as grey
		ground, emphasis = Hex(tones[1]), Reverse
	}
	badge := func(hex string) Style { return Style{Fg: Hex(hex), Bg: ground, Attr: emphasis} }
	fades := map[bool]int{true: 2, false: 3}[p.Dark] // what is at ease, of five steps to the colour of what is not
	wash, beside := outstanding(ground, Hex(p.Denied), ground), map[Ink]Ink{}
	for _, hex := range []string{p.Admitted, p.Previous, p.Current, p.Unknown} {
		beside[Hex(hex)] = outstanding(Hex(hex), Hex(tones[2]), wash)
	}
	// Calm up to 60 %, at the colour of near when a key counts as near (80 %), at that of denied at 100 %.
	fine, near, denied := Hex(p.Admitted), Hex(p.Near), Hex(p.Denied)
	return &Theme{
		Name: p.Name, Dark: p.Dark,
		Text: fg(p.Text), Dim: fg(p.Dim), Faint: fg(p.Faint),
		Title: fg(p.Title).With(Bold), Accent: fg(p.Accent), Border: fg(p.Border),
		Admitted: fg(p.Admitted), Denied: fg(p.Denied), Near: fg(p.Near),
		Injected: fg(p.Injected), Unknown: fg(p.Unknown), Good: fg(p.Good),
		Previous: fg(p.Previous), Current: fg(p.Current),
		Ground: ground, Selected: Hex(p.Selected), Raised: Hex(p.Raised), Window: Hex(p.Window),
		Button: fg(p.Text).On(Hex(p.Raised)), ButtonKey: fg(p.Accent).On(Hex(p.Raised)).With(Bold),
		BadgeLive: badge(p.Good), BadgeWarn: badge(p.Near), BadgeBad: badge(p.Denied),
		BadgeArmed: badge(p.Injected),
		DeniedWash: wash, beside: beside,
		DeniedGround: ramp(8, ground, Hex(p.Denied))[1],
		Fine:         ramp(5, Hex(p.Faint), Hex(p.Admitted))[fades],
		Coming:       ramp(5, Hex(p.Faint), Hex(p.Dim))[3],
		ComingDenied: ramp(7, ground, Hex(p.Denied))[5],
		fill:         slices.Concat(slices.Repeat([]Ink{fine}, 60), ramp(21, fine, near), ramp(21, near, denied)[1:]),
		glow:         ramp(101, Hex(p.Previous), Hex(p.Accent), Hex(p.Title)),
	}
}

// Fill returns the style of a bar at a utilization of 0 to 1; beyond is clamped.
func (t *Theme) Fill(utilization float64) Style { return Style{Fg: t.fill[percent(utilization)]} }

// Beside returns a colour of requests as it is drawn in a cell that denied ones share: on DeniedWash.
func (t *Theme) Beside(k Ink) Ink { return t.beside[k] }

// Glow returns the style of a graph's cell at a height of 0 to 1; beyond is clamped.
func (t *Theme) Glow(height float64) Style { return Style{Fg: t.glow[percent(height)]} }

// percent turns a share of 1 into 0 to 100; NaN is 0.
func percent(share float64) int {
	switch {
	case share >= 1:
		return 100
	case share > 0:
		return int(share * 100)
	}
	return 0
}
