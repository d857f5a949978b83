package lab

import (
	"fmt"
	"math"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// bar is one row of a picture.
type bar struct {
	label, value string
	segments     []chart.Segment
	limit        float64 // a stroke here; 0 none
	note         string
}

// paintPicture draws what a contender keeps, in its own way: a counter, ticks, two
// weighted bars, a TAT, a level.
func (l *Lab) paintPicture(r cell.Rect, i int) {
	s := l.run.Setup()
	c := s.Contenders[i]
	state := l.run.State(i)
	d := l.run.Ask(i, 0).Decision
	if l.big {
		l.paintLarge(r, i, d)
		return
	}
	var bars []bar
	ticks := false
	switch c.Algorithm {
	case limiter.FixedWindow:
		bars = []bar{{"current", fmt.Sprint(d.Current), l.solid(float64(d.Current), l.Look.Current), float64(s.Limit.Count), "edge in " + figure.Span(d.End.Sub(l.run.Now()))}}
	case limiter.SlidingWindow:
		bars = l.weighted(d, s)
	case limiter.SlidingLog, limiter.StreamCounter:
		bars = []bar{{"in window", fmt.Sprint(d.Used), l.solid(float64(d.Used), l.Look.Good), float64(s.Limit.Count), fmt.Sprintf("%d kept", len(state.Log))}}
		ticks = true
	case limiter.GCRA:
		ahead := max(state.TAT.Sub(l.run.Now()), 0)
		step := s.Limit.Window / time.Duration(max(s.Limit.Count, 1))
		bars = []bar{{"TAT", "+" + figure.Span(ahead), l.solid(float64(ahead)/float64(step), l.Look.Current), float64(burst(s)), "T = " + figure.Span(step)}}
	case limiter.TokenBucket, limiter.LeakyBucket:
		label := "tokens"
		if c.Algorithm == limiter.LeakyBucket {
			label = "level"
		}
		level := state.LevelAt(l.run.Now(), s.Limit, l.run.Terms(i))
		bars = []bar{{label, lab.Number(math.Round(level*10) / 10), l.solid(level, l.Look.Current), float64(burst(s)), fmt.Sprintf("%s/s", lab.Number(float64(s.Limit.Count)/s.Limit.Window.Seconds()))}}
	}
	full, note := 1.0, 0
	for _, b := range bars {
		note = max(note, len([]rune(b.note)))
		full = max(full, b.limit*1.05)
		sum := 0.0
		for _, g := range b.segments {
			sum += g.Value
		}
		full = max(full, sum)
	}
	y := r.Y
	room := r.Y + r.H
	if r.H < len(bars) {
		bars = bars[len(bars)-1:]
	}
	for _, b := range bars {
		l.paintBar(cell.Rect{X: r.X, Y: y, W: r.W, H: 1}, full, note, b)
		y++
	}
	if ticks && y < room {
		l.paintTicks(cell.Rect{X: r.X, Y: y, W: r.W, H: 1}, state, reachOf(c, s))
		y++
	}
	l.paintVerdict(cell.Rect{X: r.X, Y: y, W: r.W, H: room - y}, i, d)
}

// paintVerdict says what would become of one more request, and where there is room why.
func (l *Lab) paintVerdict(r cell.Rect, i int, d limiter.Decision) {
	s := l.run.Setup()
	c := s.Contenders[i]
	m := l.run.Ask(i, max(s.Cost, 1))
	w := lab.Explain(c, m, s)
	bytes, commands := lab.Footprint(c, m.Before)
	follows := fmt.Sprintf("room for %d", d.Remaining)
	switch {
	case s.Limit.Count == 0:
		follows = "counts only"
	case m.Decision.RetryAfter == limiter.Never:
		follows = "never: it costs more than there ever is"
	case !m.Decision.Allowed:
		follows = "next slot in " + figure.Span(m.Decision.RetryAfter)
	}
	var lines []pane.Piece
	if r.H >= len(w.Numbers)+4 {
		lines = append(lines, pane.Bit(w.Rule, l.Look.Dim))
		for _, n := range w.Numbers[:len(w.Numbers)-1] {
			lines = append(lines, pane.Bit(n, l.Look.Text))
		}
	}
	lines = append(lines,
		pane.Bit(l.mark(m.Decision.Allowed)+" "+w.Sum, l.outcome(m.Decision.Allowed)),
		pane.Bit(follows, l.Look.Text),
		pane.Bit(fmt.Sprintf("about %s a key · %d commands a decision", figure.Bytes(float64(bytes)), commands), l.Look.Faint))
	for row, p := range lines[:min(len(lines), r.H)] {
		l.Grid.Text(r.X, r.Y+row, r.X+r.W, safetext.ClipWords(p.Text, r.W, safetext.Ellipsis), p.Style)
	}
}

// reachOf is the window that the contender really looks at.
func reachOf(c lab.Contender, s lab.Setup) time.Duration {
	if c.Fault == lab.SecondsAsMillis {
		return s.Limit.Window * 1000
	}
	return s.Limit.Window
}

// burst is how much fits at once.
func burst(s lab.Setup) int64 {
	if s.Limit.Burst > 0 {
		return s.Limit.Burst
	}
	return s.Limit.Count
}

func (l *Lab) solid(v float64, st themes.Style) []chart.Segment {
	return []chart.Segment{{Value: v, Style: st}}
}

// weighted are the bars of the sliding window counter.
func (l *Lab) weighted(d limiter.Decision, s lab.Setup) []bar {
	counts := float64(d.Previous) * d.Weight
	rounded := d.Estimate - float64(d.Current)
	of := "of " + figure.Short(s.Limit.Count)
	if s.Limit.Count == 0 {
		of = ""
	}
	return []bar{
		{"previous", fmt.Sprint(d.Previous), []chart.Segment{{Value: counts, Style: l.Look.Previous}, {Value: float64(d.Previous) - counts, Glyph: l.Look.Gone, Style: l.Look.Faint}},
			0, fmt.Sprintf("%-14s", fmt.Sprintf("× %s = %.1f", model.ShownWeight(d.Previous, d.Weight, 1), counts))}, // so that bars keep their width
		{"current", fmt.Sprint(d.Current), l.solid(float64(d.Current), l.Look.Current), 0, "edge in " + figure.Span(d.End.Sub(l.run.Now()))},
		{"estimate", lab.Number(math.Round(d.Estimate*10) / 10), []chart.Segment{{Value: rounded, Style: l.Look.Previous}, {Value: float64(d.Current), Style: l.Look.Current}},
			float64(s.Limit.Count), of},
	}
}

func (l *Lab) paintBar(r cell.Rect, full float64, note int, b bar) {
	const label, number = 10, 6
	end := r.X + r.W
	l.Grid.Text(r.X, r.Y, r.X+label, b.label, l.Look.Dim)
	l.Grid.Right(r.X+label-1, r.Y, r.X+label+number-1, b.value, l.Look.Title)
	x := r.X + label + number
	w := end - x - note - 1
	if w < 4 {
		l.Grid.Text(x, r.Y, end, b.note, l.Look.Dim)
		return
	}
	if b.limit > 0 {
		l.Grid.Fill(x, r.Y, min(int(math.Round(b.limit/full*float64(w))), w), l.Look.Room, l.Look.Faint)
	}
	chart.Bar(&l.Grid, x, r.Y, w, full, l.Look.Glyphs, b.segments...)
	if b.limit > 0 {
		l.Grid.Set(x+min(int(math.Round(b.limit/full*float64(w))), w-1), r.Y, l.Look.LimitV, l.Look.Denied)
	}
	l.Grid.Text(x+w+1, r.Y, end, b.note, l.Look.Dim)
}

// paintTicks draws the entries of a log where they stand in the window that ends now, so
// that they can be seen to leave on the left.
func (l *Lab) paintTicks(r cell.Rect, state limiter.State, w time.Duration) {
	l.Grid.Fill(r.X, r.Y, r.W, l.Look.Axis, l.Look.Faint)
	l.Grid.Set(r.X, r.Y, l.Look.Box.BL, l.Look.Accent)
	l.Grid.Set(r.X+r.W-1, r.Y, l.Look.Box.BR, l.Look.Accent)
	now := l.run.Now()
	for _, e := range state.Log {
		age := now.Sub(e.At)
		if age < 0 || age >= w {
			continue
		}
		x := r.X + r.W - 1 - int(float64(r.W)*float64(age)/float64(w))
		l.Grid.Set(max(x, r.X), r.Y, l.Look.LimitV, l.Look.Good)
	}
}
