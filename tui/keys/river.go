package keys

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/state"
	"ratescope/tui/timeline"
	"ratescope/tui/widget"
)

// columnLengths are the lengths of time that a column of the lanes may stand for.
var columnLengths = [...]time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute,
}

// axis is the time axis that all lanes share. Now is on the cell behind the past.
type axis struct {
	past, ahead int // cells before and after the line at now
	column      time.Duration
	newest, now limiter.Instant // end of the column that holds now
	known       limiter.Instant // end of the column of which the figures are
}

// axisOf returns the axis of lanes of so many cells: about the last minute, and a quarter as much of
// the time to come.
func axisOf(cells int, now, known limiter.Instant) axis {
	const minute = 50 * time.Second // "about"
	a := axis{now: now, ahead: max(cells/4, 0), column: columnLengths[len(columnLengths)-1]}
	a.past = max(cells-a.ahead-1, 0)
	for _, d := range columnLengths {
		if time.Duration(a.past)*d >= minute {
			a.column = d
			break
		}
	}
	a.newest, a.known = now.Floor(a.column).Add(a.column), known.Floor(a.column).Add(a.column)
	return a
}

// lanes keeps the cells of the keys that were on screen lately. The zero value is ready.
type lanes struct {
	axis  axis
	known map[string]*chart.History
}

// begin begins a picture of lanes of so many cells. Once far more keys are kept than are on screen, all are worked out anew.
func (l *lanes) begin(cells int, shown *state.Boards) {
	const most = 512
	if l.axis = axisOf(cells, shown.At(), shown.FiguresAt()); len(l.known) > most {
		l.known = nil
	}
}

// paint draws the lane of a key.
func (l *lanes) paint(s slot, k *model.Watched, calm bool) {
	y := collect.Entry(&l.known, k.Reading.Key)
	y.Past.Update(k, l.axis.newest, l.axis.now, l.axis.column, l.axis.past)
	y.Coming.Update(k, l.axis.known, l.axis.column, l.axis.ahead)
	chart.River(&s.c.Buffer, s.x, s.y, s.h, y.Past.Cells, y.Coming.Columns, calm, &s.c.Look)
}

// at says which instant a cell of a lane shows, and whether it is one of the time to come.
func (a axis) at(cells int) (from limiter.Instant, coming bool) {
	if cells >= a.past {
		return a.newest.Add(time.Duration(cells-a.past-1) * a.column), true
	}
	return a.newest.Add(-time.Duration(a.past-cells) * a.column), false
}

// lane draws the last minute of a key and what is to come.
func (c keyCell) lane() {
	if c.k.Timeline == nil || c.k.Reading.Err != "" {
		return
	}
	c.table.lanes.paint(c.slot, c.k, c.fine())
}

// lane draws that of the key of a group that is nearest to its limit.
func (c groupCell) lane() {
	if k := c.g.shown(); k != nil && k.Timeline != nil && k.Reading.Err == "" {
		c.table.lanes.paint(c.slot, k, c.g.denied+c.g.near == 0)
	}
}

// laneTip says what the lanes show.
func (t *table) laneTip(k *model.Watched, cells int) string {
	at, coming := t.lanes.axis.at(cells)
	if coming {
		return nextTip(&k.Gauge, 1) + " To the right of the line is what becomes of the key if no other request comes."
	}
	end := min(at.Add(t.lanes.axis.column), k.Reading.At+1)
	if end <= at {
		return format.Clock(at) + ": not read since."
	}
	b := k.Timeline.Between(at, end)
	return format.Clock(at) + ": " + timeline.Made(&b, k) + "."
}

// slot is the room of a column in one row, of so many lines.
type slot struct {
	c          *widget.Canvas
	x, y, w, h int
}

// text writes from the left of the slot; what does not fit is cut off.
func (s slot) text(text string, st themes.Style) { s.c.Buffer.Text(s.x, s.y, s.x+s.w, text, st) }

// right writes up to the right end of the slot.
func (s slot) right(text string, st themes.Style) { s.c.Buffer.Right(s.x, s.y, s.x+s.w, text, st) }

// perSecond writes a rate in a style, and dim where it is 0.
func (s slot) perSecond(rate model.Measure, st themes.Style) {
	switch {
	case !rate.Known:
		st = s.c.Look.Unknown
	case rate.V == 0:
		st = s.c.Look.Dim
	}
	s.right(rate.Text(format.PerSecond), st)
}

// keyCell draws what a column says of a key.
type keyCell struct {
	slot
	table *table
	k     *model.Watched
	faded bool // it is dim where the key is at ease
}

// fine reports whether a key is at ease, and its row therefore without colours.
func (c keyCell) fine() bool {
	return !c.k.Gauge.Throttled() && !c.k.Gauge.Near() && c.k.Reading.Err == ""
}

// plain is the style of what a row says.
func (c keyCell) plain() themes.Style {
	return collect.If(c.k.State(c.table.s.Shown.At()) == model.Silent || c.faded && c.fine(), c.c.Look.Dim, c.c.Look.Text)
}

func (c keyCell) name() {
	st := collect.If(c.k.Gauge.Throttled(), c.c.Look.Title, c.plain())
	if short, ok := c.table.names.short[c.k.Reading.Key]; ok && !c.k.Pinned {
		c.c.Buffer.Text(c.x+1, c.y, c.x+c.w, short, st)
		return
	}
	name := c.table.s.Names.Of(c.k.Reading.Key)
	if g := c.table.groups.tree.of[c.k.Reading.Key]; c.table.groups.on && g != nil {
		name = strings.TrimPrefix(name, g.path)
		c.x, c.w = c.x+indent*(g.depth+1), c.w-indent*(g.depth+1)
	}
	if c.k.Pinned {
		name = c.c.Look.PinMark + " " + name
	}
	c.c.Buffer.Text(c.x+1, c.y, c.x+c.w, c.table.s.Names.Families().Shorten(name, c.w-1, safetext.Ellipsis), st)
}

// server says on which of several servers the key is.
func (c keyCell) server() {
	c.text(safetext.Clip(c.table.s.Options.Target, c.w, safetext.Ellipsis), session.TargetStyle(c.table.s.Options.Colour, c.c.Look))
}

func (c keyCell) limiter() {
	c.text(describe.Short(c.k.Reading.Target.Algorithm), c.c.Look.Dim)
}

// library says whose limiter it is, or what else says that it is one.
func (c keyCell) library() {
	t := &c.k.Reading.Target
	text, st := t.Library, c.c.Look.Dim
	switch {
	case t.Evidence == model.Likely:
		text, st = "~likely", c.c.Look.Unknown
	case t.Evidence == model.Told || text == "":
		text = t.Evidence.String()
	}
	c.text(safetext.Clip(safetext.Clean(text), c.w, safetext.Ellipsis), st)
}

// limit says what the key admits in which time.
func (c keyCell) limit() { c.text(limitText(&c.k.Reading.Target, c.w), c.c.Look.Dim) }

// limitText writes a limit in at most so many columns: 5 per 30s, or 5/30s.
func limitText(t *model.Target, columns int) string {
	if !t.LimitKnown || t.Window <= 0 || t.Limit.Count == 0 {
		return format.Unknown
	}
	n, window := format.Short(t.Limit.Count), format.Length(t.Window)
	return format.First(columns, n+" per "+window, n+"/"+window, format.Brief(t.Limit.Count)+"/"+window, n)
}

// rate is that of the latest seconds; that of the window is beside the timeline.
func (c keyCell) rate() { c.perSecond(c.k.Gauge.Pace(), c.plain()) }

func (c keyCell) denied() {
	if d := c.k.Gauge.DeniedPerSec; !d.Known || d.V > 0 {
		c.perSecond(d, c.c.Look.Denied)
	}
}

// next says how long the wait is or, of a key that is near its limit, how much room there is.
func (c keyCell) next() {
	g := &c.k.Gauge
	switch {
	case !g.NextKnown:
		c.right(format.Unknown, c.c.Look.Unknown)
	case g.Next != 0:
		c.right(session.NextText(g, c.w), c.c.Look.Denied)
	case g.Remaining.Known && !c.fine():
		c.right(format.First(c.w, "room "+format.Brief(g.Remaining.N), format.Brief(g.Remaining.N)), c.c.Look.Near)
	}
}

func (c keyCell) used() {
	if c.k.Reading.Err != "" {
		c.right("unreadable", c.c.Look.Unknown)
		return
	}
	st := c.plain()
	switch {
	case c.k.Gauge.Throttled():
		st = c.c.Look.Denied
	case c.k.Gauge.Near():
		st = c.c.Look.Near
	}
	c.right(session.UsedText(c.k, c.w), st)
}

// groupMouse lets the row of a group answer the mouse: a click on its mark, or on the selected one, opens or folds it.
func (v tableView) groupMouse(row cell.Rect, g *group, selected bool) {
	v.c.Tip(row, func(int, int) string { return v.table.groupTip(g) })
	folds := 3 + indent*g.depth + 1 // behind its mark
	v.c.OnClick(row, func(at int) tea.Cmd {
		v.focus()
		if selected || at <= folds {
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
	mark := collect.If(c.table.groups.all || c.table.groups.tree.open[c.g.path], c.c.Look.OpenMark, c.c.Look.FoldedMark)
	at := c.x + 1 + indent*c.g.depth
	c.c.Buffer.Text(at, c.y, c.x+c.w, mark, c.c.Look.Accent)
	count := " " + format.Brief(int64(c.g.keys))
	room := max(c.w-3-indent*c.g.depth-len(count), 4)
	st := collect.If(c.g.denied > 0, c.c.Look.Title, c.c.Look.Text)
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
		text = describe.Short(c.g.first.Reading.Target.Algorithm)
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

func (c groupCell) rate() { c.perSecond(c.g.rate, c.c.Look.Text) }

func (c groupCell) denied() { c.perSecond(c.g.deniedSec, c.c.Look.Denied) }

func (c groupCell) next() {
	if c.g.worst != nil && c.g.denied > 0 {
		c.right(session.NextText(&c.g.worst.Gauge, c.w), c.c.Look.Denied)
	}
}
