package vitals

import (
	"fmt"
	"strings"
	"time"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// fact is a line of the state pane.
type fact struct {
	label, text string
	style       themes.Style
}

// paintFacts draws the server's state, and below it what a person who wants more can do.
func (v *View) paintFacts(r cell.Rect, list []fact) {
	in := v.Section(r, false, v.heading("state", "")...)
	label := 14
	if in.W < 40 {
		label = 10
	}
	y, end := in.Y, in.Y+in.H
	for _, f := range list {
		for i, line := range figure.Wrap(f.text, in.W-label) {
			if y == end {
				return
			}
			if i == 0 {
				v.Grid.Text(in.X, y, in.X+label, f.label, v.Look.Dim)
			}
			v.Grid.Text(in.X+label, y, in.X+in.W, line, f.style)
			y++
		}
	}
	if !v.Link.Embedded {
		return
	}
	for i, line := range figure.Wrap("The embedded Redis keeps no figures of its own. Start with --redis URL to see a server's commands, scripts, errors and slow log here.", in.W) {
		if y+1+i < end {
			v.Grid.Text(in.X, y+1+i, in.X+in.W, line, v.Look.Dim)
		}
	}
}

// facts is what is known of the server's state.
func (v *View) facts() []fact {
	s, h, l := v.Server, v.Health, &v.Look
	var facts []fact
	say := func(label, text string, st themes.Style) { facts = append(facts, fact{label, text, st}) }
	tell := func(label string, m model.Measure, f func(float64) string, more string) {
		if m.Known {
			say(label, f(m.V)+more, l.Text)
		}
	}
	role := []string{safetext.Clean(s.Role)}
	if s.Role == "" {
		role[0] = figure.Unknown
	}
	if h.Replicas.Known && (h.Replicas.V > 0 || s.Role == "master") {
		role = append(role, figure.Plural(int(h.Replicas.V), "replica"))
	}
	if above(h.Lag, 0) {
		role = append(role, figure.Bytes(h.Lag.V)+" behind")
	}
	if h.Unheard.Known {
		role = append(role, "heard its master "+fmt.Sprintf("%.0fs", h.Unheard.V)+" ago")
	}
	say("role", strings.Join(role, ", "), l.Text)
	if s.Link == model.Live {
		clock := "this machine's"
		if s.Offset <= -time.Millisecond || s.Offset >= time.Millisecond {
			clock = figure.Signed(s.Offset) + " to this machine's"
		}
		if s.OffsetBy > 0 {
			clock += " ±" + figure.Latency(s.OffsetBy)
		}
		say("clock", clock, l.Text)
	}
	leaving := ""
	if h.Expired.Known {
		leaving = ", " + figure.PerSecond(h.Expired.V) + " expire"
	}
	tell("keys", h.Keys, whole, leaving)
	if h.Policy != "" {
		say("when full", safetext.Clean(h.Policy), l.Text)
	}
	tell("scripts", h.Scripts, whole, " in the cache")
	saving := " changes since the last snapshot"
	if h.Saving {
		saving += ", one is being written"
	}
	tell("unsaved", h.Unsaved, whole, saving)
	tell("clients", h.Clients, whole, ", "+measured(h.Blocked, whole)+" blocked")
	if cost := v.watchingCost(); cost != figure.Unknown {
		unit := " of the server's time"
		if v.Cost.Server <= 0 {
			unit = " reads"
		}
		say("watching", cost+unit, l.Good)
	}
	if h.At != 0 && len(h.Commands) > 0 {
		if len(h.Errors) == 0 {
			say("errors", "none on record", l.Text)
		}
		if len(h.Slow) == 0 {
			say("slow log", "nothing on record", l.Text)
		}
	}
	for _, m := range s.Lacks {
		say("cannot tell", safetext.Clean(m), l.Near)
	}
	for _, m := range h.Missing {
		if s.Embedded { // it has none of this, which is said once, below
			break
		}
		say("switched off", safetext.Clean(m), l.Near)
	}
	return facts
}

// paintCommands draws what commands cost: those that run scripts first, then the dearest.
func (v *View) paintCommands(r cell.Rect) {
	in := v.Section(r, false, v.heading("commands", " · server time a call")...)
	if in.H == 0 {
		return
	}
	const meter = 12
	bar, most := 0, 0.0
	if in.W >= 75 {
		bar = meter + 1
	}
	for _, c := range v.Health.Commands {
		most = max(most, load(c))
	}
	table := cell.Rect{X: in.X, Y: in.Y, W: in.W - bar, H: in.H}
	v.row(table, in.Y, pane.Bit("command", v.Look.Dim), v.commandFigures(table.W, nil)...)
	for i, c := range v.Health.Commands {
		if i+1 >= in.H {
			return
		}
		name, y := v.Look.Text, in.Y+1+i
		if c.Scripts {
			name = v.Look.Accent
		}
		v.row(table, y, pane.Bit(safetext.Clean(c.Name), name), v.commandFigures(table.W, &c)...)
		if bar > 0 {
			chart.Bar(&v.Grid, in.X+in.W-meter, y, meter, most, v.Look.Glyphs, chart.Segment{Value: load(c), Style: v.Look.Glow(0.6 * load(c) / most)})
		}
	}
}

// commandFigures is what is told of a command in a table that wide, or with nil what the
// columns are called.
func (v *View) commandFigures(width int, c *model.CommandStat) []pane.Piece {
	titles := []string{"calls", "mean", "p99", "failed", "load"}
	var list []pane.Piece
	for _, title := range titles {
		p := pane.Bit(title, v.Look.Dim)
		if c != nil {
			switch title {
			case "calls":
				p = pane.Bit(figure.PerSecond(c.Calls), v.some(c.Calls, v.Look.Text))
			case "mean":
				p = pane.Bit(figure.Latency(c.Mean), v.Look.Text)
			case "p99":
				p.Text = figure.Latency(c.P99)
			case "failed":
				p = pane.Bit(figure.PerSecond(c.Failed), v.some(c.Failed, v.Look.Near))
			case "load":
				p = pane.Bit(fmt.Sprintf("%.2f%%", 100*load(*c)), v.some(load(*c), v.Look.Text))
			}
		}
		if width < 44 && (title == "p99" || title == "mean") {
			continue
		}
		list = append(list, p)
	}
	return list
}

// load is the share of the server's one core that a command takes.
func load(c model.CommandStat) float64 { return c.Calls * c.Mean.Seconds() }

// some is the style of a figure: faint while it is 0.
func (v *View) some(figure float64, st themes.Style) themes.Style {
	if figure == 0 {
		return v.Look.Faint
	}
	return st
}

// row writes a name and right-aligned figures.
func (v *View) row(in cell.Rect, y int, name pane.Piece, figures ...pane.Piece) {
	width := 9
	if in.W < 60 {
		width = 7
	}
	x := in.X + in.W - width*len(figures)
	v.Grid.Text(in.X, y, x, safetext.Shorten(name.Text, max(0, x-in.X-1), safetext.Ellipsis), name.Style)
	for i, f := range figures {
		v.Grid.Right(x+i*width, y, x+(i+1)*width, f.Text, f.Style)
	}
}

func (v *View) paintErrors(r cell.Rect) {
	in := v.Section(r, false, v.heading("errors", " · a second and in all")...)
	for i, e := range v.Health.Errors {
		if i >= in.H {
			return
		}
		st := v.Look.Dim
		if e.Rate > 0 {
			st = v.Look.Near
			if bad, _ := meaning(e.Name); bad {
				st = v.Look.Denied
			}
		}
		v.row(in, in.Y+i, pane.Bit(safetext.Clean(e.Name), st), pane.Bit(figure.PerSecond(e.Rate), v.some(e.Rate, st)), pane.Bit(figure.Short(e.Total), v.Look.Dim))
	}
}

func (v *View) paintSlow(r cell.Rect) {
	in := v.Section(r, false, v.heading("slow log", " · newest first")...)
	for i, c := range v.Health.Slow {
		if i >= in.H {
			return
		}
		x := v.Words(in.X, in.Y+i, in.X+in.W, pane.Bit(figure.Clock(c.At), v.Look.Dim), pane.Bit(fmt.Sprintf("%8s  ", figure.Latency(c.Took)), v.Look.Near))
		v.Grid.Text(x, in.Y+i, in.X+in.W, safetext.Clip(safetext.Clean(c.Command), max(0, in.X+in.W-x), safetext.Ellipsis), v.Look.Text)
	}
}

// paintHot draws the hottest keys of the server, watched or not.
func (v *View) paintHot(r cell.Rect) {
	note := ""
	if len(v.Hot.Sources) > 0 {
		note = " · " + safetext.Clean(strings.Join(v.Hot.Sources, "; "))
	}
	in := v.Section(r, false, v.heading("hottest keys", safetext.Clip(note, max(r.W-20, 0), safetext.Ellipsis))...)
	if in.H == 0 {
		return
	}
	dim := func(text string) pane.Piece { return pane.Bit(text, v.Look.Dim) }
	v.row(in, in.Y, dim("key"), dim("rate"), dim("writes"), dim("share"))
	for i := range v.Hottest {
		h := &v.Hottest[i]
		if i+1 >= in.H {
			return
		}
		st := v.Look.Text
		if !h.Watched {
			st = v.Look.Dim
		}
		v.row(in, in.Y+1+i, pane.Bit(v.Name(h.Key), st), pane.Bit(measured(h.Rate, figure.PerSecond), v.Look.Text),
			pane.Bit(measured(h.Writes, figure.PerSecond), v.Look.Text), pane.Bit(figure.Percent(h.Share), v.Look.Text))
	}
}
