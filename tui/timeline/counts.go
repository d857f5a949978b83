package timeline

import (
	"fmt"
	"math"
	"strings"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
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
		previous := "previous"
		if g.Previous.Known {
			previous = fmt.Sprintf("previous, still %.0f %%", 100*g.Weight)
		}
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
	switch kindOf(k) {
	case describe.Weighted:
		spans[0].Text = " estimate"
		spans = append(spans, widget.Styled(" · ", p.Look.Faint), widget.Styled("as watched", p.Look.Title))
	case describe.Window:
		spans = append(spans, widget.Styled(" · ", p.Look.Faint), widget.Styled("as watched", p.Look.Title))
	}
	return append(spans, widget.Styled(" ", p.Look.Dim))
}
