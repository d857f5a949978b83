package timeline

import (
	"math"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// levelRows is how many rows the picture of a level takes.
const levelRows = 2

// paintPicture draws how the algorithm of k sees time, and says whether it has a picture.
func (s *sheet) paintPicture(r cell.Rect, k *model.Watched) bool {
	t := k.Reading.Target
	if r.W < 24 || t.Window <= 0 || !t.LimitKnown || t.Limit.Count == 0 {
		return false
	}
	switch describe.KindOf(t.Algorithm) {
	case describe.Arrival:
		s.paintTAT(r, k)
	case describe.Bucket:
		s.paintDrop(r, k)
	case describe.Log, describe.Window:
		return s.paintFalling(r, k)
	default:
		return false
	}
	return true
}

// paintFalling draws how what counts falls during a window in which no other request comes.
func (s *sheet) paintFalling(r cell.Rect, k *model.Watched) bool {
	var f chart.Future
	window, cells := k.Reading.Target.Window, r.W-2
	f.Update(k, s.now, window/time.Duration(cells), cells)
	if !slices.ContainsFunc(f.Columns, func(c chart.Coming) bool { return c.Known && c.Level > 0 }) {
		return false
	}
	chart.River(&s.c.Buffer, r.X, r.Y, 1, nil, f.Columns, true, &s.c.Look)
	s.c.Buffer.Text(r.X, r.Y+1, r.X+r.W, "if no other request comes", s.c.Look.Dim)
	s.c.Buffer.Right(r.X, r.Y+1, r.X+r.W, "+"+format.Length(window), s.c.Look.Dim)
	return true
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
	s.c.Buffer.Fill(r.X, r.Y, cells, s.c.Look.Axis, s.c.Look.Faint)
	if capacity <= int64(cells/2) { // one tick a request, where they can be told apart
		for i := range capacity {
			s.c.Buffer.Set(place(interval*time.Duration(i)), r.Y, s.c.Look.Tick, s.c.Look.Dim)
		}
	}
	head := place(ahead)
	st := s.c.Look.Fill(g.Utilization)
	chart.Bar(&s.c.Buffer, r.X, r.Y, cells, float64(tolerance), s.c.Look.Glyphs, solid(float64(ahead), st))
	s.c.Buffer.Set(r.X+cells, r.Y, s.c.Look.LimitV, s.c.Look.Denied)
	end := r.X + r.W
	tail := "tolerance " + format.Span(tolerance)
	s.c.Buffer.Right(r.X, r.Y+1, end, tail, s.c.Look.Dim)
	x := s.c.Spans(r.X, r.Y+1, end, widget.Styled("now ", s.c.Look.Dim))
	text := format.First(r.W/2, "theoretical arrival time (TAT) +", "TAT +") + format.Span(ahead)
	if !s.c.Buffer.ASCII { // there the end of what is filled points at it alone
		text = "↑ " + text
	}
	if ahead == 0 {
		text = "TAT has passed: as new"
	}
	s.c.Spans(min(max(x, head), end-len(tail)-len(text)-1), r.Y+1, end-len(tail)-1, widget.Styled(text, st))
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
	st := s.c.Look.Current
	if leaky {
		under, st = "next drop", s.c.Look.Fill(g.Utilization)
	}
	level = min(max(level, 0), float64(capacity))
	s.c.Buffer.Set(r.X, r.Y, s.c.Look.Box.V, s.c.Look.Dim)
	cells := r.W - 2
	unit := cells / int(min(capacity, int64(cells)))
	whole := int(level)
	if unit >= 2 { // units apart: a cell between them
		cells = unit * int(capacity)
		for i := range int(capacity) {
			glyph, one := s.c.Look.Room, s.c.Look.Faint
			if i < whole {
				glyph, one = s.c.Look.Reach[len(s.c.Look.Reach)-1], st
			}
			s.c.Buffer.Fill(r.X+1+i*unit, r.Y, unit-1, glyph, one)
		}
	} else {
		s.c.Buffer.Fill(r.X+1, r.Y, cells, s.c.Look.Room, s.c.Look.Faint)
		s.c.Buffer.Fill(r.X+1, r.Y, int(level/float64(capacity)*float64(cells)), s.c.Look.Reach[len(s.c.Look.Reach)-1], st)
	}
	s.c.Buffer.Set(r.X+1+cells, r.Y, s.c.Look.Box.V, s.c.Look.Dim)
	part := level - math.Floor(level)
	if leaky { // the drop that is leaving
		part = 1 - part
	}
	idle := !leaky && level >= float64(capacity) || leaky && level == 0
	x := s.c.Spans(r.X, r.Y+1, r.X+r.W, widget.Styled(under+" ", s.c.Look.Dim))
	if idle {
		text := map[bool]string{false: "the bucket is full", true: "the bucket is empty"}[leaky]
		s.c.Spans(x, r.Y+1, r.X+r.W, widget.Styled(text, s.c.Look.Dim))
		return
	}
	wide := min(24, max(r.W/3, 6))
	s.c.Buffer.Fill(x, r.Y+1, wide, s.c.Look.Room, s.c.Look.Faint)
	chart.Bar(&s.c.Buffer, x, r.Y+1, wide, 1, s.c.Look.Glyphs, solid(part, s.c.Look.Previous))
	rest := time.Duration((1 - part) * float64(t.Window) / float64(t.Limit.Count))
	s.c.Spans(x+wide+1, r.Y+1, r.X+r.W, widget.Styled(format.First(r.X+r.W-x-wide-1, "in "+format.Wait(rest)), s.c.Look.Dim))
}
