package timeline

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// axisWidth is the room for the numbers left of the charts.
const axisWidth = 6

// Paint draws the past of k into r. With hand it is the picture that was arranged: the cursor is shown on it.
func (c *View) Paint(p *widget.Canvas, r cell.Rect, k *model.Watched, m Moment, hand bool) {
	defer p.Buffer.Clip(p.Buffer.Clip(r))
	if k != nil && k.Timeline != nil && k.Reading.Err != "" && r.W >= axisWidth+8 && r.H >= 3 {
		p.Buffer.Text(r.X+1, r.Y+1, r.X+r.W, "This key "+safetext.Clean(k.Reading.Err)+".", p.Look.Unknown)
		return
	}
	at := c.layOut(r, k, m, p.Buffer.ASCII)
	if at.tl == nil || at.area.H == 0 {
		return
	}
	s := at.s
	c.load(k, s, m)
	c.paintBracket(p, at.bracket, k, s)
	c.paintScale(p, at.arrivals, k, s)
	c.paintStrip(p, at.strip, k, s)
	c.paintAxis(p, at.axis, k, s)
	most := c.paintLevels(p, at.lane, k, s)
	if at.lane.H > 1 {
		p.Spans(at.axis.X+1, at.axis.Y, at.axis.X+at.axis.W, c.legend(p, k, s)...)
	}
	c.paintTimes(p, at.labels, s, m)
	c.tintWindow(p, at.arrivals, k, s)
	c.tintWindow(p, at.lane, k, s)
	c.paintRibbon(p, &at, k, most)
	if hand {
		c.paintLight(p, at.arrivals, k, s)
		c.paintCursor(p, &at, k)
	}
}

// paintCursor reads the column under the cursor out, and marks what is being dragged over.
func (c *View) paintCursor(p *widget.Canvas, pic *picture, k *model.Watched) {
	top, r, s := pic.bracket, pic.area, pic.s
	i := s.index(k.Timeline, c.cursor)
	if c.cursor == 0 || i < 0 || i >= s.n {
		return
	}
	from, to := i, i
	if c.dragging {
		from = max(s.index(k.Timeline, c.dragFrom), 0)
		from, to = min(from, i), max(from, i)
	}
	p.Buffer.Tint(cell.Rect{X: r.X + from, Y: r.Y, W: to - from + 1, H: r.H}, p.Look.Selected)
	text := " " + format.ClockMillis(k.Timeline.ColumnBegin(s.last-int64(s.n-1-i), s.per)) + "  " + Made(&c.shown()[i], k) + " "
	x := min(max(top.X, top.X+i-safetext.Width(text)/2), top.X+top.W-safetext.Width(text))
	p.Buffer.Text(x, top.Y, top.X+top.W, text, p.Look.Text.On(p.Look.Selected))
}

// paintBracket draws the window that counts over the columns that it covers. What has no
// window, a level that drains, has no bracket.
func (c *View) paintBracket(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) {
	if k.Reading.Target.Window <= 0 {
		p.Buffer.Text(r.X, r.Y, r.X+r.W, "window unknown: give it with --limit", p.Look.Unknown)
		return
	}
	from, to, yes := s.covered(k)
	if note := "denied: not recorded"; !k.Reading.Denied.Known && (!yes || from > len(note)) {
		p.Buffer.Text(r.X, r.Y, r.X+r.W, note, p.Look.Dim)
	}
	if !yes {
		return
	}
	b := p.Look.Box
	for i := max(from, 0); i <= min(to, s.n-1); i++ {
		glyph := b.H
		switch i {
		case from:
			glyph = b.TL
		case to:
			glyph = b.TR
		}
		p.Buffer.Set(r.X+i, r.Y, glyph, p.Look.Accent)
	}
	label := " window " + format.Length(s.window) + " "
	if to-from > len(label)+2 && to < s.n+1 {
		p.Buffer.Text(r.X+from+(to-from-len(label))/2+1, r.Y, r.X+r.W, label, p.Look.Accent)
	}
}

// paintScale draws the arrivals with their axis.
func (c *View) paintScale(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) {
	most := c.paintArrivals(p, r, k, s)
	p.Buffer.Right(r.X-axisWidth, r.Y, r.X-1, format.Short(most), p.Look.Dim)
	if r.H > 2 {
		p.Buffer.Right(r.X-axisWidth, r.Y+1, r.X-1, "per", p.Look.Dim)
		long := format.First(axisWidth-1, format.Length(s.column.Round(time.Millisecond)), format.SpanIn(s.column, axisWidth-1))
		p.Buffer.Right(r.X-axisWidth, r.Y+2, r.X-1, long, p.Look.Dim)
	}
}

// paintAxis is the line between the charts: ticks where clock-aligned windows begin,
// marks where requests were fired from here, and flags where a person marked a moment.
func (c *View) paintAxis(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) {
	if r.H == 0 {
		return
	}
	edge, tick := s.edge(p), p.Look.Tick
	for i := range s.n {
		glyph, st := p.Look.Axis, p.Look.Faint
		if _, begins := edge(i); begins {
			glyph, st = tick, p.Look.Dim
		}
		switch b := &c.shown()[i]; {
		case b.InjectedAdmitted > 0:
			glyph, st = p.Look.MarkYes, p.Look.Injected
		case b.InjectedDenied > 0:
			glyph, st = p.Look.MarkNo, p.Look.Injected
		}
		p.Buffer.Set(r.X+i, r.Y, glyph, st)
	}
	for _, m := range c.marked {
		if i := s.index(k.Timeline, m.At); i >= 0 && i < s.n && (m.Key == "" || m.Key == k.Reading.Key) {
			p.Buffer.Set(r.X+i, r.Y, p.Look.Flag, p.Look.Title)
		}
	}
}

// paintLevels draws the used lane with its axis and returns its scale.
func (c *View) paintLevels(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) int64 {
	if r.H == 0 {
		return 0
	}
	row, most := c.paintLane(p, r, k, s)
	if row >= 0 {
		p.Buffer.Right(r.X-axisWidth, row, r.X-1, format.Short(model.Capacity(k.Reading.Target)), p.Look.Denied)
	}
	if row < 0 || row > r.Y+1 { // the top is above the limit
		p.Buffer.Right(r.X-axisWidth, r.Y, r.X-1, format.Short(most), p.Look.Dim)
	}
	if bottom := r.Y + r.H - 1; row != bottom && r.H > 1 {
		p.Buffer.Right(r.X-axisWidth, bottom, r.X-1, "0", p.Look.Dim)
	}
	c.paintTruth(p, r, k, s, most)
	return most
}

// paintTimes labels the time axis with how long ago, and its end with the time of day
// when it is not now.
func (c *View) paintTimes(p *widget.Canvas, r cell.Rect, s timeRange, m Moment) {
	const gap = 11
	right := r.X + r.W
	end := collect.If(m.Stopped, format.Clock(s.now), "now")
	p.Buffer.Right(r.X, r.Y, right, end, p.Look.Text)
	for _, step := range chart.TimeSteps {
		if step < s.column*gap {
			continue
		}
		for n := time.Duration(1); ; n++ {
			x := right - 1 - int((n*step+s.column/2)/s.column)
			text := "-" + format.Length(n*step)
			if x-len(text)/2 < r.X {
				return
			}
			if x+len(text)/2 < right-len(end)-1 {
				p.Buffer.Text(x-len(text)/2, r.Y, right, text, p.Look.Dim)
			}
		}
	}
}

// ribbonShare is the part of the width that the future takes, and ribbonLeast how many
// columns it needs to tell something.
const (
	ribbonShare = 5
	ribbonLeast = 8
)

// ribbonWidth is how many columns of a plot show the future: none while it is scrolled back,
// where what came next is known, and none of a limiter whose limit is not.
func ribbonWidth(k *model.Watched, width int, m Moment) int {
	if m.Stopped || !m.Live || !k.Reading.Target.LimitKnown || k.Reading.Target.Limit.Count == 0 || k.Reading.Target.Window <= 0 {
		return 0
	}
	if w := width / ribbonShare; w >= ribbonLeast {
		return w
	}
	return 0
}

// paintRibbon draws right of now what would become of one more request if nothing else came:
// denied columns, then admitted ones, and the level as it falls.
func (c *View) paintRibbon(p *widget.Canvas, pic *picture, k *model.Watched, most int64) {
	s, words := pic.s, pic.axis.Y-1 // the row of words
	axis, lane := cell.Rect{X: pic.ahead.X, Y: pic.axis.Y, W: pic.ahead.W, H: 1}, cell.Rect{Y: pic.lane.Y, H: pic.lane.H}
	if axis.W <= 0 {
		return
	}
	l := &p.Look
	slot, n := -1, len(l.Rise)
	for i := range axis.W {
		at := s.ahead(i)
		g := k.Reading.Gauge(at)
		x := axis.X + i
		switch {
		case !g.NextKnown: // nothing is said of it
		case g.Throttled():
			p.Buffer.Set(x, axis.Y, l.Cross, l.Denied)
		default:
			if slot < 0 {
				slot = i
			}
			p.Buffer.Set(x, axis.Y, l.Axis, l.Good)
		}
		if lane.H > 0 && most > 0 && g.Used.Known && g.Used.N > 0 {
			fine := max(int(float64(g.Used.N)/float64(most)*float64(lane.H*n)), 1)
			y := lane.Y + lane.H - 1 - (fine-1)/n
			p.Buffer.Set(x, max(y, lane.Y), l.Room, l.Dim)
		}
	}
	p.Buffer.Right(axis.X, pic.labels.Y, axis.X+axis.W, "+"+format.SpanIn(s.column*time.Duration(axis.W), 5), l.Dim)
	next := k.Gauge.Next
	switch {
	case !k.Gauge.NextKnown || next == 0:
	case next == limiter.Never:
		p.Buffer.Text(axis.X, words, axis.X+axis.W, "never", l.Denied)
	default:
		text := format.Wait(next)
		x := axis.X + axis.W - len(text)
		if slot >= 0 {
			p.Buffer.Set(axis.X+slot, axis.Y, l.Slot, l.Title)
			x = min(axis.X+slot, x)
		}
		p.Buffer.Text(max(x, axis.X), words, axis.X+axis.W, text, l.Title)
	}
	for _, at := range c.planned {
		if i := int(at.Sub(s.now) / max(s.column, 1)); at >= s.now && i < axis.W {
			p.Buffer.Set(axis.X+i, axis.Y, l.MarkYes, l.Injected)
		}
	}
}

// ahead is the middle of a column right of now, counted from 0.
func (s timeRange) ahead(i int) limiter.Instant {
	return s.now.Add(s.column*time.Duration(i) + s.column/2)
}

// Future returns the instant of the cell x, y where that shows the future of the key. In the
// column of the next slot it is the slot itself, which is next from now on.
func (c *View) Future(x, y int, next time.Duration) (at limiter.Instant, yes bool) {
	if c.tl == nil || !c.ahead.Holds(x, y) {
		return 0, false
	}
	i, slot := x-c.ahead.X, c.s.now.Add(next)
	if at = c.s.ahead(i); next > 0 && slot <= at && (i == 0 || slot > c.s.ahead(i-1)) {
		return slot, true
	}
	return at, true
}

// Mark shows on the axis the markers that are about the key, or about none.
func (c *View) Mark(list []record.Marker) { c.marked = list }

// Plan marks the instants at which requests are going to be fired.
func (c *View) Plan(at []limiter.Instant) { c.planned = at }
