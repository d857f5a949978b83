package scope

import (
	"fmt"
	"time"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// axisWidth is the room for the numbers left of the charts.
const axisWidth = 6

// Paint draws the past of k into r. With hand the mouse points at this picture, and the
// cursor is shown on it.
func (c *Scope) Paint(p *pane.Paper, r cell.Rect, k *model.Watched, m Moment, hand bool) {
	if k == nil || k.Timeline == nil || r.W < axisWidth+8 || r.H < 3 {
		return
	}
	defer p.Grid.Clip(p.Grid.Clip(r))
	if k.Reading.Err != "" {
		p.Grid.Text(r.X+1, r.Y+1, r.X+r.W, "This key "+safetext.Clean(k.Reading.Err)+".", p.Look.Unknown)
		return
	}
	plot := cell.Rect{X: r.X + axisWidth, Y: r.Y, W: r.W - axisWidth, H: r.H}
	s := c.stretch(k, plot.W, m, p.Grid.ASCII)
	c.load(k, s, m)
	top, rest := plot.Top(1)
	body, labels := rest.Top(rest.H - 1)
	laneHeight := 0
	if body.H >= 5 {
		laneHeight = max(2, (body.H-1)*2/5)
	}
	arrivals, below := body.Top(body.H - laneHeight - 1)
	axis, lane := below.Top(1)
	c.paintBracket(p, top, k, s)
	c.paintScale(p, arrivals, s)
	c.paintAxis(p, axis, s)
	c.paintLevels(p, lane, k, s)
	c.paintTimes(p, labels, s, m)
	whole := cell.Rect{X: plot.X, Y: arrivals.Y, W: plot.W, H: body.H}
	c.tintWindow(p, whole, k, s)
	if hand {
		c.area, c.s, c.tl = whole, s, k.Timeline
		c.paintCursor(p, top, whole, k, s)
	}
}

// paintCursor reads the column under the cursor out, and marks what is being dragged over.
func (c *Scope) paintCursor(p *pane.Paper, top, r cell.Rect, k *model.Watched, s stretch) {
	if c.cursor == 0 {
		return
	}
	i := s.index(k.Timeline, c.cursor)
	if i < 0 || i >= s.n {
		c.cursor = 0
		return
	}
	from, to := i, i
	if c.dragging {
		from = max(s.index(k.Timeline, c.dragFrom), 0)
		from, to = min(from, i), max(from, i)
	}
	p.Grid.Tint(cell.Rect{X: r.X + from, Y: r.Y, W: to - from + 1, H: r.H}, p.Look.Selected)
	b := &c.shown()[i]
	text := " " + figure.ClockMillis(k.Timeline.ColumnBegin(s.last-int64(s.n-1-i), s.per)) + "  "
	switch {
	case !b.Watched && b.Admitted+b.Denied == 0:
		text += "nobody was looking "
	default:
		text += fmt.Sprintf("%d admitted, %d denied", b.Admitted, b.Denied)
		if n := b.InjectedAdmitted + b.InjectedDenied; n > 0 {
			text += fmt.Sprintf(", %d fired from here", n)
		}
		text += ", used " + figure.Counted(model.Count{Known: b.UsedKnown, N: b.Used}) + " "
	}
	x := min(max(top.X, top.X+i-safetext.Width(text)/2), top.X+top.W-safetext.Width(text))
	p.Grid.Text(x, top.Y, top.X+top.W, text, p.Look.Text.On(p.Look.Selected))
}

// paintBracket draws the sliding window over the columns that it covers.
func (c *Scope) paintBracket(p *pane.Paper, r cell.Rect, k *model.Watched, s stretch) {
	if k.Reading.Target.Window <= 0 {
		p.Grid.Text(r.X, r.Y, r.X+r.W, "window unknown: give it with --limit", p.Look.Unknown)
		return
	}
	from := s.index(k.Timeline, s.now.Add(-s.window))
	to := s.index(k.Timeline, s.now)
	b := p.Look.Box
	for i := max(from, 0); i <= min(to, s.n-1); i++ {
		glyph := b.H
		switch i {
		case from:
			glyph = b.TL
		case to:
			glyph = b.TR
		}
		p.Grid.Set(r.X+i, r.Y, glyph, p.Look.Accent)
	}
	if note := "denied: not recorded"; !k.Reading.Denied.Known && from > len(note) {
		p.Grid.Text(r.X, r.Y, r.X+from, note, p.Look.Faint)
	}
	label := " window " + figure.Length(s.window) + " "
	if from >= 0 && to-from > len(label)+2 && to < s.n+1 {
		p.Grid.Text(r.X+from+(to-from-len(label))/2+1, r.Y, r.X+r.W, label, p.Look.Accent)
	}
}

// paintScale draws the arrivals with their axis.
func (c *Scope) paintScale(p *pane.Paper, r cell.Rect, s stretch) {
	most := c.paintArrivals(p, r, s)
	p.Grid.Right(r.X-axisWidth, r.Y, r.X-1, figure.Short(most), p.Look.Dim)
	if r.H > 2 {
		p.Grid.Right(r.X-axisWidth, r.Y+1, r.X-1, "per", p.Look.Faint)
		p.Grid.Right(r.X-axisWidth, r.Y+2, r.X-1, perColumn(s.column), p.Look.Faint)
	}
}

// perColumn writes how long a column is in the room left of the charts.
func perColumn(d time.Duration) string {
	return figure.First(axisWidth-1, figure.Length(d.Round(time.Millisecond)), figure.SpanIn(d, axisWidth-1))
}

// paintAxis is the line between the charts: ticks where clock-aligned windows begin,
// marks where requests were fired from here.
func (c *Scope) paintAxis(p *pane.Paper, r cell.Rect, s stretch) {
	if r.H == 0 {
		return
	}
	edge, tick := s.edge(p), p.Look.Tick
	if s.fine && !s.shifted {
		tick = p.Look.TickL
	}
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
		p.Grid.Set(r.X+i, r.Y, glyph, st)
	}
}

// paintLevels draws the used lane with its axis.
func (c *Scope) paintLevels(p *pane.Paper, r cell.Rect, k *model.Watched, s stretch) {
	if r.H == 0 {
		return
	}
	row, most := c.paintLane(p, r, k, s)
	if row >= 0 {
		p.Grid.Right(r.X-axisWidth, row, r.X-1, figure.Short(model.Capacity(k.Reading.Target)), p.Look.Denied)
	} else {
		p.Grid.Right(r.X-axisWidth, r.Y, r.X-1, figure.Short(most), p.Look.Dim)
	}
	used := r.Y + r.H - 1
	if row == used { // the limit has the last row
		used = r.Y
	}
	if r.H > 1 {
		p.Grid.Right(r.X-axisWidth, used, r.X-1, "used", p.Look.Dim)
	}
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
func (c *Scope) paintTimes(p *pane.Paper, r cell.Rect, s stretch, m Moment) {
	const gap = 11
	right := r.X + r.W
	end := "now"
	if m.Stopped {
		end = figure.Clock(s.now.Add(-time.Duration(c.back) * s.column))
	}
	p.Grid.Right(r.X, r.Y, right, end, p.Look.Text)
	for _, step := range steps {
		if step < s.column*gap {
			continue
		}
		for n := time.Duration(1); ; n++ {
			x := right - 1 - int((n*step+s.column/2)/s.column)
			text := "-" + figure.Length(n*step)
			if x-len(text)/2 < r.X {
				return
			}
			if x+len(text)/2 < right-len(end)-1 {
				p.Grid.Text(x-len(text)/2, r.Y, right, text, p.Look.Dim)
			}
		}
	}
}
