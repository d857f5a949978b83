package timeline

import (
	"fmt"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/cell"
	"ratescope/tui/format"
	"ratescope/tui/widget"
)

// counting is what a limiter counts in time.
type counting uint8

const (
	countsNothing  counting = iota // GCRA and buckets: a level, no window
	countsLog                      // every request of the last window
	countsWeighted                 // the current window and a share of the previous one
	countsCurrent                  // the current window alone
)

// countingOf says what a limiter counts in time.
func countingOf(t *model.Target) counting {
	switch t.Algorithm {
	case limiter.SlidingLog, limiter.StreamCounter:
		return countsLog
	case limiter.SlidingWindow:
		return countsWeighted
	case limiter.FixedWindow:
		return countsCurrent
	}
	return countsNothing
}

// covered returns the first and the last column of the window that counts at s.at, and
// whether there is one.
func (s timeRange) covered(k *model.Watched) (from, to int, yes bool) {
	t := &k.Reading.Target
	to = s.index(k.Timeline, s.at)
	switch countingOf(t) {
	case countsLog, countsWeighted:
		return s.index(k.Timeline, s.at.Add(-s.window)), to, t.Window > 0
	case countsCurrent:
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
	part := func(a, b int) cell.Rect {
		a, b = max(a, 0), min(b, s.n)
		return cell.Rect{X: r.X + a, Y: r.Y, W: max(b-a, 0), H: r.H}
	}
	p.Buffer.Recolour(part(0, from), p.Look.Admitted.Fg, p.Look.Unknown.Fg)
	if countingOf(&k.Reading.Target) == countsWeighted && k.Gauge.Start > 0 {
		edge := s.index(k.Timeline, k.Gauge.Start)
		p.Buffer.Recolour(part(from, edge), p.Look.Admitted.Fg, p.Look.Previous.Fg)
		from = edge
	}
	p.Buffer.Recolour(part(from, s.n), p.Look.Admitted.Fg, p.Look.Current.Fg)
}

// paintStrip draws in one row what the columns above it count as, on the same axis of time:
// the share of the previous window that still counts shrinks as the window slides.
func (c *View) paintStrip(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) {
	from, to, yes := s.covered(k)
	if !yes || r.H == 0 {
		return
	}
	g, l := &k.Gauge, &p.Look
	full, half := l.Rise[len(l.Rise)-1], l.Rise[len(l.Rise)/2]
	part := func(a, b int, glyph rune, st widget.Span) {
		a, b = max(a, 0), min(b, s.n)
		if b <= a {
			return
		}
		p.Buffer.Fill(r.X+a, r.Y, b-a, glyph, st.Style)
		text := " " + st.Text + " "
		for _, shorter := range []string{text, " " + format.First(max(b-a-4, 0), st.Text, firstWord(st.Text)) + " "} {
			if n := len([]rune(shorter)); n > 2 && n+2 <= b-a {
				p.Buffer.Text(r.X+a+(b-a-n)/2, r.Y, r.X+b, shorter, st.Style)
				return
			}
		}
	}
	part(0, from, l.Gone, widget.Styled("gone by", l.Dim))
	switch countingOf(&k.Reading.Target) {
	case countsWeighted:
		edge := s.index(k.Timeline, g.Start)
		previous := "previous"
		if g.Previous.Known {
			previous = fmt.Sprintf("previous, still %.0f %%", 100*g.Weight)
		}
		part(from, edge, half, widget.Styled(previous, l.Previous))
		part(edge, to+1, full, widget.Styled("current", l.Current))
	case countsLog:
		part(from, to+1, full, widget.Styled("counts: "+format.Counted(g.Used), l.Current))
	default:
		part(from, to+1, full, widget.Styled("current", l.Current))
	}
}

func firstWord(s string) string {
	for i, r := range s {
		if r == ' ' || r == ',' || r == ':' {
			return s[:i]
		}
	}
	return s
}
