package window

import (
	"math"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// picture is how many rows the picture of an algorithm takes.
const picture = 2

// paintPicture draws how the algorithm of k sees time, and says whether it has a picture.
func (s *sheet) paintPicture(r cell.Rect, k *model.Watched) bool {
	t, g := k.Reading.Target, &k.Gauge
	if r.W < 24 || t.Window <= 0 {
		return false
	}
	switch t.Algorithm {
	case limiter.SlidingLog, limiter.StreamCounter:
		s.paintLog(r, k)
	case limiter.SlidingWindow, limiter.FixedWindow:
		if g.End <= g.Start {
			return false
		}
		s.paintWindows(r, k)
	case limiter.GCRA:
		if !t.LimitKnown || t.Limit.Count == 0 {
			return false
		}
		s.paintTAT(r, k)
	case limiter.TokenBucket, limiter.LeakyBucket:
		if !t.LimitKnown || t.Limit.Count == 0 {
			return false
		}
		s.paintDrop(r, k)
	default:
		return false
	}
	return true
}

// dots are the marks of a row that is divided into half cells.
type dots []int64

// paintDots draws a row of counts, two a cell, each as a stroke from below.
func (s *sheet) paintDots(x, y int, d dots) {
	var most int64 = 1
	for _, n := range d {
		most = max(most, n)
	}
	height := func(n int64) int {
		if n <= 0 {
			return 0
		}
		return max(2, int(math.Round(4*float64(n)/float64(most))))
	}
	for i := 0; i+1 < len(d); i += 2 {
		left, right := height(d[i]), height(d[i+1])
		if left+right == 0 {
			continue
		}
		glyph := strokeLeft[left] | strokeRight[right] | 0x2800
		if s.Grid.ASCII {
			glyph = '|'
		}
		s.Grid.Set(x+i/2, y, glyph, s.Look.Admitted)
	}
}

var (
	strokeLeft  = [...]rune{0, 0x40, 0x44, 0x46, 0x47}
	strokeRight = [...]rune{0, 0x80, 0xa0, 0xb0, 0xb8}
)

// paintLog draws every entry of the window at its age: they walk left and leave one by
// one, and the one that leaves next is named below.
func (s *sheet) paintLog(r cell.Rect, k *model.Watched) {
	w := k.Reading.Target.Window
	cells := r.W - 2
	row := make(dots, 2*cells)
	begin := s.now.Add(-w)
	var first *limiter.Entry
	for i := range k.Reading.State.Log {
		e := &k.Reading.State.Log[i]
		if e.At <= begin || e.At > s.now || e.Count <= 0 {
			continue
		}
		if first == nil {
			first = e
		}
		at := int(float64(e.At.Sub(begin)) / float64(w) * float64(len(row)))
		row[min(max(at, 0), len(row)-1)] += e.Count
	}
	s.Grid.Set(r.X, r.Y, s.Look.Box.V, s.Look.Accent)
	s.Grid.Set(r.X+r.W-1, r.Y, s.Look.Box.V, s.Look.Accent)
	s.Grid.Tint(cell.Rect{X: r.X + 1, Y: r.Y, W: cells, H: 1}, s.Look.Window)
	s.paintDots(r.X+1, r.Y, row)
	s.Grid.Ground(cell.Rect{X: r.X + 1, Y: r.Y, W: cells, H: 1}, s.Look.Window)
	end := r.X + r.W
	s.Grid.Right(r.X, r.Y+1, end, "now", s.Look.Dim)
	x := s.Words(r.X, r.Y+1, end-4, pane.Bit("-"+figure.Length(w)+" ", s.Look.Dim))
	if first == nil {
		s.Words(x, r.Y+1, end-4, pane.Bit("the window is empty", s.Look.Dim))
		return
	}
	at := r.X + 1 + int(float64(first.At.Sub(begin))/float64(w)*float64(cells))
	in := figure.Span(first.At.Sub(begin))
	text := s.up() + " leaves in " + in
	if first.Count > 1 {
		text = s.up() + " " + figure.Short(first.Count) + " leave in " + in
	}
	text = figure.First(end-4-x, text, s.up()+" "+in)
	s.Words(max(x, min(at, end-5-len(text))), r.Y+1, end-4, pane.Bit(text, s.Look.Previous))
}

func (s *sheet) up() string {
	if s.Grid.ASCII {
		return "^"
	}
	return "↑"
}

// paintWindows draws the two clock-aligned windows as they lie in time, and over them what
// the algorithm looks at: for the weighted counter the sliding window, whose left edge
// walks out of the previous one; for the fixed window the current one alone, which fills.
func (s *sheet) paintWindows(r cell.Rect, k *model.Watched) {
	g, fixed := &k.Gauge, k.Reading.Target.Algorithm == limiter.FixedWindow
	w := g.End.Sub(g.Start)
	passed := min(max(float64(s.now.Sub(g.Start))/float64(w), 0), 1)
	half := (r.W - 1) / 2
	edge := r.X + half
	now := edge + 1 + int(math.Round(passed*float64(half-1)))
	from := edge - int(math.Round((1-passed)*float64(half)))
	if fixed {
		from = edge
	}
	y := r.Y + 1
	s.Grid.Fill(r.X, y, half, s.Look.Gone, s.Look.Faint)
	if !fixed {
		s.Grid.Fill(from, y, edge-from, s.Look.Rise[len(s.Look.Rise)/2-1], s.Look.Previous)
	}
	s.Grid.Fill(edge+1, y, half, s.Look.Room, s.Look.Faint)
	s.Grid.Fill(edge+1, y, now-edge-1, s.Look.Rise[len(s.Look.Rise)/2-1], s.Look.Current)
	s.Grid.Set(edge, y, s.Look.Box.V, s.Look.Dim)
	b := s.Look.Box
	s.Grid.Fill(from, r.Y, now-from, b.H, s.Look.Accent)
	s.Grid.Set(from, r.Y, b.TL, s.Look.Accent)
	s.Grid.Set(now, r.Y, b.TR, s.Look.Accent)
	label := " sliding window "
	if fixed {
		label = " this window "
		in := figure.Span(g.End.Sub(s.now))
		s.Grid.Text(r.X, r.Y, from, figure.First(half-1, "from zero again in "+in, "zero again in "+in, "zero in "+in), s.Look.Dim)
	}
	if room := now - from; room > len(label)+2 {
		s.Grid.Text(from+(room-len(label))/2+1, r.Y, now, label, s.Look.Accent)
	}
}

// paintTAT draws the theoretical arrival time on the axis of time that begins now: what is
// filled must pass before the key is as new, and a request that would put it beyond the
// tolerance is denied.
func (s *sheet) paintTAT(r cell.Rect, k *model.Watched) {
	t, g := k.Reading.Target, &k.Gauge
	capacity := model.Capacity(t)
	interval := t.Window / time.Duration(t.Limit.Count)
	tolerance := interval * time.Duration(capacity)
	ahead := min(max(0, g.TAT.Sub(s.now)), tolerance)
	cells := r.W - 1
	place := func(d time.Duration) int { return r.X + int(math.Round(float64(d)/float64(tolerance)*float64(cells))) }
	s.Grid.Fill(r.X, r.Y, cells, s.Look.Axis, s.Look.Faint)
	if capacity <= int64(cells/2) { // one tick a request, where they can be told apart
		for i := range capacity {
			s.Grid.Set(place(interval*time.Duration(i)), r.Y, s.Look.Tick, s.Look.Dim)
		}
	}
	head := place(ahead)
	st := s.Look.Fill(g.Utilization)
	n := len(s.Look.Reach)
	s.Grid.Fill(r.X, r.Y, head-r.X, s.Look.Reach[n-1], st)
	s.Grid.Set(r.X+cells, r.Y, s.Look.LimitV, s.Look.Denied)
	end := r.X + r.W
	tail := "tolerance " + figure.Span(tolerance)
	s.Grid.Right(r.X, r.Y+1, end, tail, s.Look.Dim)
	x := s.Words(r.X, r.Y+1, end, pane.Bit("now ", s.Look.Dim))
	text := s.up() + " TAT +" + figure.Span(ahead)
	if ahead == 0 {
		text = "TAT has passed: as new"
	}
	s.Words(min(max(x, head), end-len(tail)-len(text)-1), r.Y+1, end-len(tail)-1, pane.Bit(text, st))
}

// paintDrop draws the bucket with a unit in each cell where they fit, and below it the
// token or drop that is under way.
func (s *sheet) paintDrop(r cell.Rect, k *model.Watched) {
	t, g := k.Reading.Target, &k.Gauge
	capacity := model.Capacity(t)
	limit := t.Limit
	limit.Window = t.Window
	level, under := k.Reading.State.LevelAt(s.now, limit, t.Convention), "next token"
	leaky := t.Algorithm == limiter.LeakyBucket
	st := s.Look.Current
	if leaky {
		under, st = "next drop", s.Look.Fill(g.Utilization)
	}
	level = min(max(level, 0), float64(capacity))
	s.Grid.Set(r.X, r.Y, s.Look.Box.V, s.Look.Dim)
	cells := r.W - 2
	unit := cells / int(min(capacity, int64(cells)))
	whole := int(level)
	if unit >= 2 { // units apart: a cell between them
		cells = unit * int(capacity)
		for i := range int(capacity) {
			glyph, one := s.Look.Room, s.Look.Faint
			if i < whole {
				glyph, one = s.Look.Reach[len(s.Look.Reach)-1], st
			}
			s.Grid.Fill(r.X+1+i*unit, r.Y, unit-1, glyph, one)
		}
	} else {
		s.Grid.Fill(r.X+1, r.Y, cells, s.Look.Room, s.Look.Faint)
		s.Grid.Fill(r.X+1, r.Y, int(level/float64(capacity)*float64(cells)), s.Look.Reach[len(s.Look.Reach)-1], st)
	}
	s.Grid.Set(r.X+1+cells, r.Y, s.Look.Box.V, s.Look.Dim)
	part := level - math.Floor(level)
	if leaky { // the drop that is leaving
		part = 1 - part
		if level == 0 {
			part = 0
		}
	}
	idle := !leaky && level >= float64(capacity) || leaky && level == 0
	x := s.Words(r.X, r.Y+1, r.X+r.W, pane.Bit(under+" ", s.Look.Dim))
	if idle {
		text := "the bucket is full"
		if leaky {
			text = "the bucket is empty"
		}
		s.Words(x, r.Y+1, r.X+r.W, pane.Bit(text, s.Look.Dim))
		return
	}
	wide := min(24, max(r.W/3, 6))
	s.Grid.Fill(x, r.Y+1, wide, s.Look.Room, s.Look.Faint)
	n := len(s.Look.Reach)
	fine := int(part * float64(wide*n))
	s.Grid.Fill(x, r.Y+1, fine/n, s.Look.Reach[n-1], s.Look.Previous)
	if fine%n > 0 {
		s.Grid.Set(x+fine/n, r.Y+1, s.Look.Reach[fine%n-1], s.Look.Previous)
	}
	rest := time.Duration((1 - part) * float64(t.Window) / float64(t.Limit.Count))
	s.Words(x+wide+1, r.Y+1, r.X+r.W, pane.Bit(figure.First(r.X+r.W-x-wide-1, "in "+figure.Span(rest)), s.Look.Dim))
}
