package pane

import (
	"strings"

	"ratescope/tui/cell"
	"ratescope/tui/keymap"
)

// Group is a heading of the help: the bindings of that group stand below it.
type Group struct {
	Name  string
	Right bool // a new column begins here where there are two
}

// helpWidth is how wide a column of the help is.
const helpWidth = 54

// helpLine is a row of the help: a heading, a key with what it does, or nothing.
type helpLine struct {
	heading, key, what string
	mark               Piece // in place of the key: a shape that the legend explains
}

// Help lays a table of keys and a legend of the shapes over the screen, in two columns
// where they fit. It scrolls by top lines and returns how far it did.
func Help[A comparable](p *Paper, table keymap.Table[A], groups []Group, legend []Piece, top int) int {
	two := p.Grid.W >= 2*helpWidth+6
	columns := helpColumns(p, table, groups, legend, two)
	rows := len(columns[0])
	cols, foot := 1, "↑↓ scrolls · any other key closes"
	if two {
		cols, rows = 2, max(rows, len(columns[1]))
	}
	if p.Grid.H-4 >= rows {
		foot = "any key closes"
	}
	in := p.Overlay(cols*helpWidth+2, rows+2, "keys", foot)
	top = max(min(top, rows-in.H), 0)
	for at, list := range columns[:cols] {
		for i, l := range list[min(top, len(list)):] {
			if i >= in.H {
				break
			}
			p.paintHelpLine(cell.Rect{X: in.X + at*helpWidth, Y: in.Y + i, W: min(helpWidth-1, in.X+in.W-in.X-at*helpWidth), H: 1}, l)
		}
	}
	return top
}

func (p *Paper) paintHelpLine(r cell.Rect, l helpLine) {
	raised, end := p.Look.Raised, r.X+r.W
	switch {
	case l.heading != "":
		p.Grid.Text(r.X, r.Y, end, l.heading, p.Look.Accent.On(raised))
	case l.mark.Text != "":
		p.Grid.Text(r.X+1, r.Y, end, l.mark.Text, l.mark.Style.On(raised))
	default:
		p.Grid.Text(r.X+1, r.Y, end, l.key, p.Look.Title.On(raised))
	}
	p.Grid.Text(r.X+9, r.Y, end, l.what, p.Look.Text.On(raised))
}

// helpColumns are the lines of the help, in one column or two. A legend piece's text is
// its shape, a tab, and what the shape means.
func helpColumns[A comparable](p *Paper, table keymap.Table[A], groups []Group, legend []Piece, two bool) [2][]helpLine {
	var columns [2][]helpLine
	at := 0
	for _, g := range groups {
		if two && g.Right {
			at = 1
		}
		if len(columns[at]) > 0 {
			columns[at] = append(columns[at], helpLine{})
		}
		columns[at] = append(columns[at], helpLine{heading: g.Name})
		for _, b := range table {
			if b.Group != g.Name {
				continue
			}
			key := b.Shown
			if p.Grid.ASCII {
				key = strings.Join(b.Keys[:min(len(b.Keys), 2)], " ")
			}
			columns[at] = append(columns[at], helpLine{key: key, what: b.What})
		}
	}
	if len(legend) == 0 {
		return columns
	}
	if two && len(columns[0]) <= len(columns[1]) {
		at = 0
	}
	columns[at] = append(columns[at], helpLine{}, helpLine{heading: "signs"})
	for _, l := range legend {
		shape, meaning, _ := strings.Cut(l.Text, "\t")
		columns[at] = append(columns[at], helpLine{mark: Bit(shape, l.Style), what: meaning})
	}
	return columns
}
