package tui

import (
	"fmt"
	"math"
	"time"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// paintHealth draws the Redis behind the keys: vital figures over time at the left,
// what scripts and errors cost at the right, the slow log below, and what the watching
// itself adds to all of that.
func (a *App) paintHealth(r cell.Rect) {
	h := &a.shown().Health
	vitals := min(11, r.H/2)
	top, rest := r.Top(vitals)
	left, right := top.Left(top.W / 2)
	a.paintVitals(left, h)
	a.paintState(right, h)
	commands, slow := rest.Top(max(5, rest.H*3/5))
	if slow.H < 4 {
		commands, slow = rest, cell.Rect{}
	}
	tables, errs := commands.Left(commands.W * 3 / 5)
	a.paintCommands(tables, h)
	a.paintErrors(errs, h)
	a.paintSlow(slow, h)
}

func (a *App) heading(title, note string) []pane.Piece {
	return []pane.Piece{pane.Bit(title, a.Look.Title), pane.Bit(note, a.Look.Dim)}
}

// vital is one figure with its past.
type vital struct {
	label string
	text  string
	style themes.Style
	past  []float64
	top   float64 // the scale's top where it is fixed; 0 the past's own maximum
}

func (a *App) paintVitals(r cell.Rect, h *model.Health) {
	in := a.Section(r, true, a.heading("redis", " · "+a.wellness())...)
	if in.H == 0 {
		return
	}
	for i, v := range a.vitals(h) {
		if i >= in.H {
			return
		}
		a.Grid.Text(in.X, in.Y+i, in.X+10, v.label, a.Look.Dim)
		a.Grid.Right(in.X+9, in.Y+i, in.X+20, v.text, v.style)
		a.paintPast(in.X+22, in.Y+i, in.W-22, v)
	}
}

func (a *App) wellness() string {
	switch s := a.board.Server; s.Link {
	case model.Connecting:
		return "connecting"
	case model.Down:
		return "away for " + figure.Span(s.Down)
	default:
		if s.Embedded {
			return "embedded: it keeps few figures of its own"
		}
		return "answering"
	}
}

func (a *App) vitals(h *model.Health) []vital {
	past := a.shown().Vitals()
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
	good := a.Look.Text
	rtt := good
	if a.board.Server.RTT > 50*time.Millisecond {
		rtt = a.Look.Near
	}
	memory := good
	memoryText := measured(h.MemoryUsed, figure.Bytes)
	top := 0.0
	if h.MemoryMax.Known && h.MemoryMax.V > 0 {
		top = h.MemoryMax.V
		memoryText += "/" + figure.Bytes(top)
		if h.MemoryUsed.V > model.NearLimit*top {
			memory = a.Look.Near
		}
	}
	return []vital{
		{label: "latency", text: figure.Latency(a.server.RTT), style: rtt, past: series(func(v *model.Vital) (float64, bool) { return float64(v.RTT), v.RTT > 0 })},
		{label: "commands", text: measured(h.Ops, figure.PerSecond), style: good, past: series(func(v *model.Vital) (float64, bool) { return v.Ops.V, v.Ops.Known })},
		{label: "cpu", text: measured(h.CPU, figure.Percent), style: good, top: 1, past: series(func(v *model.Vital) (float64, bool) { return v.CPU.V, v.CPU.Known })},
		{label: "memory", text: memoryText, style: memory, top: top, past: series(func(v *model.Vital) (float64, bool) { return v.Memory.V, v.Memory.Known })},
		{label: "script", text: figure.Latency(scriptTime(past)), style: good, past: series(func(v *model.Vital) (float64, bool) { return float64(v.Script), v.Script > 0 })},
		{label: "network", text: measured(h.NetIn, figure.Bytes) + "/s in", style: good},
		{label: "", text: measured(h.NetOut, figure.Bytes) + "/s out", style: good},
		{label: "watching", text: a.watchingCost(), style: a.Look.Good},
	}
}

func scriptTime(past []model.Vital) time.Duration {
	if len(past) == 0 {
		return 0
	}
	return past[len(past)-1].Script
}

// watchingCost is what this program takes of the server.
func (a *App) watchingCost() string {
	c := a.cost
	switch {
	case c.Over <= 0 || a.board.Server.Link != model.Live:
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

// paintPast draws a figure's past in one row, newest at the right.
func (a *App) paintPast(x, y, w int, v vital) {
	top := v.top
	for _, p := range v.past {
		if v.top == 0 && p > top {
			top = p
		}
	}
	n := len(a.Look.Rise)
	for i := range min(w, len(v.past)) {
		p := v.past[len(v.past)-1-i]
		cx := x + w - 1 - i
		switch {
		case math.IsNaN(p):
			a.Grid.Set(cx, y, a.Look.Before, a.Look.Faint)
		case top > 0:
			step := min(max(int(math.Round(p/top*float64(n))), 1), n)
			a.Grid.Set(cx, y, a.Look.Rise[step-1], a.Look.Previous)
		}
	}
}

// fact is a line of the state pane.
type fact struct {
	label, text string
	style       themes.Style
}

func (a *App) paintState(r cell.Rect, h *model.Health) {
	in := a.Section(r, false, a.heading("state", "")...)
	for i, f := range a.facts(h) {
		if i >= in.H {
			return
		}
		a.Grid.Text(in.X, in.Y+i, in.X+16, f.label, a.Look.Dim)
		a.Grid.Text(in.X+16, in.Y+i, in.X+in.W, safetext.Clip(f.text, max(0, in.W-16), safetext.Ellipsis), f.style)
	}
}

func (a *App) facts(h *model.Health) []fact {
	s, l := a.server, &a.Look
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

func (a *App) paintCommands(r cell.Rect, h *model.Health) {
	in := a.Section(r, false, a.heading("commands", " · server time a call")...)
	if in.H == 0 {
		return
	}
	if len(h.Commands) == 0 {
		a.Grid.Text(in.X, in.Y, in.X+in.W, "no command statistics from this server", a.Look.Dim)
		return
	}
	a.row(in, in.Y, a.Look.Dim, "command", "calls", "mean", "p99", "failed")
	for i, c := range h.Commands {
		if i+1 >= in.H {
			return
		}
		st := a.Look.Text
		if c.Scripts {
			st = a.Look.Injected
		}
		a.row(in, in.Y+1+i, st, safetext.Clean(c.Name), figure.PerSecond(c.Calls), figure.Latency(c.Mean), figure.Latency(c.P99), figure.PerSecond(c.Failed))
	}
}

// row writes a name and right-aligned figures.
func (a *App) row(in cell.Rect, y int, st themes.Style, name string, figures ...string) {
	const width = 9
	end := in.X + in.W
	x := end - width*len(figures)
	a.Grid.Text(in.X, y, x, safetext.Clip(name, max(0, x-in.X-1), safetext.Ellipsis), st)
	for i, f := range figures {
		a.Grid.Right(x+i*width, y, x+(i+1)*width, f, st)
	}
}

func (a *App) paintErrors(r cell.Rect, h *model.Health) {
	in := a.Section(r, false, a.heading("errors", " · replies a second")...)
	if in.H == 0 {
		return
	}
	if len(h.Errors) == 0 {
		text := "no error replies"
		if h.At == 0 {
			text = "not looked at yet"
		}
		a.Grid.Text(in.X, in.Y, in.X+in.W, text, a.Look.Dim)
		return
	}
	for i, e := range h.Errors {
		if i >= in.H {
			return
		}
		st := a.Look.Text
		if e.Rate > 0 {
			st = a.Look.Denied
		}
		a.row(in, in.Y+i, st, safetext.Clean(e.Name), figure.PerSecond(e.Rate), figure.Short(e.Total))
	}
}

func (a *App) paintSlow(r cell.Rect, h *model.Health) {
	in := a.Section(r, false, a.heading("slow log", " · newest first")...)
	if in.H == 0 {
		return
	}
	if len(h.Slow) == 0 {
		a.Grid.Text(in.X, in.Y, in.X+in.W, "nothing slow on record", a.Look.Dim)
	}
	for i, c := range h.Slow {
		if i >= in.H {
			return
		}
		a.Words(in.X, in.Y+i, in.X+in.W, pane.Bit(figure.Clock(c.At)+" ", a.Look.Dim),
			pane.Bit(fmt.Sprintf("%8s ", figure.Latency(c.Took)), a.Look.Near),
			pane.Bit(safetext.Clip(safetext.Clean(c.Command), max(0, in.W-20), safetext.Ellipsis), a.Look.Text))
	}
}
