package keys

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/session"
)

// groupRow draws a group in the columns of the table: its way and how many keys it has,
// how many deny or are near, the fill of the nearest, and the sums of the rates.
func (v tableView) groupRow(x, y, w int, widths *[len(columns)]int, g *group) {
	left, row := x, cell.Rect{X: x, Y: y, W: w, H: 1}
	mark, markStyle := v.s.Mark(g.shown(), v.c.Look)
	selected := v.table.groups.at == g.path
	if selected {
		v.c.Buffer.Text(x, y, x+1, v.c.Look.SelMark, v.c.Look.Accent)
	}
	v.c.Buffer.Text(x+1, y, x+3, mark+" ", markStyle)
	x += 3
	for i, c := range columns {
		if cw := widths[i]; cw > 0 {
			if c.group != nil {
				c.group(groupCell{slot{v.c, x - 1, y, cw}, v.table, g})
			}
			x += cw + 1
		}
	}
	v.c.Tip(row, func(int, int) string { return v.table.groupTip(g) })
	switch {
	case selected:
		v.c.Buffer.Tint(row, v.c.Look.Selected)
	case g.denied > 0:
		v.c.Buffer.Tint(row, v.c.Look.DeniedGround)
	}
	folds := left + 3 + indent*g.depth + 1 // behind its mark
	v.c.OnClick(row, func(at int) tea.Cmd {
		v.focus()
		if selected || at <= folds-left {
			v.table.openGroup(g, !v.table.groups.tree.open[g.path])
		}
		v.table.goTo(v.table.groups.tree.groupLine(g.path))
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
	mark := c.c.Look.FoldedMark
	if c.table.groups.all || c.table.groups.tree.open[c.g.path] {
		mark = c.c.Look.OpenMark
	}
	at := c.x + 1 + indent*c.g.depth
	c.c.Buffer.Text(at, c.y, c.x+c.w, mark, c.c.Look.Accent)
	count := " " + format.Brief(int64(c.g.keys))
	room := max(c.w-3-indent*c.g.depth-len(count), 4)
	st := c.c.Look.Text
	if c.g.denied > 0 {
		st = c.c.Look.Title
	}
	at = c.c.Buffer.Text(at+2, c.y, c.x+c.w, safetext.Shorten(c.label(c.g.label), room, safetext.Ellipsis), st)
	c.c.Buffer.Text(at, c.y, c.x+c.w, count, c.c.Look.Dim)
}

// way stands between the parts of a group's name.
const way = " › "

// label is a group's name in the letters of the terminal.
func (c groupCell) label(label string) string {
	if c.c.Buffer.ASCII {
		return strings.ReplaceAll(label, way, " > ")
	}
	return label
}

func (c groupCell) limiter() {
	text := "mixed"
	if c.g.one {
		text = c.g.first.Reading.Target.Algorithm.Short()
	}
	c.text(text, c.c.Look.Dim)
}

func (c groupCell) used() {
	text, st := "", c.c.Look.Dim
	switch {
	case c.g.denied > 0:
		text, st = format.Brief(int64(c.g.denied))+" "+c.c.Look.OverMark, c.c.Look.Denied
	case c.g.near > 0:
		text, st = format.Brief(int64(c.g.near))+" "+c.c.Look.NearMark, c.c.Look.Near
	case c.g.worst != nil:
		text = fmt.Sprintf("%.0f%%", 100*c.g.worst.Gauge.Utilization)
	}
	c.right(text, st)
}

// limit is that of all keys of the group, where it is one.
func (c groupCell) limit() {
	if c.g.limit != nil {
		c.text(limitText(c.g.limit, c.w), c.c.Look.Dim)
	}
}

func (c groupCell) rate() {
	c.perSecond(c.g.rateKnown, c.g.rate, c.c.Look.Text)
}

func (c groupCell) denied() {
	c.perSecond(c.g.deniedKnown, c.g.deniedSec, c.c.Look.Denied)
}

func (c groupCell) perSecond(known bool, rate float64, st themes.Style) {
	text := format.Unknown
	switch {
	case known && rate == 0:
		text, st = format.PerSecond(0), c.c.Look.Dim
	case known:
		text = format.PerSecond(rate)
	default:
		st = c.c.Look.Unknown
	}
	c.right(text, st)
}

func (c groupCell) next() {
	if c.g.worst != nil && c.g.denied > 0 {
		c.right(session.NextText(&c.g.worst.Gauge, c.w), c.c.Look.Denied)
	}
}
