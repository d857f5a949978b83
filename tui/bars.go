package tui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// Widths inside the weighted bars: label and number left, the arithmetic right.
const (
	barLabel   = 10
	barNumber  = 7
	barFormula = 23
)

// line is one row of the weighted bars.
type line struct {
	label    string
	decides  bool // this is the number that the algorithm goes by
	value    string
	segments []chart.Segment
	room     float64 // dots up to here
	limit    bool    // a stroke at the limit
	formula  string
}

// paintBars draws the selected key's arithmetic with its live numbers.
func (a *App) paintBars(r cell.Rect) {
	k := a.current()
	in := r
	if a.Framed {
		title := []pane.Piece{pane.Bit("window", a.Look.Title), pane.Bit(" · what counts now", a.Look.Dim)}
		if k != nil {
			if age, old := a.outdated(k); old {
				title[1] = pane.Bit(" · last known, "+figure.Span(age)+" ago", a.Look.Near)
			}
		}
		in = a.Section(r, false, title...)
	}
	if k == nil || in.H == 0 || k.Reading.Err != "" {
		return
	}
	g := &k.Gauge
	lines := a.arithmetic(k)
	full := 1.0
	for _, l := range lines {
		sum := l.room
		for _, s := range l.segments {
			sum = max(sum, s.Value)
		}
		full = max(full, sum)
	}
	if t := k.Reading.Target; t.LimitKnown {
		full = max(full, float64(model.Capacity(t)))
	}
	for len(lines) > max(in.H-1, 0) {
		lines = dropLeast(lines)
	}
	for i, l := range lines {
		a.paintLine(in, in.Y+i, full, k, l)
	}
	y := in.Y + len(lines)
	if y < in.Y+in.H {
		a.paintSummary(in, y, k, g)
	}
	if y+1 < in.Y+in.H {
		a.paintNotes(in, y+1, k)
	}
	if _, old := a.outdated(k); old {
		a.Grid.Wash(in, a.Look.Unknown.Fg)
	}
}

// dropLeast leaves out the last line that does not decide.
func dropLeast(lines []line) []line {
	for i := len(lines) - 1; i > 0; i-- {
		if !lines[i].decides {
			return slices.Delete(lines, i, i+1)
		}
	}
	return lines[:0]
}

func (a *App) paintLine(in cell.Rect, y int, full float64, k *model.Watched, l line) {
	g := &a.Grid
	st := a.Look.Dim
	if l.decides {
		st = a.Look.Title
	}
	x, end := in.X, in.X+in.W
	g.Text(x, y, x+barLabel, l.label, st)
	g.Right(x+barLabel, y, x+barLabel+barNumber, l.value, a.Look.Text)
	x += barLabel + barNumber + 2
	formula := min(barFormula, max(0, (end-x)*3/5))
	w := end - x - formula - 2
	if w < 6 {
		return
	}
	if l.room > 0 {
		g.Fill(x, y, int(math.Round(l.room/full*float64(w))), a.Look.Room, a.Look.Faint)
	}
	chart.Bar(g, x, y, w, full, a.Look.Glyphs, l.segments...)
	if l.limit && k.Reading.Target.LimitKnown {
		at := int(math.Round(float64(model.Capacity(k.Reading.Target)) / full * float64(w)))
		st := a.Look.Denied
		if under := g.At(x+min(at, w), y); under.R == a.Look.Reach[len(a.Look.Reach)-1] {
			st = a.Look.Title.On(under.S.Fg) // on top of a bar that goes beyond the limit
		}
		g.Set(x+min(at, w), y, a.Look.LimitV, st)
	}
	g.Text(x+w+2, y, end, l.formula, a.Look.Dim)
}

// arithmetic returns the rows for the key's algorithm.
func (a *App) arithmetic(k *model.Watched) []line {
	switch k.Reading.Target.Algorithm {
	case limiter.GCRA:
		return a.tatLines(k)
	case limiter.TokenBucket, limiter.LeakyBucket:
		return a.bucketLines(k)
	}
	if k.Reading.Target.Window <= 0 {
		return []line{{label: "held", value: figure.Counted(k.Gauge.Used), formula: "the window is not known"}}
	}
	return a.windowLines(k)
}

func (a *App) windowLines(k *model.Watched) []line {
	g, t := &k.Gauge, k.Reading.Target
	solid := func(v float64, st themes.Style) chart.Segment { return chart.Segment{Value: v, Style: st} }
	counts := float64(g.Previous.N) * g.Weight
	rounded := counts
	switch t.Convention.Rounding {
	case limiter.Floor:
		rounded = math.Floor(counts)
	case limiter.Round:
		rounded = math.Round(counts)
	}
	previous := line{
		label: "previous", value: figure.Counted(g.Previous),
		segments: []chart.Segment{solid(counts, a.Look.Previous), {Value: float64(g.Previous.N) - counts, Glyph: a.Look.Gone, Style: a.Look.Faint}},
		formula:  fmt.Sprintf("× %.2f = %.1f", g.Weight, counts),
	}
	current := line{
		label: "current", value: figure.Counted(g.Current),
		segments: []chart.Segment{solid(float64(g.Current.N), a.Look.Current)},
		formula:  "next window in " + figure.Span(g.End.Sub(a.shownNow())),
	}
	estimate := line{
		label: "estimate", value: number(rounded + float64(g.Current.N)), limit: true, room: float64(model.Capacity(t)),
		segments: []chart.Segment{solid(rounded, a.Look.Previous), solid(float64(g.Current.N), a.Look.Current)},
		formula:  fmt.Sprintf("%s + %d = %s%s", number(rounded), g.Current.N, number(rounded+float64(g.Current.N)), ofLimit(t)),
	}
	exact := line{label: "exact", value: figure.Counted(g.Exact), formula: "counters cannot tell"}
	if !g.Previous.Known {
		previous.segments, previous.formula = nil, "not held any more"
		estimate.segments, estimate.value, estimate.formula, estimate.limit, estimate.room = nil, figure.Unknown, "", false, 0
	}
	if g.Exact.Known {
		exact.segments = []chart.Segment{solid(float64(g.Exact.N), a.Look.Good)}
		exact.formula = compared(int64(rounded)+g.Current.N-g.Exact.N, g.Previous.Known)
		exact.limit, exact.room = true, float64(model.Capacity(t))
	}
	switch t.Algorithm {
	case limiter.FixedWindow:
		current.decides, current.limit, current.room = true, true, float64(model.Capacity(t))
		if g.Previous.Known {
			previous.segments = []chart.Segment{{Value: float64(g.Previous.N), Glyph: a.Look.Gone, Style: a.Look.Faint}}
			previous.formula = "forgotten by a fixed window"
		}
	case limiter.SlidingLog, limiter.StreamCounter:
		exact.decides = true
	default:
		estimate.decides = true
	}
	return []line{previous, current, estimate, exact}
}

// compared says how far the weighted counter is from the truth.
func compared(high int64, known bool) string {
	switch {
	case !known:
		return "counted in the log"
	case high > 0:
		return fmt.Sprintf("the estimate is %d high", high)
	case high < 0:
		return fmt.Sprintf("the estimate is %d low", -high)
	}
	return "the estimate is right"
}

func ofLimit(t model.Target) string {
	if !t.LimitKnown || t.Limit.Count == 0 {
		return ""
	}
	return fmt.Sprintf(" of %d", model.Capacity(t))
}

// number writes an estimate with one decimal only where it has a fraction.
func number(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

func (a *App) tatLines(k *model.Watched) []line {
	g, t := &k.Gauge, k.Reading.Target
	if !t.LimitKnown || t.Limit.Count == 0 {
		return []line{{label: "TAT", value: figure.Clock(g.TAT), formula: "the limit is not known"}}
	}
	capacity := model.Capacity(t)
	interval := t.Window / time.Duration(t.Limit.Count)
	ahead := max(0, g.TAT.Sub(a.shownNow()))
	return []line{
		{label: "TAT ahead", value: figure.Span(ahead), limit: true, room: float64(capacity), decides: true,
			segments: []chart.Segment{{Value: float64(ahead) / float64(interval), Style: a.Look.Fill(g.Utilization)}},
			formula:  fmt.Sprintf("tolerates %s ahead of now", figure.Span(interval*time.Duration(capacity)))},
		{label: "used", value: figure.Counted(g.Used), segments: []chart.Segment{{Value: float64(g.Used.N), Style: a.Look.Current}},
			formula: fmt.Sprintf("%d%s, one each %s", g.Used.N, ofLimit(t), figure.Length(interval.Round(time.Microsecond)))},
	}
}

func (a *App) bucketLines(k *model.Watched) []line {
	g, t := &k.Gauge, k.Reading.Target
	capacity := float64(model.Capacity(t))
	label, value, formula := "tokens", float64(g.Remaining.N), "refills at "
	if t.Algorithm == limiter.LeakyBucket {
		label, value, formula = "level", float64(g.Used.N), "drains at "
	}
	if t.LimitKnown && t.Window > 0 {
		formula += figure.PerSecond(float64(t.Limit.Count) / t.Window.Seconds())
	}
	return []line{
		{label: label, value: number(value), decides: true, limit: true, room: capacity,
			segments: []chart.Segment{{Value: value, Style: a.Look.Current}}, formula: formula},
		{label: "used", value: figure.Counted(g.Used), segments: []chart.Segment{{Value: float64(g.Used.N), Style: a.Look.Fill(g.Utilization)}},
			formula: fmt.Sprintf("%d%s", g.Used.N, ofLimit(t))},
	}
}

// paintSummary is the sentence that everything above adds up to.
func (a *App) paintSummary(in cell.Rect, y int, k *model.Watched, g *model.Gauge) {
	end := in.X + in.W
	if !g.NextKnown {
		a.Words(in.X, y, end, pane.Bit("limit unknown: give it with --limit, as in --limit 100/1m", a.Look.Unknown))
		return
	}
	if !g.Remaining.Known {
		a.Words(in.X, y, end, pane.Bit("count only: nothing is ever denied", a.Look.Dim))
		return
	}
	room := pane.Bit(fmt.Sprintf("room for %s", figure.Short(g.Remaining.N)), a.Look.Good)
	if g.Remaining.N == 0 {
		room.Style = a.Look.Denied
	} else if g.Near() {
		room.Style = a.Look.Near
	}
	next := pane.Bit("next request admitted now", a.Look.Text)
	switch {
	case g.Next == limiter.Never:
		next = pane.Bit("never admitted: the cost is above the limit", a.Look.Denied)
	case g.Next > 0:
		next = pane.Bit("next slot frees in "+figure.Span(g.Next), a.Look.Denied)
	}
	reset := pane.Bit("as new in "+figure.Span(g.Reset), a.Look.Dim)
	if g.Reset == 0 {
		reset.Text = "as new"
	}
	a.Words(in.X, y, end, room, pane.Bit(" · ", a.Look.Faint), next, pane.Bit(" · ", a.Look.Faint), reset)
}

func (a *App) paintNotes(in cell.Rect, y int, k *model.Watched) {
	r := &k.Reading
	var parts []string
	if d := k.Gauge.DeniedInW; d.Known {
		parts = append(parts, fmt.Sprintf("denied in the window: %s", figure.Short(d.N)))
	}
	if r.TTL > 0 {
		parts = append(parts, "expires in "+figure.Span(r.TTL))
	}
	for _, n := range r.Notes {
		parts = append(parts, safetext.Clean(string(n)))
	}
	if r.Type != "" {
		parts = append(parts, safetext.Clean(r.Type))
	}
	a.Grid.Text(in.X, y, in.X+in.W, safetext.Clip(strings.Join(parts, " · "), in.W, safetext.Ellipsis), a.Look.Dim)
}
