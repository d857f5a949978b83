package keys

import (
	"strings"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// slot is the room of a column in one row.
type slot struct {
	c       *widget.Canvas
	x, y, w int
}

// text writes from the left of the slot; what does not fit is cut off.
func (s slot) text(text string, st themes.Style) { s.c.Buffer.Text(s.x, s.y, s.x+s.w, text, st) }

// right writes up to the right end of the slot.
func (s slot) right(text string, st themes.Style) { s.c.Buffer.Right(s.x, s.y, s.x+s.w, text, st) }

// keyCell draws what a column says of a key.
type keyCell struct {
	slot
	table *table
	k     *model.Watched
}

// fine reports whether a key is at ease, and its row therefore without colours.
func (c keyCell) fine() bool {
	return !c.k.Gauge.Throttled() && !c.k.Gauge.Near() && c.k.Reading.Err == ""
}

// plain is the style of what a row says.
func (c keyCell) plain() themes.Style {
	if c.k.State(c.table.s.Shown.At()) == model.Silent {
		return c.c.Look.Dim
	}
	return c.c.Look.Text
}

func (c keyCell) name() {
	st := c.plain()
	if c.k.Gauge.Throttled() {
		st = c.c.Look.Title
	}
	if short, ok := c.table.names.short[c.k.Reading.Key]; ok && !c.k.Pinned {
		c.c.Buffer.Text(c.x+1, c.y, c.x+c.w, short, st)
		return
	}
	name := c.table.s.Name(c.k.Reading.Key)
	if g := c.table.groups.tree.of[c.k.Reading.Key]; c.table.groups.on && g != nil {
		name = strings.TrimPrefix(name, g.path)
		c.x, c.w = c.x+indent*(g.depth+1), c.w-indent*(g.depth+1)
	}
	if c.k.Pinned {
		name = c.c.Look.PinMark + " " + name
	}
	c.c.Buffer.Text(c.x+1, c.y, c.x+c.w, c.table.s.Families().Shorten(name, c.w-1, safetext.Ellipsis), st)
}

// server says on which of several servers the key is.
func (c keyCell) server() {
	c.text(safetext.Clip(c.table.s.Options.Target, c.w, safetext.Ellipsis), c.table.s.TargetStyle(c.c.Look))
}

func (c keyCell) limiter() {
	c.text(c.k.Reading.Target.Algorithm.Short(), c.c.Look.Dim)
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

func (c keyCell) rate() {
	text, st := format.Unknown, c.c.Look.Unknown
	if rate, known := c.k.Gauge.Pace(); known { // that of the window is beside the timeline
		text, st = format.PerSecond(rate), c.plain()
		if rate == 0 {
			st = c.c.Look.Dim
		}
	}
	c.right(text, st)
}

func (c keyCell) denied() {
	text, st := format.Unknown, c.c.Look.Unknown
	if c.k.Gauge.DeniedInW.Known {
		text, st = format.PerSecond(c.k.Gauge.DeniedPerSec), c.c.Look.Denied
		if c.k.Gauge.DeniedInW.N == 0 {
			text, st = "", c.c.Look.Dim
		}
	}
	c.right(text, st)
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
