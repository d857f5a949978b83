package timeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// kindOf says what the limiter of a key keeps.
func kindOf(k *model.Watched) describe.Kind { return describe.KindOf(k.Reading.Target.Algorithm) }

// covered returns the first and the last column of the window that counts at s.at, and
// whether there is one.
func (s timeRange) covered(k *model.Watched) (from, to int, yes bool) {
	t := &k.Reading.Target
	to = s.index(k.Timeline, s.at)
	switch kindOf(k) {
	case describe.Log, describe.Weighted:
		return s.index(k.Timeline, s.at.Add(-s.window)), to, t.Window > 0
	case describe.Window:
		if k.Gauge.Start > 0 {
			return s.index(k.Timeline, k.Gauge.Start), to, t.Window > 0
		}
	}
	return 0, 0, false
}

// colour gives the columns the colours of what they count as at s.at: what has gone by is
// faint, what counts of the previous window and what counts whole have colours of their own.
func (c *View) colour(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) {
	from, _, yes := s.covered(k)
	if !yes {
		return
	}
	admitted := p.Look.Admitted.Fg
	colour := func(a, b int, ink themes.Ink) {
		a, b = max(a, 0), min(b, s.n)
		part := cell.Rect{X: r.X + a, Y: r.Y, W: max(b-a, 0), H: r.H}
		p.Buffer.Recolour(part, admitted, ink)
		p.Buffer.Recolour(part, p.Look.Beside(admitted), p.Look.Beside(ink))
	}
	colour(0, from, p.Look.Unknown.Fg)
	if kindOf(k) == describe.Weighted && k.Gauge.Start > 0 {
		edge := s.index(k.Timeline, k.Gauge.Start)
		colour(from, edge, p.Look.Previous.Fg)
		from = edge
	}
	colour(from, s.n, p.Look.Current.Fg)
}

// piece is a part of the strip: columns from a up to b, what they are called and how they look.
type piece struct {
	from, to int
	name     string
	glyph    rune
	style    themes.Style
}

// paintStrip draws in one row what the columns above it count as, on the same axis of time:
// the share of the previous window that still counts shrinks as the window slides.
func (c *View) paintStrip(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) {
	from, to, yes := s.covered(k)
	if !yes || r.H == 0 {
		return
	}
	g, l := &k.Gauge, &p.Look
	full := l.Rise[len(l.Rise)-1]
	pieces := []piece{{0, from, "gone by", l.Gone, l.Dim}}
	switch kindOf(k) {
	case describe.Weighted:
		edge := s.index(k.Timeline, g.Start)
		previous := collect.If(g.Previous.Known, fmt.Sprintf("previous, still %.0f %%", 100*g.Weight), "previous")
		pieces = append(pieces, piece{from, edge, previous, l.Half, l.Previous}, piece{edge, to + 1, "current", full, l.Current})
	case describe.Log:
		pieces = append(pieces, piece{from, to + 1, "counts: " + g.Used.Short(), full, l.Current})
	default:
		pieces = append(pieces, piece{from, to + 1, "current", full, l.Current})
	}
	for _, part := range pieces {
		part.from, part.to = max(part.from, 0), min(part.to, s.n)
		p.Buffer.Fill(r.X+part.from, r.Y, part.to-part.from, part.glyph, part.style)
		word := part.name[:strings.IndexAny(part.name+" ", " ,:")]
		for _, name := range []string{part.name, word} {
			if n := len([]rune(name)) + 2; n > 2 && n+2 <= part.to-part.from {
				p.Buffer.Text(r.X+part.from+(part.to-part.from-n)/2, r.Y, r.X+part.to, " "+name+" ", part.style)
				break
			}
		}
	}
}

// lineKey is what the lines over the lane were drawn for.
type lineKey struct {
	timeline  *model.Timeline // another one may know more of the same past, as in a replay
	read      limiter.Instant // of the reading
	last      int64
	per, w, h int
	most      int64
	dark      bool
	compared  *chart.Line
}

// paintTruth draws over the lane of windows how many requests the sliding window truly holds, or what
// another limiter would have made of them. What the limiter itself goes by is the lane.
func (c *View) paintTruth(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange, most int64) {
	how := kindOf(k)
	if how != describe.Weighted && how != describe.Window && c.compared == nil || !s.fine || r.H < 3 || k.Reading.Target.Window <= 0 {
		return
	}
	key := lineKey{k.Timeline, k.Reading.At, s.last, s.per, r.W, r.H, most, p.Look.Dark, c.compared}
	if key != c.lineKey {
		c.lineKey = key
		line := chart.Line{Style: p.Look.Title}
		if c.compared != nil {
			line = *c.compared
		} else {
			line.Points = c.truth(k, s)
		}
		from := k.Timeline.ColumnBegin(s.last-int64(s.n-1), s.per)
		c.lines.Plot(r.W, r.H, from, k.Timeline.ColumnBegin(s.last+1, s.per), 0, float64(most), line)
	}
	c.lines.Draw(&p.Buffer, r)
}

// Compare draws a line over the lane in the place of the other way of counting; nil ends that.
func (c *View) Compare(line *chart.Line) { c.compared = line }

// truth works out the true count at the end of every column; NaN where the requests of a whole window
// were not watched.
func (c *View) truth(k *model.Watched, s timeRange) []chart.Point {
	const w = model.BinsPerWindow
	end := (s.last + 1) * int64(s.per) // the bin after the last one
	begin := end - int64(s.n*s.per+w)
	c.bins = resize(c.bins, int(end-begin))
	k.Timeline.Columns(c.bins, end-1, 1)
	c.sums = append(c.sums[:0], 0)
	for i := range c.bins {
		c.sums = append(c.sums, c.sums[i]+c.bins[i].Admitted)
	}
	first, now := k.Timeline.FirstColumn(1), k.Timeline.Index(s.now)
	points := make([]chart.Point, s.n)
	for i := range points {
		b := min((s.last-int64(s.n-1-i)+1)*int64(s.per), now+1)
		points[i] = chart.Point{At: k.Timeline.Begin(b), V: math.NaN()}
		if b-w >= first {
			points[i].V = float64(c.sums[max(b-begin, 0)] - c.sums[max(b-w-begin, 0)])
		}
	}
	return points
}

// legend names what the lane shows: what is used, and the lines over it. What was counted from
// the arrivals that were seen is "as watched": that is no count that the store holds, which the
// window calls exact.
func (c *View) legend(p *widget.Canvas, k *model.Watched, s timeRange) []widget.Span {
	spans := []widget.Span{widget.Styled(" used", p.Look.Dim)}
	if !s.fine || k.Reading.Target.Window <= 0 {
		return append(spans, widget.Styled(" ", p.Look.Dim))
	}
	if c.compared != nil {
		return append(spans, widget.Styled(" · ", p.Look.Faint), widget.Styled("what if", c.compared.Style), widget.Styled(" ", p.Look.Dim))
	}
	if kind := kindOf(k); kind == describe.Weighted || kind == describe.Window {
		spans[0].Text = collect.If(kind == describe.Weighted, " estimate", " used")
		spans = append(spans, widget.Styled(" · ", p.Look.Faint), widget.Styled("as watched", p.Look.Title))
	}
	return append(spans, widget.Styled(" ", p.Look.Dim))
}

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
		text := collect.If(leaky, "the bucket is empty", "the bucket is full")
		s.c.Spans(x, r.Y+1, r.X+r.W, widget.Styled(text, s.c.Look.Dim))
		return
	}
	wide := min(24, max(r.W/3, 6))
	s.c.Buffer.Fill(x, r.Y+1, wide, s.c.Look.Room, s.c.Look.Faint)
	chart.Bar(&s.c.Buffer, x, r.Y+1, wide, 1, s.c.Look.Glyphs, solid(part, s.c.Look.Previous))
	rest := time.Duration((1 - part) * float64(t.Window) / float64(t.Limit.Count))
	s.c.Spans(x+wide+1, r.Y+1, r.X+r.W, widget.Styled(format.First(r.X+r.W-x-wide-1, "in "+format.Wait(rest)), s.c.Look.Dim))
}
