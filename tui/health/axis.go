package health

import (
	"math"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
)

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

// resample returns n values evenly spaced on the axis: each the sample before it, unless that
// is further away than two samples usually are.
func (a timeAxis) resample(past []model.HealthSample, values []float64, n int) []float64 {
	out := make([]float64, n)
	lapse := 8 * time.Second
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

// points are the samples as a line on the axis.
func (a timeAxis) points(past []model.HealthSample, values []float64) []chart.Point {
	out := make([]chart.Point, 0, len(past))
	for i := range past {
		out = append(out, chart.Point{At: past[i].At, V: values[i]})
	}
	return out
}

// paintTimes labels the axis in a row.
func (v *View) paintTimes(r cell.Rect, a timeAxis) {
	if r.H == 0 || a.to <= a.from {
		return
	}
	reach := a.to.Sub(a.from)
	v.Canvas.Buffer.Right(r.X, r.Y, r.X+r.W, "now", v.Canvas.Look.Dim)
	v.Canvas.Buffer.Text(r.X, r.Y, r.X+r.W-4, "-"+format.Length(reach), v.Canvas.Look.Dim)
	if half := "-" + format.Length(reach/2); r.W >= 30 {
		v.Canvas.Buffer.Text(r.X+(r.W-len(half))/2, r.Y, r.X+r.W-4, half, v.Canvas.Look.Dim)
	}
}

// Plots keeps the lines that were drawn last by the labels of their graphs; to draw them takes about a
// millisecond.
type Plots map[string]*plot

// plot is the lines of a graph and what they were drawn for.
type plot struct {
	lines chart.Lines
	to    limiter.Instant
	w, h  int
	top   float64
	dark  bool
}

// pair draws two series as lines on one axis.
func (v *View) pair(r cell.Rect, g *graph, a timeAxis, top float64) {
	p := v.Plots[g.label]
	if p == nil {
		p = &plot{}
		if v.Plots != nil {
			v.Plots[g.label] = p
		}
	}
	if p.to != a.to || p.w != r.W || p.h != r.H || p.top != top || p.dark != v.Canvas.Look.Dark {
		p.to, p.w, p.h, p.top, p.dark = a.to, r.W, r.H, top, v.Canvas.Look.Dark
		p.lines.Plot(r.W, r.H, a.from, a.to, 0, top,
			chart.Line{Points: a.points(v.Past, g.hung), Style: g.hungIn(1)}, chart.Line{Points: a.points(v.Past, g.past), Style: g.ink(1)})
	}
	p.lines.Draw(&v.Canvas.Buffer, r)
}
