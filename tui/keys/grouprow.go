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

// groupRow draws a group in the columns of the table: its way and how many keys it has,
// how many deny or are near, the fill of the nearest, and the sums of the rates.
func (v tableView) groupRow(x, y, w int, widths *[len(columns)]int, g *group) {
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
			if c.group != nil {
				c.group(groupCell{slot{v.Canvas, x - 1, y, cw}, v.table, g})
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
		v.focus()
		if selected || at <= folds-left {
			v.openGroup(g, !v.groups.tree.open[g.path])
		}
		v.goTo(v.groups.tree.groupLine(g.path))
		return nil
	})
}

// indent is how many columns a group stands inside the one around it.
const indent = 2

// groupCell draws what a column says of a group.
type groupCell struct {
	slot
	table *table
	g     *group
}

func (c groupCell) name() {
	mark := c.Look.FoldedMark
	if c.table.groups.all || c.table.groups.tree.open[c.g.path] {
		mark = c.Look.OpenMark
	}
	at := c.x + 1 + indent*c.g.depth
	c.Buffer.Text(at, c.y, c.x+c.w, mark, c.Look.Accent)
	count := " " + format.Brief(int64(c.g.keys))
	room := max(c.w-3-indent*c.g.depth-len(count), 4)
	st := c.Look.Text
	if c.g.denied > 0 {
		st = c.Look.Title
	}
	at = c.Buffer.Text(at+2, c.y, c.x+c.w, safetext.Shorten(c.label(c.g.label), room, safetext.Ellipsis), st)
	c.Buffer.Text(at, c.y, c.x+c.w, count, c.Look.Dim)
}

// way stands between the parts of a group's name.
const way = " › "

// label is a group's name in the letters of the terminal.
func (c groupCell) label(label string) string {
	if c.Buffer.ASCII {
		return strings.ReplaceAll(label, way, " > ")
	}
	return label
}

func (c groupCell) limiter() {
	text := "mixed"
	if c.g.one {
		text = c.g.first.Reading.Target.Algorithm.Short()
	}
	c.text(text, c.Look.Dim)
}

func (c groupCell) used() {
	text, st := "", c.Look.Dim
	switch {
	case c.g.denied > 0:
		text, st = format.Brief(int64(c.g.denied))+" denied", c.Look.Denied
	case c.g.near > 0:
		text, st = format.Brief(int64(c.g.near))+" near", c.Look.Near
	case c.g.worst != nil:
		text = fmt.Sprintf("%.0f%%", 100*c.g.worst.Gauge.Utilization)
	}
	c.right(text, st)
}

func (c groupCell) fill() {
	if c.g.worst == nil {
		c.text(format.Unknown, c.Look.Unknown)
		return
	}
	chart.Meter(&c.Buffer, c.x, c.y, c.w, c.g.worst.Gauge.Utilization, c.Look)
	if c.g.denied+c.g.near == 0 {
		c.Buffer.Wash(c.rect(), c.Look.Fine)
	}
}

func (c groupCell) rate() {
	c.perSecond(c.g.rateKnown, c.g.rate, c.Look.Text)
}

func (c groupCell) denied() {
	c.perSecond(c.g.deniedKnown, c.g.deniedSec, c.Look.Denied)
}

func (c groupCell) perSecond(known bool, rate float64, st themes.Style) {
	text := format.Unknown
	switch {
	case known && rate == 0:
		text, st = format.PerSecond(0), c.Look.Dim
	case known:
		text = format.PerSecond(rate)
	default:
		st = c.Look.Unknown
	}
	c.right(text, st)
}

func (c groupCell) next() {
	if c.g.worst != nil && c.g.denied > 0 {
		c.right(session.NextText(&c.g.worst.Gauge, c.w), c.Look.Denied)
	}
}
