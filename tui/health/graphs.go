package health

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// graph is one figure, or a pair of them back to back, with its past.
type graph struct {
	label  string
	now    []widget.Span
	brief  []widget.Span // in place of now where that is too long; nil that is cut
	past   []float64
	hung   []float64 // of the second figure, hanging below the first; nil where there is none
	top    float64   // of the scale where it is fixed; 0 the least round figure above all of it
	round  func(float64) float64
	scale  func(float64) string
	ink    func(float64) themes.Style
	hungIn func(float64) themes.Style
}

// graphs returns the figures of which anything was ever known, in the order of what they tell on call, and the names of the others.
func (v *View) graphs() (known []graph, unknown []string) {
	for _, g := range v.figures() {
		if all(g.past, math.IsNaN) && all(g.hung, math.IsNaN) {
			if g.label != "watching" { // its cost in commands is told all the same
				unknown = append(unknown, g.label)
			}
			continue
		}
		if g.label == "evictions" && all(g.past, func(p float64) bool { return !(p > 0) }) {
			continue // that none was ever seen is no picture
		}
		known = append(known, g)
	}
	return known, unknown
}

// settling is how long round trips and the cost of watching are those of a connection that is being made: one of
// them would flatten the others for as long as it is on the graph.
const settling = 3 * time.Second

// settled returns the values without those of a connection that is being made, unless there is no other.
func settled(past []model.HealthSample, values []float64) []float64 {
	for i := range len(past) - 1 {
		if past[i].At.Sub(past[0].At) < settling {
			values[i] = math.NaN()
		}
	}
	return values
}

func all(list []float64, is func(float64) bool) bool {
	return !slices.ContainsFunc(list, func(p float64) bool { return !is(p) })
}

func (v *View) figures() []graph {
	h, l := v.Health, &v.Canvas.Look
	series := func(f func(*model.HealthSample) model.Measure) []float64 {
		out := make([]float64, len(v.Past))
		for i := range v.Past {
			if m := f(&v.Past[i]); m.Known {
				out[i] = m.V
			} else {
				out[i] = math.NaN()
			}
		}
		return out
	}
	span := func(d time.Duration) model.Measure { return model.Measure{Known: d > 0, V: float64(d)} }
	latency := func(v float64) string { return format.Latency(time.Duration(v)) }
	one := func(text string) []widget.Span { return []widget.Span{widget.Styled(text, l.Text)} }
	memory, most := h.MemoryUsed.Text(format.Bytes), 0.0
	memoryInk := l.Glow
	if h.MemoryMax.Known && h.MemoryMax.V > 0 {
		most, memoryInk = h.MemoryMax.V, l.Fill
		memory += " of " + format.Bytes(most)
	}
	var last model.HealthSample
	if n := len(v.Past); n > 0 {
		last = v.Past[n-1]
	}
	pair := func(up, down string, upStyle, downStyle themes.Style) []widget.Span {
		return []widget.Span{widget.Styled(up, upStyle), widget.Styled("  "+down, downStyle)}
	}
	plain := func(st themes.Style) func(float64) themes.Style { return func(float64) themes.Style { return st } }
	return []graph{
		{label: "latency", now: one(span(v.Server.RTT).Text(latency)),
			past: settled(v.Past, series(func(p *model.HealthSample) model.Measure { return span(p.RTT) })), round: chartTop, scale: latency,
			ink: l.Glow},
		{label: "commands", now: one(h.Ops.Text(format.PerSecond)), past: series(func(p *model.HealthSample) model.Measure { return p.Ops }),
			round: chartTop, scale: rate, ink: l.Glow},
		{label: "memory", now: one(memory), past: series(func(p *model.HealthSample) model.Measure { return p.Memory }), top: most,
			round: byteTop, scale: format.Bytes, ink: memoryInk},
		{label: "evictions", now: []widget.Span{widget.Styled(h.Evicted.Text(format.PerSecond), l.Denied)},
			past: series(func(p *model.HealthSample) model.Measure { return p.Evicted }), round: chartTop, scale: rate, ink: plain(l.Denied)},
		{label: "cpu (used_cpu)", now: one(h.CPU.Text(format.Percent)), past: series(func(p *model.HealthSample) model.Measure { return p.CPU }),
			top: float64(max(h.Nodes, 1)), round: chartTop, scale: coarse, ink: l.Fill},
		{label: "script time", now: one(format.Latency(last.Script)),
			past: series(func(p *model.HealthSample) model.Measure { return span(p.Script) }), round: chartTop, scale: latency, ink: l.Glow},
		{
			label: "network", now: pair(h.NetIn.Text(format.Bytes)+"/s in", h.NetOut.Text(format.Bytes)+"/s out", l.Accent,
				l.Previous), round: byteTop, scale: format.Bytes, brief: pair("in", "out", l.Accent, l.Previous),
			past: series(func(p *model.HealthSample) model.Measure { return p.NetIn }), ink: plain(l.Accent),
			hung: series(func(p *model.HealthSample) model.Measure { return p.NetOut }), hungIn: plain(l.Previous),
		},
		{
			// the header has the figures of this moment
			label: "requests", now: pair(l.YesMark+" admitted", l.OverMark+" denied", l.Admitted, l.Denied), round: chartTop, scale: rate,
			brief: pair(l.YesMark, l.OverMark, l.Admitted, l.Denied),
			past:  series(func(p *model.HealthSample) model.Measure { return p.Admitted }), ink: plain(l.Admitted),
			hung: series(func(p *model.HealthSample) model.Measure { return p.Denied }), hungIn: plain(l.Denied),
		},
		{label: "watching", now: one(v.watchingCost()),
			past:  settled(v.Past, series(func(p *model.HealthSample) model.Measure { return p.Watching })),
			round: shareTop, scale: finely, ink: l.Glow},
	}
}

// axisColumns is the room left of a graph for the figures of its scale.
const axisColumns = 6

// rate writes a rate beside a graph.
func rate(v float64) string {
	return format.First(axisColumns, format.PerSecond(v), format.Brief(int64(v))+"/s")
}

// chartTop, byteTop and shareTop are the least round figure that is not below v: of
// anything that is counted in tens, of bytes, of shares of 1.
func chartTop(v float64) float64 { return float64(chart.Nice(int64(math.Ceil(min(v, 1e17))))) }

func byteTop(v float64) float64 {
	unit := 1.0
	for v/unit >= 1000 && unit < 1<<50 {
		unit *= 1024
	}
	return unit * chartTop(v/unit)
}

func shareTop(v float64) float64 { return chartTop(v*1e4) / 1e4 }

func coarse(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }
func finely(v float64) string { return fmt.Sprintf("%.2g%%", 100*v) }

// watchingCost is what this program takes of the server.
func (v *View) watchingCost() string {
	c := v.Cost
	switch {
	case c.Over <= 0 || v.Link.Link != model.Live:
		return format.Unknown
	case c.Server > 0:
		return fmt.Sprintf("%.2f%%", 100*float64(c.Server)/float64(c.Over))
	}
	return format.PerSecond(float64(c.Commands) / c.Over.Seconds())
}

// The least size at which a graph tells something.
const (
	graphWidth  = 26
	graphHeight = 4
)

// paintGraphs lays the graphs out in rows that each fill the width; where there is no room for all the last ones go.
func (v *View) paintGraphs(r cell.Rect, list []graph) {
	const most = 4 // beside each other
	cols, least := min(max(r.W/graphWidth, 1), most), graphHeight+v.frame()-2
	if len(list) == 0 || r.H < least {
		return
	}
	rows := min((len(list)+cols-1)/cols, r.H/least)
	list = list[:min(len(list), rows*cols)]
	per := (len(list) + rows - 1) / rows
	for row := range rows {
		some := list[min(row*per, len(list)):min((row+1)*per, len(list))]
		y, below := r.Y+row*r.H/rows, r.Y+(row+1)*r.H/rows
		for i := range some {
			x, right := r.X+i*r.W/len(some), r.X+(i+1)*r.W/len(some)
			v.paintGraph(cell.Rect{X: x, Y: y, W: right - x, H: below - y}, &some[i])
		}
	}
}

func (v *View) paintGraph(r cell.Rect, g *graph) {
	in := v.Canvas.Section(r, false, widget.Styled(g.label, v.Canvas.Look.Title))
	now, label := g.now, safetext.Width(g.label)
	if g.brief != nil && label+widget.Width(now...) > widget.TitleRoom(r.W)-3 {
		now = g.brief
	}
	v.Canvas.Aside(r, label, now...)
	const labels, scale = 28, axisColumns + 1 // from which width on there is room for a scale, and its own
	if in.H == 0 {
		return
	}
	plot := in
	if in.W >= labels {
		_, plot = in.Left(scale)
	}
	axis := axisOf(v.Past)
	if plot.H >= 4 {
		plot.H--
		v.paintTimes(cell.Rect{X: plot.X, Y: plot.Y + plot.H, W: plot.W, H: 1}, axis)
	}
	top, below, fine := cmp.Or(g.top, g.round(highest(g.past))), 0.0, map[bool]int{true: 1, false: 2}[v.Canvas.Buffer.ASCII]
	up, down := plot, cell.Rect{}
	if g.hung != nil && !all(g.hung, math.IsNaN) && plot.H > 1 { // back to back on one scale
		below = g.round(highest(g.hung))
		up, down = plot.Top(min(max(int(math.Round(float64(plot.H)*top/(top+below))), 1), plot.H-1))
	}
	chart.Area{Values: axis.resample(v.Past, g.past, fine*plot.W), Top: top, Ink: g.ink}.Draw(&v.Canvas.Buffer, up, v.Canvas.Look)
	if down.H > 0 {
		hung := axis.resample(v.Past, g.hung, fine*plot.W)
		chart.Area{Values: hung, Top: below, Ink: g.hungIn, Hangs: true}.Draw(&v.Canvas.Buffer, down, v.Canvas.Look)
	}
	if plot.X == in.X {
		return
	}
	v.Canvas.Buffer.Right(in.X, in.Y, plot.X-1, g.scale(top), v.Canvas.Look.Dim)
	if plot.H > 1 {
		v.Canvas.Buffer.Right(in.X, max(up.Y+up.H-1, in.Y+1), plot.X-1, "0", v.Canvas.Look.Dim)
	}
	if down.H > 1 {
		v.Canvas.Buffer.Right(in.X, down.Y+down.H-1, plot.X-1, g.scale(below), v.Canvas.Look.Dim)
	}
}

// highest returns the largest of the values that are known, 0 when there is none.
func highest(list []float64) (most float64) {
	for _, p := range list {
		if p > most {
			most = p
		}
	}
	return most
}

// reaches are the lengths of time that the graphs show: the least that holds all samples, so
// that a graph is full soon after the start and its axis is round.
var reaches = [...]time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute}

// timeAxis is the piece of time that the graphs show.
type timeAxis struct {
	from, to limiter.Instant
}

// axisOf returns the axis of samples, oldest first.
func axisOf(past []model.HealthSample) timeAxis {
	if len(past) == 0 {
		return timeAxis{}
	}
	first, to := past[0].At, past[len(past)-1].At
	for _, reach := range reaches {
		if to.Sub(first) <= reach {
			return timeAxis{to.Add(-reach), to}
		}
	}
	return timeAxis{to.Add(-reaches[len(reaches)-1]), to}
}

// lapse is the longest time between two samples that is no gap.
const lapse = 8 * time.Second

// resample returns n values evenly spaced on the axis: each the sample before it, unless that
// is further away than two samples usually are.
func (a timeAxis) resample(past []model.HealthSample, values []float64, n int) []float64 {
	out, lapse := make([]float64, n), lapse
	if k := len(past); k > 1 {
		lapse = max(lapse, 3*past[k-1].At.Sub(past[k-2].At))
	}
	at := 0
	for i := range out {
		t := a.from.Add(a.to.Sub(a.from) * time.Duration(i+1) / time.Duration(n))
		for at < len(past) && past[at].At <= t {
			at++
		}
		out[i] = math.NaN()
		if at > 0 && t.Sub(past[at-1].At) <= lapse {
			out[i] = values[at-1]
		}
	}
	return out
}

// paintTimes labels the axis in a row.
func (v *View) paintTimes(r cell.Rect, a timeAxis) {
	if r.H == 0 || a.to <= a.from {
		return
	}
	reach := a.to.Sub(a.from)
	v.Canvas.Buffer.Right(r.X, r.Y, r.X+r.W, v.End, v.Canvas.Look.Dim)
	v.Canvas.Buffer.Text(r.X, r.Y, r.X+r.W-4, "-"+format.Length(reach), v.Canvas.Look.Dim)
	if half := "-" + format.Length(reach/2); r.W >= 30 {
		v.Canvas.Buffer.Text(r.X+(r.W-len(half))/2, r.Y, r.X+r.W-4, half, v.Canvas.Look.Dim)
	}
}
