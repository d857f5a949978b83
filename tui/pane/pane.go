// Package pane is what the screens of the dashboard and of the lab are put together from:
// a sheet with its look and with the parts of it that answer a click, frames with titles,
// rows of styled text, overlays, and the help.
package pane

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
)

// Paper is what a screen is painted on. The zero Paper is empty and has no look; see
// Dress. Not safe for concurrent use.
type Paper struct {
	Grid   cell.Grid
	Look   chart.Look
	Framed bool // a box around every pane; else one rule above each

	zones []zone // what can be clicked, as last painted
}

// zone is a part of the screen that answers a click; it is told how far from its left
// edge the click was, in cells.
type zone struct {
	r  cell.Rect
	do func(x int) tea.Cmd
}

// Piece is a text in one style.
type Piece struct {
	Text  string
	Style themes.Style
}

// Bit makes a Piece.
func Bit(text string, style themes.Style) Piece { return Piece{text, style} }

// Dress puts a theme on, with shapes beyond ASCII or without.
func (p *Paper) Dress(t *themes.Theme, ascii bool) {
	p.Look = chart.Look{Glyphs: chart.Unicode, Theme: t}
	if p.Grid.ASCII = ascii; ascii {
		p.Look.Glyphs = chart.Ascii
	}
}

// Begin blanks the sheet and forgets what could be clicked.
func (p *Paper) Begin() {
	p.zones = p.zones[:0]
	p.Grid.Clear(p.Grid.Bounds())
}

// Words writes pieces of text one after the other, up to the column before end, and
// returns the column after them.
func (p *Paper) Words(x, y, end int, pieces ...Piece) int {
	for _, s := range pieces {
		x = p.Grid.Text(x, y, end, s.Text, s.Style)
	}
	return x
}

// Width returns how many columns the pieces take.
func Width(pieces ...Piece) int {
	n := 0
	for _, s := range pieces {
		n += safetext.Width(s.Text)
	}
	return n
}

// Section draws what surrounds a pane and returns the room inside: a box with the title
// in its top line, or where the paper is not framed a rule above.
func (p *Paper) Section(r cell.Rect, focused bool, title ...Piece) cell.Rect {
	if r.H == 0 || r.W < 4 {
		return cell.Rect{}
	}
	line := p.Look.Border
	if focused {
		line = p.Look.Accent
	}
	inside := cell.Rect{X: r.X + 1, Y: r.Y + 1, W: max(r.W-2, 0), H: r.H - 1}
	if p.Framed {
		p.Look.Box.Frame(&p.Grid, r, line)
		inside = cell.Rect{X: r.X + 2, Y: r.Y + 1, W: max(r.W-4, 0), H: max(r.H-2, 0)}
	} else {
		p.Grid.Fill(r.X, r.Y, r.W, p.Look.Box.H, line)
	}
	p.Grid.Set(r.X+1, r.Y, ' ', line)
	x := p.Words(r.X+2, r.Y, r.X+r.W-3, title...)
	p.Grid.Set(x, r.Y, ' ', line)
	return inside
}

// Aside writes pieces at the right end of the top line of a section with that rectangle,
// whose title takes so many columns; the last ones that do not fit are left out.
func (p *Paper) Aside(r cell.Rect, title int, pieces ...Piece) {
	room := r.W - title - 8
	for len(pieces) > 0 && Width(pieces...) > room {
		pieces = pieces[:len(pieces)-1]
	}
	if w := Width(pieces...); w > 0 && r.H > 0 {
		end := r.X + r.W - 2
		p.Grid.Set(end-w-2, r.Y, ' ', p.Look.Border)
		p.Words(end-w-1, r.Y, end, pieces...)
		p.Grid.Set(end-1, r.Y, ' ', p.Look.Border)
	}
}

// TitleRoom is how many columns a section of that width has for its title.
func TitleRoom(width int) int { return max(width-5, 0) }

// Overlay draws a raised panel over the middle of the sheet, as large as asked for and
// as fits, and returns the room inside. A click on it that hits nothing else does nothing.
func (p *Paper) Overlay(w, h int, title, foot string) cell.Rect {
	r := cell.Rect{W: max(min(w, p.Grid.W-2), 0), H: max(min(h, p.Grid.H-2), 0)}
	r.X, r.Y = (p.Grid.W-r.W)/2, (p.Grid.H-r.H)/2
	raised := p.Look.Raised
	p.Grid.Clear(r)
	p.Grid.Tint(r, raised)
	p.Look.Box.Frame(&p.Grid, r, p.Look.Accent.On(raised))
	p.Grid.Text(r.X+2, r.Y, r.X+r.W-2, " "+title+" ", p.Look.Title.On(raised))
	if foot != "" {
		p.Grid.Right(r.X+2, r.Y+r.H-1, r.X+r.W-2, " "+foot+" ", p.Look.Dim.On(raised))
	}
	return cell.Rect{X: r.X + 2, Y: r.Y + 1, W: max(r.W-4, 0), H: max(r.H-2, 0)}
}

// TooSmall says, in the first line of a sheet that is smaller than a screen needs, what it
// needs: as much of that as fits without being cut.
func (p *Paper) TooSmall(name string, w, h int) {
	need := fmt.Sprintf("needs %dx%d", w, h)
	is := fmt.Sprintf("%s, this is %dx%d", need, p.Grid.W, p.Grid.H)
	if both := name + " " + is; safetext.Width(both) <= p.Grid.W {
		p.Words(0, 0, p.Grid.W, Bit(name+" ", p.Look.Title), Bit(is, p.Look.Near))
		return
	}
	for _, text := range []string{is, need} {
		if len(text) <= p.Grid.W {
			p.Grid.Text(0, 0, p.Grid.W, text, p.Look.Near)
			return
		}
	}
}

// Button draws a key with what it does, which can be clicked, and returns the column
// after it; one that does not fit before end is left out.
func (p *Paper) Button(x, y, end int, key, label string, do func(int) tea.Cmd) int {
	width := safetext.Width(key) + safetext.Width(label) + 3
	if x+width > end {
		return x
	}
	p.Words(x, y, end, Bit(" "+key, p.Look.ButtonKey), Bit(" "+label+" ", p.Look.Button))
	p.Zone(cell.Rect{X: x, Y: y, W: width, H: 1}, do)
	return x + width + 1
}

// Hint is a key with what it does, for the last line of a screen.
type Hint struct {
	Key, Label string
	Do         func(int) tea.Cmd
}

// Hints writes as many hints as fit.
func (p *Paper) Hints(r cell.Rect, hints []Hint) {
	x, end := r.X+1, r.X+r.W
	for _, h := range hints {
		width := safetext.Width(h.Key) + 1 + safetext.Width(h.Label)
		if x+width > end {
			return
		}
		p.Words(x, r.Y, end, Bit(h.Key, p.Look.Accent), Bit(" "+h.Label, p.Look.Dim))
		p.Zone(cell.Rect{X: x, Y: r.Y, W: width, H: 1}, h.Do)
		x += width + 2
	}
}

// Sentence writes what the last line says for a while, in the colour of trouble if it is.
func (p *Paper) Sentence(r cell.Rect, text string, bad bool) {
	st := p.Look.Text
	if bad {
		st = p.Look.Denied
	}
	p.Grid.Text(r.X+1, r.Y, r.X+r.W, safetext.Clip(safetext.Clean(text), r.W-2, safetext.Ellipsis), st)
}

// Zone lets a rectangle answer clicks; what is painted later lies on top.
func (p *Paper) Zone(r cell.Rect, do func(x int) tea.Cmd) { p.zones = append(p.zones, zone{r, do}) }

// Click does what was painted at x, y last, and says whether there was anything.
func (p *Paper) Click(x, y int) (tea.Cmd, bool) {
	for i := len(p.zones) - 1; i >= 0; i-- {
		if z := p.zones[i]; z.r.Holds(x, y) {
			return z.do(x - z.r.X), true
		}
	}
	return nil, false
}
