package keys

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/format"
	"ratescope/tui/session"
)

// paintGroup draws a group in the columns of the table: its way and how many keys it has,
// how many deny or are near, the fill of the nearest, and the sums of the rates.
func (v view) paintGroup(x, y, w int, widths *[len(columns)]int, g *group) {
	left, row := x, cell.Rect{X: x, Y: y, W: w, H: 1}
	mark, markStyle := v.Mark(g.shown(), v.Look)
	selected := v.groups.at == g.path
	if selected {
		v.Buffer.Text(x, y, x+1, v.Look.SelMark, v.Look.Accent)
	}
	v.Buffer.Text(x+1, y, x+3, mark+" ", markStyle)
	x += 3
	for i, c := range columns {
		if cw := widths[i]; cw > 0 {
			if c.sum != nil {
				c.sum(v, x-1, y, cw, g)
			}
			x += cw + 1
		}
	}
	v.Tip(row, func(int, int) string { return v.groupTip(g) })
	switch {
	case selected:
		v.Buffer.Tint(row, v.Look.Selected)
	case g.denied > 0:
		v.Buffer.Tint(row, v.Look.DeniedGround)
	}
	folds := left + 3 + indent*g.depth + 1 // behind its mark
	v.OnClick(row, func(at int) tea.Cmd {
		v.focus = paneKeys
		if selected || at <= folds-left {
			v.openGroup(g, !v.groups.tree.open[g.path])
		}
		v.goTo(v.groups.tree.groupLine(g.path))
		return nil
	})
}

// indent is how many columns a group stands inside the one around it.
const indent = 2

func (v view) sumName(x, y, w int, g *group) {
	mark := v.Look.FoldedMark
	if v.groups.all || v.groups.tree.open[g.path] {
		mark = v.Look.OpenMark
	}
	at := x + 1 + indent*g.depth
	v.Buffer.Text(at, y, x+w, mark, v.Look.Accent)
	count := " " + format.Brief(int64(g.keys))
	room := max(w-3-indent*g.depth-len(count), 4)
	st := v.Look.Text
	if g.denied > 0 {
		st = v.Look.Title
	}
	at = v.Buffer.Text(at+2, y, x+w, safetext.Shorten(v.label(g.label), room, safetext.Ellipsis), st)
	v.Buffer.Text(at, y, x+w, count, v.Look.Dim)
}

// way stands between the parts of a group's name.
const way = " › "

// label is a group's name in the letters of the terminal.
func (v view) label(label string) string {
	if v.Buffer.ASCII {
		return strings.ReplaceAll(label, way, " > ")
	}
	return label
}

func (v view) sumLimiter(x, y, w int, g *group) {
	text := "mixed"
	if g.one {
		text = g.first.Reading.Target.Algorithm.Short()
	}
	v.Buffer.Text(x, y, x+w, text, v.Look.Dim)
}

func (v view) sumUsed(x, y, w int, g *group) {
	text, st := "", v.Look.Dim
	switch {
	case g.denied > 0:
		text, st = format.Brief(int64(g.denied))+" denied", v.Look.Denied
	case g.near > 0:
		text, st = format.Brief(int64(g.near))+" near", v.Look.Near
	case g.worst != nil:
		text = fmt.Sprintf("%.0f%%", 100*g.worst.Gauge.Utilization)
	}
	v.Buffer.Right(x, y, x+w, text, st)
}

func (v view) sumFill(x, y, w int, g *group) {
	if g.worst == nil {
		v.Buffer.Text(x, y, x+w, format.Unknown, v.Look.Unknown)
		return
	}
	chart.Meter(&v.Buffer, x, y, w, g.worst.Gauge.Utilization, v.Look)
	if g.denied+g.near == 0 {
		v.Buffer.Wash(cell.Rect{X: x, Y: y, W: w, H: 1}, v.Look.Fine)
	}
}

func (v view) sumRate(x, y, w int, g *group) {
	v.sumRight(x, y, w, g.rateKnown, g.rate, v.Look.Text)
}

func (v view) sumDenied(x, y, w int, g *group) {
	v.sumRight(x, y, w, g.deniedKnown, g.deniedSec, v.Look.Denied)
}

func (v view) sumRight(x, y, w int, known bool, rate float64, st themes.Style) {
	text := format.Unknown
	switch {
	case known && rate == 0:
		text, st = format.PerSecond(0), v.Look.Dim
	case known:
		text = format.PerSecond(rate)
	default:
		st = v.Look.Unknown
	}
	v.Buffer.Right(x, y, x+w, text, st)
}

func (v view) sumNext(x, y, w int, g *group) {
	if g.worst != nil && g.denied > 0 {
		v.Buffer.Right(x, y, x+w, session.NextText(&g.worst.Gauge, w), v.Look.Denied)
	}
}
