package timeline

import (
	"math"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

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

// paintTruth draws over the lane what the other way of counting makes of the same requests:
// the true count in the sliding window, and the weighted estimate of it. What the limiter
// itself goes by is the lane.
func (c *View) paintTruth(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange, most int64) {
	how := countingOf(&k.Reading.Target)
	if how == countsNothing && c.compared == nil || !s.fine || r.H < 3 || k.Reading.Target.Window <= 0 {
		return
	}
	key := lineKey{k.Timeline, k.Reading.At, s.last, s.per, r.W, r.H, most, p.Look.Dark, c.compared}
	if key != c.lineKey {
		c.lineKey = key
		exact, estimate := c.truth(k, s)
		var lines []chart.Line
		if how == countsLog || how == countsCurrent {
			lines = append(lines, chart.Line{Points: estimate, Style: p.Look.Previous})
		}
		if how == countsWeighted || how == countsCurrent {
			lines = append(lines, chart.Line{Points: exact, Style: p.Look.Title})
		}
		if c.compared != nil {
			lines = []chart.Line{*c.compared}
		}
		from := k.Timeline.ColumnBegin(s.last-int64(s.n-1), s.per)
		c.lines.Plot(r.W, r.H, from, k.Timeline.ColumnBegin(s.last+1, s.per), 0, float64(most), lines...)
	}
	c.lines.Draw(&p.Buffer, r)
}

// Compare draws a line over the lane in the place of the other way of counting; nil ends that.
func (c *View) Compare(line *chart.Line) { c.compared = line }

// truth works out the true count and the weighted estimate at the end of every column; NaN
// where the requests of a whole window were not watched.
func (c *View) truth(k *model.Watched, s timeRange) (exact, estimate []chart.Point) {
	const w = model.BinsPerWindow
	end := (s.last + 1) * int64(s.per) // the bin after the last one
	n := s.n*s.per + 2*w
	c.bins = resize(c.bins, n)
	k.Timeline.Columns(c.bins, end-1, 1)
	c.sums = append(c.sums[:0], 0)
	for i := range c.bins {
		c.sums = append(c.sums, c.sums[i]+c.bins[i].Admitted)
	}
	first := k.Timeline.FirstColumn(1)
	now := k.Timeline.Index(s.now)
	sum := func(from, to int64) float64 { // of the bins from one number to the one before another
		at := func(b int64) int64 { return c.sums[min(max(b-(end-int64(n)), 0), int64(n))] }
		return float64(at(to) - at(from))
	}
	for i := range s.n {
		b := (s.last - int64(s.n-1-i) + 1) * int64(s.per)
		b = min(b, now+1)
		at := k.Timeline.Begin(b)
		x, e := math.NaN(), math.NaN()
		if b-w >= first {
			x = sum(b-w, b)
		}
		if start := (b - 1) - mod(b-1, w); start-w >= first {
			weight := 1 - float64(b-start)/w
			e = math.Floor(sum(start-w, start)*weight) + sum(start, b)
		}
		exact, estimate = append(exact, chart.Point{At: at, V: x}), append(estimate, chart.Point{At: at, V: e})
	}
	return exact, estimate
}

// mod is the rest of a division that is never below 0.
func mod(a, b int64) int64 { return ((a % b) + b) % b }

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
	switch countingOf(&k.Reading.Target) {
	case countsLog:
		spans = append(spans, widget.Styled(" · ", p.Look.Faint), widget.Styled("weighted estimate", p.Look.Previous))
	case countsWeighted:
		spans[0].Text = " estimate"
		spans = append(spans, widget.Styled(" · ", p.Look.Faint), widget.Styled("as watched", p.Look.Title))
	case countsCurrent:
		spans = append(spans, widget.Styled(" · ", p.Look.Faint), widget.Styled("sliding estimate", p.Look.Previous),
			widget.Styled(" · ", p.Look.Faint), widget.Styled("as watched", p.Look.Title))
	}
	return append(spans, widget.Styled(" ", p.Look.Dim))
}
