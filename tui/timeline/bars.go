package timeline

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// Widths inside the bars: label and number left, the arithmetic right, which takes no more than it needs.
const (
	barLabel   = 10
	barNumber  = 7
	barFormula = 40
)

// line is one row of the weighted bars.
type line struct {
	label    string
	decides  bool // this is the number that the algorithm goes by
	value    string
	segments []chart.Segment
	limit    float64 // a stroke here, and dots before it; 0 none
	formula  string
}

// sheet is a paper with the key that is drawn on it.
type sheet struct {
	c   *widget.Canvas
	now limiter.Instant
}

// PaintWindow draws what counts for k now into r: the arithmetic with live numbers, what it means for the next
// request, and where there is room the picture of a level above it. What is old is washed out.
func PaintWindow(p *widget.Canvas, r cell.Rect, k *model.Watched, now limiter.Instant, old bool) {
	if k == nil || r.H == 0 || k.Reading.Err != "" {
		return
	}
	defer p.Buffer.Clip(p.Buffer.Clip(r))
	s := &sheet{p, now}
	lines := s.arithmetic(k)
	full := barScale(k, lines)
	in := r
	const sentences = 2
	if left := in.H - len(lines) - sentences - levelRows; left >= 0 && s.paintPicture(cell.Rect{X: in.X, Y: in.Y, W: in.W, H: levelRows}, k) {
		_, in = in.Top(levelRows + min(left, 1))
	}
	for len(lines) > max(in.H-1, 0) {
		lines = dropLeast(lines)
	}
	longest := collect.Most(lines, func(l line) int { return safetext.Width(l.formula) })
	for i, l := range lines {
		s.paintLine(in, in.Y+i, full, longest, l)
	}
	y := in.Y + len(lines)
	if y < in.Y+in.H {
		s.paintSummary(in, y, k, &k.Gauge)
	}
	if y+1 < in.Y+in.H {
		s.paintNotes(cell.Rect{X: in.X, Y: y + 1, W: in.W, H: in.Y + in.H - y - 1}, k)
	}
	if old {
		s.c.Buffer.Wash(r, s.c.Look.Unknown)
	}
}

// barScale returns the value that fills the width of the bars: a little more than the limit, or in steps what is far beyond it, so that
// the stroke at the limit stays where it is while the numbers change.
func barScale(k *model.Watched, lines []line) float64 {
	most := max(1, collect.Most(lines, func(l line) float64 {
		return collect.Sum(l.segments, func(s chart.Segment) float64 { return s.Value })
	}))
	const beyond = 1.15
	if limit := float64(model.Capacity(k.Reading.Target)) * beyond; k.Reading.Target.LimitKnown && most <= limit {
		return limit
	}
	return float64(chart.Nice(int64(math.Ceil(min(most, 1e17)))))
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

func (s *sheet) paintLine(in cell.Rect, y int, full float64, longest int, l line) {
	g := &s.c.Buffer
	st := collect.If(l.decides, s.c.Look.Title, s.c.Look.Dim)
	x, end := in.X, in.X+in.W
	g.Text(x, y, x+barLabel, l.label, st)
	g.Right(x+barLabel, y, x+barLabel+barNumber, l.value, s.c.Look.Text)
	x += barLabel + barNumber + 2
	const step = 6 // so that a digit more moves no bar
	formula := min(barFormula, (longest+step-1)/step*step, max(0, (end-x)*7/10))
	w := end - x - formula - 2
	if w < 6 {
		return
	}
	chart.Meter(g, x, y, w, full, l.limit, s.c.Look, l.segments...)
	g.Text(x+w+2, y, end, fitted(l.formula, end-x-w-2), s.c.Look.Dim)
}

// fitted leaves out what does not fit: whole clauses at the end, else whole words.
func fitted(formula string, cells int) string {
	for text := formula; ; {
		if safetext.Width(text) <= cells {
			return text
		}
		at := strings.LastIndex(text, ", ")
		if at < 0 {
			return safetext.ClipWords(text, cells, safetext.Ellipsis)
		}
		text = text[:at]
	}
}

// arithmetic returns the rows for the key's algorithm: a weighted counter has its sum, other counters and logs what
// they hold, and what has no window its level.
func (s *sheet) arithmetic(k *model.Watched) []line {
	kind := describe.KindOf(k.Reading.Target.Algorithm)
	switch {
	case kind == describe.Arrival:
		return s.tatLines(k)
	case kind == describe.Bucket:
		return s.bucketLines(k)
	case k.Reading.Target.Window <= 0:
		return []line{{label: "held", value: k.Gauge.Used.Short(), formula: "the window is not known"}}
	case kind == describe.Weighted:
		return s.weightedLines(k)
	case kind == describe.Window:
		return s.fixedLines(k)
	}
	return s.logLines(k)
}

func solid(v float64, st themes.Style) chart.Segment { return chart.Segment{Value: v, Style: st} }

// half is what counts of the previous window: half as high as what counts whole, so that colours alone tell nothing.
func (s *sheet) half(v float64) chart.Segment {
	return chart.Segment{Value: v, Glyph: s.c.Look.Half, Style: s.c.Look.Previous}
}

// weightedLines are the bars of a weighted counter, whose figures add up as they are printed.
func (s *sheet) weightedLines(k *model.Watched) []line {
	g, t := &k.Gauge, k.Reading.Target
	current := line{label: "current", value: g.Current.Short(), segments: []chart.Segment{solid(float64(g.Current.N), s.c.Look.Current)},
		formula: "next window in " + format.Wait(g.End.Sub(s.now))}
	if !g.Previous.Known {
		unknown := line{label: "previous", value: format.Unknown, formula: "not held any more"}
		return []line{unknown, current, {label: "estimate", value: format.Unknown}}
	}
	sum := model.SumOf(g, t.Convention.Rounding)
	counts := float64(g.Previous.N) * g.Weight
	rounded, _ := strconv.ParseFloat(sum.Rounded, 64) // it was printed from a number
	product := sum.Product
	if !sum.Whole() {
		product += " → " + sum.Rounded
	}
	lines := []line{
		{
			label: "previous", value: g.Previous.Short(), formula: "× " + sum.Weight + " = " + product + ", what still counts",
			segments: []chart.Segment{
				s.half(counts), {Value: float64(g.Previous.N) - counts, Glyph: s.c.Look.Gone, Style: s.c.Look.Dim},
			},
		}, current, {
			label: "estimate", value: format.First(barNumber, sum.Estimate, format.Short(int64(rounded)+g.Current.N)), decides: true,
			limit: float64(model.Capacity(t)), formula: sum.Rounded + " + " + strconv.FormatInt(g.Current.N, 10) + " = " + sum.Estimate + ofLimit(t),
			segments: []chart.Segment{s.half(rounded), solid(float64(g.Current.N), s.c.Look.Current)},
		},
	}
	if !g.Exact.Known {
		return lines
	}
	return append(lines, line{label: "exact", value: g.Exact.Short(), limit: float64(model.Capacity(t)),
		segments: []chart.Segment{solid(float64(g.Exact.N), s.c.Look.Good)}, formula: compared(int64(rounded) + g.Current.N - g.Exact.N)})
}

// fixedLines are what the present window holds, and how much of it is over.
func (s *sheet) fixedLines(k *model.Watched) []line {
	g, t := &k.Gauge, k.Reading.Target
	current := line{label: "current", value: g.Current.Short(), decides: true, limit: float64(model.Capacity(t)),
		segments: []chart.Segment{solid(float64(g.Current.N), s.c.Look.Current)}, formula: "all until it ends"}
	if g.Stuck {
		current.formula = "no expiry: never frees"
	}
	left := g.End.Sub(s.now)
	if g.End == 0 || left < 0 || left > t.Window {
		return []line{current}
	}
	over := float64(t.Window-left) / float64(t.Window) // drawn on the scale of the limit
	full := float64(max(model.Capacity(t), g.Current.N, 1))
	return []line{current, {
		label: "window", value: strconv.Itoa(int(100*over)) + "%", formula: "ends in " + format.Wait(left),
		segments: []chart.Segment{{Value: over * full, Glyph: s.c.Look.Gone, Style: s.c.Look.Dim},
			{Value: (1 - over) * full, Glyph: s.c.Look.Room, Style: s.c.Look.Faint}},
	}}
}

// logLines are what counts of a log, which entry leaves next, and how many leave soon.
func (s *sheet) logLines(k *model.Watched) []line {
	g, t := &k.Gauge, k.Reading.Target
	used := line{label: "counts", value: g.Used.Short(), decides: true, limit: float64(model.Capacity(t)),
		segments: []chart.Segment{solid(float64(g.Used.N), s.c.Look.Good)}, formula: "in the last " + format.Length(t.Window)}
	if !g.Used.Known {
		used.segments, used.formula = nil, "not read"
	}
	if !g.Exact.Known {
		return []line{used}
	}
	var next, soon int64
	var leaves time.Duration
	for _, e := range k.Reading.State.Log {
		left := e.At.Add(t.Window).Sub(s.now)
		if left < 0 || left == 0 && t.Convention.Edge == convention.HalfOpen {
			continue
		}
		if next == 0 || left == leaves {
			next, leaves = next+e.Count, left
		}
		if left <= t.Window/4 {
			soon += e.Count
		}
	}
	if next == 0 {
		return []line{used}
	}
	leaving := func(n int64) []chart.Segment {
		return []chart.Segment{{Value: float64(n), Glyph: s.c.Look.Gone, Style: s.c.Look.Dim}}
	}
	return []line{
		used,
		{label: "oldest", value: format.Short(next), segments: leaving(next), formula: leave(next) + " in " + format.Wait(leaves)},
		{label: "soon", value: format.Short(soon), segments: leaving(soon), formula: leave(soon) + " within " + format.Length(t.Window/4)},
	}
}

func leave(n int64) string { return collect.If(n == 1, "leaves", "leave") }

// compared says how far the weighted counter is from the truth.
func compared(high int64) string {
	switch {
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

func (s *sheet) tatLines(k *model.Watched) []line {
	g, t := &k.Gauge, k.Reading.Target
	if !t.LimitKnown || t.Limit.Count == 0 {
		return []line{{label: "TAT ahead", value: format.Span(max(0, k.Reading.State.TAT.Sub(s.now))), formula: "the limit is not known"}}
	}
	capacity := model.Capacity(t)
	interval := t.Window / time.Duration(t.Limit.Count)
	ahead := max(0, g.TAT.Sub(s.now))
	return []line{
		{label: "TAT ahead", value: format.Span(ahead), limit: float64(capacity), decides: true,
			segments: []chart.Segment{solid(float64(ahead)/float64(interval), s.c.Look.Fill(g.Utilization))},
			formula:  fmt.Sprintf("tolerates %s ahead", format.Span(interval*time.Duration(capacity)))},
		{label: "used", value: g.Used.Short(), segments: []chart.Segment{solid(float64(g.Used.N), s.c.Look.Current)},
			formula: fmt.Sprintf("one each %s, %d%s", format.Length(interval.Round(time.Microsecond)), g.Used.N, ofLimit(t))},
	}
}

func (s *sheet) bucketLines(k *model.Watched) []line {
	g, t := &k.Gauge, k.Reading.Target
	label, level, formula := "tokens", g.Remaining, "refills at "
	if t.Algorithm == limiter.LeakyBucket {
		label, level, formula = "level", g.Used, "drains at "
	}
	if t.LimitKnown && t.Window > 0 {
		formula += format.PerSecond(float64(t.Limit.Count) / t.Window.Seconds())
	}
	return []line{
		{label: label, value: level.Short(), decides: true, limit: float64(model.Capacity(t)),
			segments: []chart.Segment{solid(float64(level.N), s.c.Look.Current)}, formula: formula},
		{label: "used", value: g.Used.Short(), segments: []chart.Segment{solid(float64(g.Used.N), s.c.Look.Fill(g.Utilization))},
			formula: fmt.Sprintf("%d%s", g.Used.N, ofLimit(t))},
	}
}

// paintSummary is the sentence that everything above adds up to.
func (s *sheet) paintSummary(in cell.Rect, y int, k *model.Watched, g *model.Gauge) {
	end := in.X + in.W
	if t := k.Reading.Target; !g.NextKnown && t.LimitKnown && t.Window > 0 {
		what := collect.If(g.Used.Known, "when what is used frees", "how much is used")
		s.c.Spans(in.X, y, end, widget.Styled(fitted(what+" is not known, so there is no verdict", in.W), s.c.Look.Unknown))
		return
	}
	if !g.NextKnown {
		s.c.Spans(in.X, y, end, widget.Styled(fitted("limit unknown: give it, as in --limit 100/1m", in.W), s.c.Look.Unknown))
		return
	}
	if !g.Remaining.Known {
		s.c.Spans(in.X, y, end, widget.Styled("count only: nothing is ever denied", s.c.Look.Dim))
		return
	}
	room := widget.Styled(fmt.Sprintf("room for %s", format.Short(g.Remaining.N)), s.c.Look.Good)
	if g.Remaining.N == 0 {
		room.Style = s.c.Look.Denied
	} else if g.Near() {
		room.Style = s.c.Look.Near
	}
	next := widget.Styled("next request admitted now", s.c.Look.Text)
	switch {
	case g.Next == limiter.Never && g.Stuck:
		next = widget.Styled("never admitted: no expiry", s.c.Look.Denied)
	case g.Next == limiter.Never:
		next = widget.Styled("never admitted: the cost is above the limit", s.c.Look.Denied)
	case g.Next > 0:
		next = widget.Styled("next slot frees in "+format.Wait(g.Next), s.c.Look.Denied)
	}
	reset := widget.Styled("as new in "+format.Wait(g.Reset), s.c.Look.Dim)
	switch {
	case g.Reset == 0 && g.Used.N > 0: // of the past, where the level alone is known
		reset.Text = ""
	case g.Reset == 0:
		reset.Text = "as new"
	case g.Reset == limiter.Never:
		reset.Text = "never as new"
	}
	said := [][]widget.Span{{room}, {next}, {reset}}
	if reset.Text == "" {
		said = said[:2]
	}
	s.c.Flow(cell.Rect{X: in.X, Y: y, W: in.W, H: 1}, said...)
}

// paintNotes says what else is known of the key, in as many rows of in as it takes.
func (s *sheet) paintNotes(in cell.Rect, k *model.Watched) {
	r := &k.Reading
	var parts []string
	if d := k.Gauge.DeniedInW; d.Known {
		parts = append(parts, fmt.Sprintf("denied in the window: %s", format.Short(d.N)))
	}
	if r.TTL > 0 {
		parts = append(parts, "expires in "+format.Wait(r.TTL))
	}
	parts = append(parts, collect.Map(r.Notes, func(n model.Note) string { return safetext.Clean(string(n)) })...)
	if r.Target.Algorithm == limiter.GCRA {
		parts = append(parts, "TAT: theoretical arrival time")
	}
	if r.Type != "" {
		parts = append(parts, safetext.Clean(strings.Replace(r.Type, "zset", "sorted set", 1)))
	}
	s.c.Flow(in, collect.Map(parts, func(part string) []widget.Span { return []widget.Span{widget.Styled(part, s.c.Look.Dim)} })...)
}
