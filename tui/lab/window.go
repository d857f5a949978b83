package lab

import (
	"time"

	"ratescope/limiter"
	"ratescope/model/lab"
	"ratescope/themes"
	"ratescope/tui/cell"
)

// ownWindow is what a candidate looks at: a stretch of time, and beside it what is its own
// alone. Colour marks it as well as shape, for a projector and for paper.
type ownWindow struct {
	from, to limiter.Instant // what counts
	faded    limiter.Instant // before from: what counts in part; from where there is none
	leaves   limiter.Instant // the entry that leaves next; 0 none
	tat      limiter.Instant // of GCRA; 0 none
	level    float64         // of a bucket, 0 to 1; below 0 none
}

// windowOf returns what candidate i of a run looks at now.
func windowOf(run *lab.Run, i int) ownWindow {
	s, now := run.Setup(), run.Now()
	c, state, d := s.Candidates[i], run.State(i), run.Ask(i, 0).Decision
	w := s.Limit.Window
	o := ownWindow{from: now.Add(-w), to: now, level: -1}
	switch c.Algorithm.Kind() {
	case limiter.KindWindow:
		o.from, o.to = d.Start, d.End
	case limiter.KindWeighted:
		o.from, o.to, o.faded = d.Start, now, now.Add(-w)
	case limiter.KindLog:
		o.from = now.Add(-reachOf(c, s))
		for _, e := range state.Log {
			if e.At > o.from || e.At == o.from && run.Terms(i).Edge == limiter.EdgeClosed {
				o.leaves = e.At
				break
			}
		}
	case limiter.KindArrival:
		if o.from = now; state.TAT > now {
			o.tat = state.TAT
		}
	case limiter.KindBucket:
		o.from = now
		if room := c.Room(s.Limit); room > 0 {
			o.level = state.LevelAt(now, s.Limit, run.Terms(i)) / float64(room)
		}
	}
	if o.faded == 0 {
		o.faded = o.from
	}
	return o
}

// window draws what a lane's candidate looks at: on its body as ground, on its axis as
// a bracket, and over what is still to come the TAT or the level.
func (p lanePainter) window(body, plot, axis cell.Rect) {
	o, s := windowOf(p.run, p.i), p.s
	now := p.run.Now()
	column := func(t limiter.Instant) int { return int(max(min(s.column(t)-s.first, int64(s.n)), -1)) }
	ground := func(from, to limiter.Instant, ink themes.Ink) {
		a, b := max(column(from), 0), min(column(to), s.now)
		if from < to && b >= a {
			p.c.Buffer.Tint(cell.Rect{X: body.X + a, Y: body.Y, W: b - a + 1, H: body.H}, ink)
		}
	}
	if o.faded < o.from {
		ground(o.faded, o.from-1, p.c.Look.Raised)
	}
	ground(o.from, min(o.to, now), p.c.Look.Window)
	if axis.Y == plot.Y { // a lane of one row has no axis of its own
		return
	}
	if o.from < o.to {
		p.bracket(axis, column(o.from), column(o.to), column(o.faded))
	}
	if o.leaves != 0 && column(o.leaves) >= 0 {
		p.c.Buffer.Set(plot.X+column(o.leaves), plot.Y, p.c.Look.Leaves, p.c.Look.Accent)
	}
	switch ahead := s.now + 1; {
	case o.tat != 0:
		end := min(column(o.tat), s.n-1)
		p.c.Buffer.Fill(plot.X+ahead, plot.Y, max(end-ahead, 0), p.c.Look.Axis, p.c.Look.Accent)
		p.c.Buffer.Set(plot.X+max(end, ahead), plot.Y, p.c.Look.Ahead, p.c.Look.Accent)
		p.c.Buffer.Text(plot.X+max(end, ahead)+1, plot.Y, plot.X+s.n, " TAT", p.c.Look.Accent)
	case o.level >= 0:
		p.vessel(cell.Rect{X: plot.X + ahead + 1, Y: plot.Y, W: 4, H: plot.H}, o.level, plot.X+s.n)
	}
}

// bracket draws the ends of a window on the axis.
func (p lanePainter) bracket(axis cell.Rect, from, to, faded int) {
	box := p.c.Look.Box
	if faded < from && faded >= 0 {
		p.c.Buffer.Set(axis.X+faded, axis.Y, box.BL, p.c.Look.Dim)
		p.c.Buffer.Set(axis.X+from, axis.Y, p.c.Look.Tick, p.c.Look.Accent)
	} else if from >= 0 {
		p.c.Buffer.Set(axis.X+from, axis.Y, box.BL, p.c.Look.Accent)
	}
	if to < axis.W {
		p.c.Buffer.Set(axis.X+to, axis.Y, box.BR, p.c.Look.Accent)
	}
}

// vessel draws a bucket with its level.
func (p lanePainter) vessel(r cell.Rect, level float64, end int) {
	if r.X+r.W > end || r.H < 1 {
		return
	}
	eighths := int(min(max(level, 0), 1)*float64(r.H*len(p.c.Look.Rise)) + 0.5)
	for row := range r.H {
		y := r.Y + r.H - 1 - row
		p.c.Buffer.Set(r.X, y, p.c.Look.Box.V, p.c.Look.Accent)
		p.c.Buffer.Set(r.X+r.W-1, y, p.c.Look.Box.V, p.c.Look.Accent)
		if fill := min(eighths-row*len(p.c.Look.Rise), len(p.c.Look.Rise)); fill > 0 {
			p.c.Buffer.Fill(r.X+1, y, r.W-2, p.c.Look.Rise[fill-1], p.c.Look.Current)
		}
	}
}

// ribbon draws on the axis of what is still to come whether one more request would be
// admitted there, if nothing else came but what comes by itself.
func (p lanePainter) ribbon(axis cell.Rect, cost int64) {
	s := p.s
	from := s.now + 1
	if from >= s.n || p.run.Setup().Limit.Count == 0 {
		return
	}
	step := s.length()
	fits := p.run.Future(p.i, s.begin(from), max(step, time.Microsecond), s.n-from, cost)
	for k, ok := range fits {
		glyph, st := p.c.Look.Limit, p.c.Look.Denied
		if ok {
			glyph, st = p.c.Look.Fits, p.c.Look.Admitted
		}
		if ok && k > 0 && !fits[k-1] {
			glyph = p.c.Look.Slot
		}
		if s.opensWindow(from+k) && glyph != p.c.Look.Slot {
			continue // the edge stays visible
		}
		p.c.Buffer.Set(axis.X+from+k, axis.Y, glyph, st)
	}
}
