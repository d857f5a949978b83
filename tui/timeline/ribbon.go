package timeline

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

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
	s, words := pic.s, pic.axis.Y-1-pic.sum.H // the row of words
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
		if g.Throttled() {
			p.Buffer.Set(x, axis.Y, l.Cross, l.Denied)
		} else {
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
		text := format.Span(next)
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
