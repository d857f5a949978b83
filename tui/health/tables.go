package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// fact is a line of the state pane.
type fact struct {
	label, text string
	style       themes.Style
}

// paintFacts draws the server's state, and below it what a person who wants more can do.
func (v *View) paintFacts(r cell.Rect, list []fact) {
	in := v.Canvas.Section(r, false, v.heading("state", "")...)
	label := collect.If(in.W < 40, 10, 14)
	y, end := in.Y, in.Y+in.H
	for _, f := range list {
		for i, line := range format.Wrap(f.text, in.W-label) {
			if y == end {
				return
			}
			if i == 0 {
				v.Canvas.Buffer.Text(in.X, y, in.X+label, f.label, v.Canvas.Look.Dim)
			}
			v.Canvas.Buffer.Text(in.X+label, y, in.X+in.W, line, f.style)
			y++
		}
	}
	if !v.Link.Embedded {
		return
	}
	const hint = "Start with --redis URL to see a server's commands, scripts, errors and slow log here."
	v.Canvas.Paragraphs(cell.Rect{X: in.X, Y: y + 1, W: in.W, H: end - y - 1}, v.Canvas.Look.Dim, hint)
}

// facts is what is known of the server's state.
func (v *View) facts() []fact {
	s, h, l := v.Server, v.Health, &v.Canvas.Look
	var facts []fact
	say := func(label, text string, st themes.Style) { facts = append(facts, fact{label, text, st}) }
	tell := func(label string, m model.Measure, f func(float64) string, more string) {
		if m.Known {
			say(label, f(m.V)+more, l.Text)
		}
	}
	role := []string{cmp.Or(safetext.Clean(s.Role), format.Unknown)}
	if h.Replicas.Known && (h.Replicas.V > 0 || s.Role == "master") {
		role = append(role, format.Plural(int(h.Replicas.V), "replica"))
	}
	if session.Above(h.Lag, 0) {
		role = append(role, format.Bytes(h.Lag.V)+" behind")
	}
	if h.Unheard.Known {
		role = append(role, "heard its master "+format.Span(time.Duration(h.Unheard.V*float64(time.Second)))+" ago")
	}
	say("role", strings.Join(role, ", "), l.Text)
	if s.Link == model.Live {
		clock := collect.If(s.Offset.Abs() >= time.Millisecond, format.Signed(s.Offset)+" to this machine's", "this machine's")
		if s.OffsetBy > 0 {
			clock += " ±" + format.Latency(s.OffsetBy)
		}
		say("clock", clock, l.Text)
	}
	leaving := collect.If(h.Expired.Known, ", "+format.PerSecond(h.Expired.V)+" expire", "")
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
	tell("clients", h.Clients, whole, ", "+h.Blocked.Text(whole)+" blocked")
	if cost := v.watchingCost(); cost != format.Unknown {
		unit := collect.If(v.Cost.Server <= 0, " reads", " of the server's time")
		if v.Pace != "" {
			unit += ", " + v.Pace
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
	in := v.Canvas.Section(r, false, v.heading("commands", " · server time a call")...)
	if in.H == 0 {
		return
	}
	list := v.Health.Commands[:min(len(v.Health.Commands), max(in.H-1, 0))]
	titles, rows, wide := []string{"command", "calls", "failed", "load"}, make([][]widget.Span, len(list)), in.W >= 44
	if wide {
		titles = []string{"command", "calls", "mean", "p99", "failed", "load"}
	}
	for i := range list {
		c, l := &list[i], &v.Canvas.Look
		say := func(text string, st themes.Style) { rows[i] = append(rows[i], widget.Styled(text, st)) }
		name := collect.If(c.Scripts, l.Accent, l.Text)
		say(safetext.Clean(c.Name), name)
		say(format.PerSecond(c.Calls), v.some(c.Calls, l.Text))
		if wide {
			say(format.Latency(c.Mean), l.Text)
			say(format.Latency(c.P99), l.Dim)
		}
		say(format.PerSecond(c.Failed), v.some(c.Failed, l.Near))
		say(fmt.Sprintf("%.2f%%", 100*load(*c)), v.some(load(*c), l.Text))
	}
	v.table(in, titles, rows, collect.Map(list, load))
}

// load is the share of the server's one core that a command takes.
func load(c model.CommandStat) float64 { return c.Calls * c.Mean.Seconds() }

// some is the style of a figure: faint while it is 0.
func (v *View) some(figure float64, st themes.Style) themes.Style {
	return collect.If(figure == 0, v.Canvas.Look.Dim, st)
}

func (v *View) paintErrors(r cell.Rect) {
	in := v.Canvas.Section(r, false, v.heading("errors", " · a second and in all")...)
	var rows [][]widget.Span
	for _, e := range v.Health.Errors {
		st := v.Canvas.Look.Dim
		if e.Rate > 0 {
			st = v.Canvas.Look.Near
			if bad, _ := session.ErrorMeaning(e.Name); bad {
				st = v.Canvas.Look.Denied
			}
		}
		rows = append(rows, []widget.Span{widget.Styled(safetext.Clean(e.Name), st), widget.Styled(format.PerSecond(e.Rate), v.some(e.Rate, st)),
			widget.Styled(format.Short(e.Total), v.Canvas.Look.Dim)})
	}
	v.table(in, nil, rows, nil)
}

func (v *View) paintSlow(r cell.Rect) {
	in := v.Canvas.Section(r, false, v.heading("slow log", " · newest first")...)
	for i, c := range v.Health.Slow[:min(len(v.Health.Slow), in.H)] {
		x := v.Canvas.Spans(in.X, in.Y+i, in.X+in.W, widget.Styled(format.Clock(c.At), v.Canvas.Look.Dim),
			widget.Styled(fmt.Sprintf("%8s  ", format.Latency(c.Took)), v.Canvas.Look.Near))
		v.Canvas.Buffer.Text(x, in.Y+i, in.X+in.W, safetext.Clip(v.slowText(&c), max(0, in.X+in.W-x), safetext.Ellipsis), v.Canvas.Look.Text)
	}
}

// longestSlowKey is how many columns of a line of the slow log a key may take.
const longestSlowKey = 48

// slowText is a command of the slow log, without the values that it had.
func (v *View) slowText(c *model.SlowCommand) string {
	text := safetext.Clean(c.Command)
	for _, key := range c.Keys {
		text += " " + v.Name(key, longestSlowKey)
	}
	if c.Rest > 0 {
		text += " and " + format.Plural(c.Rest, "argument")
	}
	return text
}

// paintHot draws the hottest keys of the server, watched or not.
func (v *View) paintHot(r cell.Rect) {
	note := collect.If(len(v.Hot.Sources) > 0, " · "+safetext.Clean(strings.Join(v.Hot.Sources, "; ")), "")
	in := v.Canvas.Section(r, false, v.heading("hottest keys", safetext.Clip(note, max(r.W-20, 0), safetext.Ellipsis))...)
	if in.H == 0 {
		return
	}
	const figures = 3
	name := in.W - figures*figureWidth(in.W) - 1
	third := collect.If(v.Link.Embedded, "used", "writes") // whose writes are not counted
	var rows [][]widget.Span
	for i := range v.Hottest {
		h, l := &v.Hottest[i], &v.Canvas.Look
		figure := widget.Styled(h.Writes.Text(format.PerSecond), l.Text)
		if v.Link.Embedded {
			figure = widget.Styled(h.Utilization.Text(format.Percent), l.Fill(h.Utilization.V))
		}
		share := widget.Styled(format.Percent(h.Share), l.Text)
		if h.Asked.Known { // by how much is not known
			share = widget.Styled("asked", l.Denied)
		}
		rows = append(rows, []widget.Span{widget.Styled(v.Name(h.Key, name), collect.If(h.Watched, l.Text, l.Dim)),
			widget.Styled(h.Rate.Text(format.PerSecond), l.Text), figure, share})
	}
	v.table(in, []string{"key", "rate", third, "share"}, rows, collect.Map(v.Hottest, func(h model.Hottest) float64 { return h.Share }))
}

// table draws rows of a name and right-aligned figures below their titles; without titles there is no heading. Where there is room
// a bar at the end of each row compares what the rows take.
func (v *View) table(in cell.Rect, titles []string, rows [][]widget.Span, takes []float64) {
	if in.H == 0 || in.W < 10 || len(rows) == 0 {
		return
	}
	if len(titles) > 0 {
		head := collect.Map(titles, func(title string) widget.Span { return widget.Styled(title, v.Canvas.Look.Dim) })
		rows = append([][]widget.Span{head}, rows...)
	}
	const meter, leastName = 12, 17
	figure, most := figureWidth(in.W), slices.Max(append([]float64{0}, takes...))
	name := max(in.W-(len(rows[0])-1)*figure, 1)
	if most > 0 && name > leastName+meter {
		in.W, name = in.W-meter-1, name-meter-1
		for i, one := range takes[:min(len(takes), in.H-1)] {
			chart.Bar(&v.Canvas.Buffer, in.X+in.W+1, in.Y+1+i, meter, most, v.Canvas.Look.Glyphs,
				chart.Segment{Value: one, Style: v.Canvas.Look.Glow(0.6 * one / most)})
		}
	}
	for i, row := range rows[:min(len(rows), in.H)] {
		y := in.Y + i
		v.Canvas.Buffer.Text(in.X, y, in.X+name, safetext.Shorten(row[0].Text, name-1, safetext.Ellipsis), row[0].Style)
		for n, s := range row[1:] {
			x := in.X + name + n*figure
			v.Canvas.Buffer.Right(x, y, min(x+figure, in.X+in.W), s.Text, s.Style)
		}
	}
}

// figureWidth is the room of a figure in a table of that width.
func figureWidth(width int) int {
	return collect.If(width < 60, 7, 9)
}
