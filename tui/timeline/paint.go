package timeline

import (
	"fmt"
	"time"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// axisWidth is the room for the numbers left of the charts.
const axisWidth = 6

// sumFrom is the height of the arrivals from which the sum of the windows has a row there.
const sumFrom = 6

// Paint draws the past of k into r. With hand it is the picture that was arranged: the cursor is shown on it.
func (c *View) Paint(p *widget.Canvas, r cell.Rect, k *model.Watched, m Moment, hand bool) {
	defer p.Buffer.Clip(p.Buffer.Clip(r))
	if k != nil && k.Timeline != nil && k.Reading.Err != "" && r.W >= axisWidth+8 && r.H >= 3 {
		p.Buffer.Text(r.X+1, r.Y+1, r.X+r.W, "This key "+safetext.Clean(k.Reading.Err)+".", p.Look.Unknown)
		return
	}
	at := c.layOut(r, k, m, p.Buffer.ASCII)
	if at.tl == nil {
		return
	}
	s := at.s
	c.load(k, s, m)
	c.paintBracket(p, at.bracket, k, s)
	c.paintScale(p, at.arrivals, k, s)
	c.paintStrip(p, at.strip, k, s)
	c.paintSum(p, at.sum, k, s)
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
	b := &c.shown()[i]
	text := " " + format.ClockMillis(k.Timeline.ColumnBegin(s.last-int64(s.n-1-i), s.per)) + "  "
	switch {
	case !b.Watched && b.Admitted+b.Denied == 0:
		text += "not watched "
	default:
		text += fmt.Sprintf("%d admitted, %d denied", b.Admitted, b.Denied)
		if n := b.InjectedAdmitted + b.InjectedDenied; n > 0 {
			text += fmt.Sprintf(", %d fired from here", n)
		}
		text += ", used " + model.Count{Known: b.UsedKnown, N: b.Used}.Short() + " "
	}
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
		p.Buffer.Right(r.X-axisWidth, r.Y+2, r.X-1, perColumn(s.column), p.Look.Dim)
	}
}

// perColumn writes how long a column is in the room left of the charts.
func perColumn(d time.Duration) string {
	return format.First(axisWidth-1, format.Length(d.Round(time.Millisecond)), format.SpanIn(d, axisWidth-1))
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

// steps are the distances between labels of the time axis.
var steps = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// paintTimes labels the time axis with how long ago, and its end with the time of day
// when it is not now.
func (c *View) paintTimes(p *widget.Canvas, r cell.Rect, s timeRange, m Moment) {
	const gap = 11
	right := r.X + r.W
	end := "now"
	if m.Stopped {
		end = format.Clock(s.now.Add(-time.Duration(s.back) * s.column))
	}
	p.Buffer.Right(r.X, r.Y, right, end, p.Look.Text)
	for _, step := range steps {
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
