// Package vitals draws how the Redis behind the keys does: its figures over time, its
// state, what commands and scripts cost, its errors and its slow log, and what the
// watching itself adds to all of that.
package vitals

import (
	"fmt"
	"math"
	"slices"
	"time"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// View is what there is to draw.
type View struct {
	*pane.Paper
	Health *model.Health
	Past   []model.Vital
	Link   model.Server // as it is at this moment
	Server model.Server // figures that change no faster than they can be read
	Cost   model.Cost
}

// Paint draws it into r.
func (v *View) Paint(r cell.Rect) {
	h := v.Health
	if v.Link.Embedded && len(h.Commands) == 0 { // nothing below would ever be filled
		left, right := r.Left(r.W / 2)
		v.paintVitals(left, h)
		v.paintState(right, h)
		return
	}
	top, rest := r.Top(max(min(11, r.H/2), r.H*2/5))
	left, right := top.Left(top.W / 2)
	v.paintVitals(left, h)
	v.paintState(right, h)
	commands, slow := rest.Top(max(5, rest.H*3/5))
	if slow.H < 4 {
		commands, slow = rest, cell.Rect{}
	}
	tables, errs := commands.Left(commands.W * 3 / 5)
	v.paintCommands(tables, h)
	v.paintErrors(errs, h)
	v.paintSlow(slow, h)
}

func (v *View) heading(title, note string) []pane.Piece {
	return []pane.Piece{pane.Bit(title, v.Look.Title), pane.Bit(note, v.Look.Dim)}
}

// vital is one figure with its past.
type vital struct {
	label string
	text  string
	style themes.Style
	past  []float64
	top   float64 // the scale's top where it is fixed; 0 the past's own maximum
}

func (v *View) paintVitals(r cell.Rect, h *model.Health) {
	in := v.Section(r, true, v.heading("redis", " · "+v.wellness())...)
	if in.H == 0 {
		return
	}
	list := v.vitals(h)
	graphs := 0
	for i := range list {
		if !slices.ContainsFunc(list[i].past, func(p float64) bool { return !math.IsNaN(p) }) {
			list[i].past = nil // nothing of it was ever known
		} else {
			graphs++
		}
	}
	const most = 6 // rows of a graph
	high := min(max((in.H-(len(list)-graphs))/max(graphs, 1), 1), most)
	y := in.Y
	for _, f := range list {
		rows := 1
		if f.past != nil {
			rows = high
		}
		if y+rows > in.Y+in.H {
			return
		}
		v.Grid.Text(in.X, y, in.X+10, f.label, v.Look.Dim)
		v.Grid.Right(in.X+9, y, in.X+20, f.text, f.style)
		v.paintPast(cell.Rect{X: in.X + 22, Y: y, W: in.W - 22, H: rows}, f)
		y += rows
	}
}

func (v *View) wellness() string {
	switch s := v.Link; s.Link {
	case model.Connecting:
		return "connecting"
	case model.Down:
		return "away for " + figure.Span(s.Down)
	default:
		if s.Embedded {
			return "embedded"
		}
		return "answering"
	}
}

func (v *View) vitals(h *model.Health) []vital {
	past := v.Past
	series := func(f func(*model.Vital) (float64, bool)) []float64 {
		out := make([]float64, len(past))
		for i := range past {
			v, known := f(&past[i])
			if !known {
				v = math.NaN()
			}
			out[i] = v
		}
		return out
	}
	good := v.Look.Text
	rtt := good
	if v.Link.RTT > 50*time.Millisecond {
		rtt = v.Look.Near
	}
	memory := good
	memoryText := measured(h.MemoryUsed, figure.Bytes)
	top := 0.0
	if h.MemoryMax.Known && h.MemoryMax.V > 0 {
		top = h.MemoryMax.V
		memoryText += "/" + figure.Bytes(top)
		if h.MemoryUsed.V > model.NearLimit*top {
			memory = v.Look.Near
		}
	}
	return []vital{
		{label: "latency", text: figure.Latency(v.Server.RTT), style: rtt, past: series(func(p *model.Vital) (float64, bool) { return float64(p.RTT), p.RTT > 0 })},
		{label: "commands", text: measured(h.Ops, figure.PerSecond), style: good, past: series(func(p *model.Vital) (float64, bool) { return p.Ops.V, p.Ops.Known })},
		{label: "cpu", text: measured(h.CPU, figure.Percent), style: good, top: 1, past: series(func(p *model.Vital) (float64, bool) { return p.CPU.V, p.CPU.Known })},
		{label: "memory", text: memoryText, style: memory, top: top, past: series(func(p *model.Vital) (float64, bool) { return p.Memory.V, p.Memory.Known })},
		{label: "script", text: figure.Latency(scriptTime(past)), style: good, past: series(func(p *model.Vital) (float64, bool) { return float64(p.Script), p.Script > 0 })},
		{label: "network", text: measured(h.NetIn, figure.Bytes) + "/s in", style: good},
		{label: "", text: measured(h.NetOut, figure.Bytes) + "/s out", style: good},
		{label: "watching", text: v.watchingCost(), style: v.Look.Good},
	}
}

func scriptTime(past []model.Vital) time.Duration {
	if len(past) == 0 {
		return 0
	}
	return past[len(past)-1].Script
}

// watchingCost is what this program takes of the server.
func (v *View) watchingCost() string {
	c := v.Cost
	switch {
	case c.Over <= 0 || v.Link.Link != model.Live:
		return figure.Unknown
	case c.Server > 0:
		return fmt.Sprintf("%.2f%%", 100*float64(c.Server)/float64(c.Over))
	}
	return figure.PerSecond(float64(c.Commands) / c.Over.Seconds())
}

func measured(m model.Measure, f func(float64) string) string {
	if !m.Known {
		return figure.Unknown
	}
	return f(m.V)
}

// paintPast draws a figure's past, newest at the right.
func (v *View) paintPast(r cell.Rect, f vital) {
	top := f.top
	for _, p := range f.past {
		if f.top == 0 && p > top {
			top = p
		}
	}
	if r.H > 2 { // a row stays free between two graphs
		r.H--
	}
	chart.Area(&v.Grid, r, f.past, top, v.Look)
}

// fact is a line of the state pane.
type fact struct {
	label, text string
	style       themes.Style
}

func (v *View) paintState(r cell.Rect, h *model.Health) {
	in := v.Section(r, false, v.heading("state", "")...)
	list := v.facts(h)
	for i, f := range list {
		if i >= in.H {
			return
		}
		v.Grid.Text(in.X, in.Y+i, in.X+16, f.label, v.Look.Dim)
		v.Grid.Text(in.X+16, in.Y+i, in.X+in.W, safetext.Clip(f.text, max(0, in.W-16), safetext.Ellipsis), f.style)
	}
	_, below := in.Top(len(list) + 1)
	v.more(below)
}

// more is what a person who wants to see more can do, below the facts.
func (v *View) more(in cell.Rect) {
	if !v.Link.Embedded {
		return
	}
	for i, line := range figure.Wrap("The embedded Redis keeps no figures of its own. Start with --redis URL to see a server's commands, scripts, errors and slow log here.", in.W) {
		if i < in.H {
			v.Grid.Text(in.X, in.Y+i, in.X+in.W, line, v.Look.Dim)
		}
	}
}

func (v *View) facts(h *model.Health) []fact {
	s, l := v.Server, &v.Look
	mind := func(m model.Measure) themes.Style { // above zero wants attention
		if m.Known && m.V > 0 {
			return l.Near
		}
		return l.Text
	}
	role := safetext.Clean(s.Role)
	if role == "" {
		role = figure.Unknown
	}
	if h.Replicas.Known {
		role += fmt.Sprintf(", %.0f replicas", h.Replicas.V)
	}
	clock := figure.Unknown
	if s.Link == model.Live {
		clock = "server " + signedOrSame(s.Offset) + " this machine"
		if s.OffsetBy > 0 {
			clock += " ±" + figure.Latency(s.OffsetBy)
		}
	}
	facts := []fact{
		{"role", role, l.Text},
		{"clock", clock, l.Text},
		{"keys", measured(h.Keys, func(v float64) string { return figure.Short(int64(v)) }), l.Text},
		{"clients", measured(h.Clients, func(v float64) string { return figure.Short(int64(v)) }) + ", " + measured(h.Blocked, func(v float64) string { return figure.Short(int64(v)) }) + " blocked", l.Text},
		{"eviction", measured(h.Evicted, figure.PerSecond) + " · policy " + orUnknown(safetext.Clean(h.Policy)), mind(h.Evicted)},
		{"expiry", measured(h.Expired, figure.PerSecond), l.Text},
		{"replica lag", measured(h.Lag, figure.Bytes), mind(h.Lag)},
	}
	for _, m := range s.Lacks {
		facts = append(facts, fact{"cannot tell", safetext.Clean(m), l.Near})
	}
	for _, m := range h.Missing {
		facts = append(facts, fact{"switched off", safetext.Clean(m), l.Near})
	}
	return facts
}

func orUnknown(s string) string {
	if s == "" {
		return figure.Unknown
	}
	return s
}

// signedOrSame says where the server's clock stands.
func signedOrSame(d time.Duration) string {
	if d > -time.Millisecond && d < time.Millisecond {
		return "as"
	}
	return figure.Signed(d) + " against"
}

func (v *View) paintCommands(r cell.Rect, h *model.Health) {
	in := v.Section(r, false, v.heading("commands", " · server time a call")...)
	if in.H == 0 {
		return
	}
	if len(h.Commands) == 0 {
		v.Grid.Text(in.X, in.Y, in.X+in.W, "no command statistics from this server", v.Look.Dim)
		return
	}
	v.row(in, in.Y, v.Look.Dim, "command", "calls", "mean", "p99", "failed")
	for i, c := range h.Commands {
		if i+1 >= in.H {
			return
		}
		st := v.Look.Text
		if c.Scripts {
			st = v.Look.Accent
		}
		v.row(in, in.Y+1+i, st, safetext.Clean(c.Name), figure.PerSecond(c.Calls), figure.Latency(c.Mean), figure.Latency(c.P99), figure.PerSecond(c.Failed))
	}
}

// row writes a name and right-aligned figures.
func (v *View) row(in cell.Rect, y int, st themes.Style, name string, figures ...string) {
	const width = 9
	end := in.X + in.W
	x := end - width*len(figures)
	v.Grid.Text(in.X, y, x, safetext.Clip(name, max(0, x-in.X-1), safetext.Ellipsis), st)
	for i, f := range figures {
		v.Grid.Right(x+i*width, y, x+(i+1)*width, f, st)
	}
}

func (v *View) paintErrors(r cell.Rect, h *model.Health) {
	in := v.Section(r, false, v.heading("errors", " · replies a second")...)
	if in.H == 0 {
		return
	}
	if len(h.Errors) == 0 {
		text := "no error replies"
		if h.At == 0 {
			text = "not looked at yet"
		}
		v.Grid.Text(in.X, in.Y, in.X+in.W, text, v.Look.Dim)
		return
	}
	for i, e := range h.Errors {
		if i >= in.H {
			return
		}
		st := v.Look.Text
		if e.Rate > 0 {
			st = v.Look.Denied
		}
		v.row(in, in.Y+i, st, safetext.Clean(e.Name), figure.PerSecond(e.Rate), figure.Short(e.Total))
	}
}

func (v *View) paintSlow(r cell.Rect, h *model.Health) {
	in := v.Section(r, false, v.heading("slow log", " · newest first")...)
	if in.H == 0 {
		return
	}
	if len(h.Slow) == 0 {
		v.Grid.Text(in.X, in.Y, in.X+in.W, "nothing slow on record", v.Look.Dim)
	}
	for i, c := range h.Slow {
		if i >= in.H {
			return
		}
		v.Words(in.X, in.Y+i, in.X+in.W, pane.Bit(figure.Clock(c.At)+" ", v.Look.Dim),
			pane.Bit(fmt.Sprintf("%8s ", figure.Latency(c.Took)), v.Look.Near),
			pane.Bit(safetext.Clip(safetext.Clean(c.Command), max(0, in.W-20), safetext.Ellipsis), v.Look.Text))
	}
}
