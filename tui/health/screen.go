// Package health draws how the Redis behind the keys does: what is wrong with it in a sentence, its figures over time, what commands
// and scripts cost, its errors and its slow log, which keys are hot, and what the watching itself adds to all of that. What a server
// does not tell is named in one faint line and takes no room.
package health

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// View is what there is to draw.
type View struct {
	Canvas  *widget.Canvas
	Health  *model.Health
	Past    []model.HealthSample
	Hot     *model.HotKeys
	Hottest []model.Hottest
	Refused []session.Concern                    // what is known of refusals that are not recorded
	Name    func(key string, columns int) string // of a key, as the terminal may show it in so many columns
	Link    model.Server                         // as it is at this moment
	Server  model.Server                         // figures that change no faster than they can be read
	Cost    model.Cost
	Pace    string // what watching may take of the server and why; "" as much as always
	End     string // of the graphs: "now" or, in a pause, a time of day
}

// Paint draws it into r: what is wrong, then the graphs, then the tables.
func (v *View) Paint(r cell.Rect) {
	defer v.Canvas.Buffer.Clip(v.Canvas.Buffer.Clip(r))
	r = v.paintConcerns(r)
	known, unknown := v.graphs()
	facts := v.facts()
	if len(unknown) > 0 && !v.Link.Embedded {
		facts = append(facts, fact{"not told", strings.Join(unknown, ", "), v.Canvas.Look.Dim})
	}
	if len(known) == 0 && v.Health.At == 0 {
		return
	}
	above, below := r.Top(r.H - min(r.H/2, v.tablesHeight(facts)))
	v.paintGraphs(above, known)
	v.paintTables(below, facts)
	if v.Link.Link == model.Down {
		v.Canvas.Buffer.Wash(r, v.Canvas.Look.Unknown)
	}
}

// tablesHeight is how many rows the tables would like.
func (v *View) tablesHeight(facts []fact) int {
	pane := func(rows int) int { return max(v.frame()+rows, leastPane) }
	right := pane(len(facts))
	if v.Link.Embedded {
		return max(right+3, pane(1+len(v.Hottest)))
	}
	if n := len(v.Health.Errors); n > 0 {
		right += pane(n)
	}
	if n := len(v.Hottest); n > 0 {
		right += pane(1 + n)
	}
	left := pane(1 + len(v.Health.Commands))
	if n := len(v.Health.Slow); n > 0 {
		left += pane(n)
	}
	return max(left, right)
}

// leastPane is the least height of a pane that is worth drawing, with its frame.
const leastPane = 4

// frame is how many rows what surrounds a pane takes.
func (v *View) frame() int {
	return collect.If(v.Canvas.Framed, 2, 1)
}

// paintConcerns writes what is wrong, the worst first, above everything else, and returns the room below.
func (v *View) paintConcerns(r cell.Rect) cell.Rect {
	const most = 3
	list := append(session.Concerns(v.Health, v.Server), v.Refused...)
	lines, rest := r.Top(min(max(len(list), 1), most, max(r.H/8, 1)))
	if len(list) == 0 {
		v.Canvas.Spans(lines.X+1, lines.Y, lines.X+lines.W, v.wellness())
		return rest
	}
	for i := range lines.H {
		c := list[i]
		mark, st := v.Canvas.Look.NearMark, v.Canvas.Look.Near
		if c.Bad {
			mark, st = v.Canvas.Look.OverMark, v.Canvas.Look.Denied
		}
		end := lines.X + lines.W
		if more := len(list) - lines.H; more > 0 && i == lines.H-1 {
			text := fmt.Sprintf("and %d more", more)
			v.Canvas.Buffer.Right(lines.X, lines.Y+i, end-1, text, v.Canvas.Look.Dim)
			end -= len(text) + 2
		}
		x := v.Canvas.Spans(lines.X+1, lines.Y+i, end, widget.Styled(mark+" "+safetext.Clean(c.What), st))
		v.Canvas.Spans(x, lines.Y+i, end, widget.Styled(safetext.Clip(": "+safetext.Clean(c.Why), max(end-x, 0), safetext.Ellipsis),
			v.Canvas.Look.Text))
	}
	return rest
}

// wellness is what to say while nothing is wrong that can be seen.
func (v *View) wellness() widget.Span {
	switch s := v.Link; s.Link {
	case model.Connecting:
		return widget.Styled("connecting…", v.Canvas.Look.Dim)
	case model.Down:
		return widget.Styled(v.Canvas.Look.OverMark+" as last known, before it went away "+format.Span(s.Down)+" ago", v.Canvas.Look.Denied)
	}
	untold := collect.Map(v.Health.Missing, func(why string) string { name, _, _ := strings.Cut(why, " "); return name })
	switch {
	case v.Health.At == 0:
		return widget.Styled("not looked at yet", v.Canvas.Look.Dim)
	case v.Link.Embedded:
		return widget.Styled("the embedded Redis keeps no figures of its own", v.Canvas.Look.Dim)
	case slices.Contains(untold, "INFO"):
		return widget.Styled("cannot tell: INFO is not permitted or switched off, only the latency was measured", v.Canvas.Look.Near)
	case !v.Health.MemoryUsed.Known || !v.Health.CPU.Known && v.Health.Over > 0:
		return widget.Styled("cannot tell: INFO gives only a part of the figures, see \"not told\"", v.Canvas.Look.Near)
	case len(untold) > 0:
		return widget.Styled("no trouble in INFO, and cannot tell more: no "+safetext.Clean(strings.Join(untold, ", no ")), v.Canvas.Look.Near)
	}
	return widget.Styled(v.Canvas.Look.OKMark+" this Redis shows no trouble", v.Canvas.Look.Good)
}

// paintTables puts what is counted below the graphs: what commands cost and what was slow
// at the left, the server's state, its errors and its hot keys at the right.
func (v *View) paintTables(r cell.Rect, facts []fact) {
	if len(v.Health.Commands) == 0 { // nothing else would ever be filled
		if len(v.Hottest) > 0 && r.W >= 70 {
			left, right := r.Left(r.W * 2 / 5)
			v.paintHot(right)
			r = left
		}
		v.paintFacts(r, facts)
		return
	}
	left, right := r.Left(r.W * 3 / 5)
	commands, slow := split(left, v.frame()+1+len(v.Health.Commands), v.frame()+len(v.Health.Slow))
	v.paintCommands(commands)
	v.paintSlow(slow)
	hot := cell.Rect{}
	if n := len(v.Hottest); n > 0 && r.H >= 16 {
		right, hot = split(right, v.frame()+len(facts)+v.frame()+len(v.Health.Errors), v.frame()+1+n)
	}
	state, errors := split(right, v.frame()+len(facts), v.frame()+len(v.Health.Errors))
	v.paintFacts(state, facts)
	v.paintErrors(errors)
	v.paintHot(hot)
}

// split divides r among two panes that would like so many rows. The first is shortened
// last; a pane with less than two rows of its own is left out.
func split(r cell.Rect, first, second int) (top, rest cell.Rect) {
	if second < leastPane-1 || r.H < 2*leastPane {
		return r, cell.Rect{}
	}
	return r.Top(min(max(first, leastPane), r.H-leastPane))
}

func (v *View) heading(title, note string) []widget.Span {
	return []widget.Span{widget.Styled(title, v.Canvas.Look.Title), widget.Styled(note, v.Canvas.Look.Dim)}
}

func whole(v float64) string { return format.Short(int64(v)) }

// Screen is the health of the Redis behind the keys. Make one with New.
type Screen struct {
	s *session.Session
}

// New returns the health screen of a session.
func New(s *session.Session) *Screen { return &Screen{s: s} }

// Keys lists what can be done here: what concerns all keys.
func (sc *Screen) Keys() shell.Actions {
	list := sc.s.Actions().Only(shell.Pause, shell.Record, shell.ExportKeys, shell.Capsule, shell.More, shell.Less)
	return append(list, sc.s.TimeActions()...)
}

// Update says that no key is on screen.
func (sc *Screen) Update(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(shell.LayoutMsg); ok {
		sc.s.Selection.See(0, 0)
	}
	return nil
}

// Paint draws what is known of the server.
func (sc *Screen) Paint(p *widget.Canvas, r cell.Rect) {
	const hottest = 12
	b := sc.s.Shown.Board()
	v := viewOf(p, sc.s)
	v.Refused = session.Refusals(v.Health, b, false, sc.s.Names.Of)
	v.Hot, v.Name, v.Pace = &b.HotKeys, sc.s.Names.Short, session.PaceText(&sc.s.Shown.Live().Sweep)
	if b.HotKeys.At != 0 || v.Link.Embedded {
		v.Hottest = b.Hottest(hottest)
	}
	v.Paint(r)
}

// viewOf returns what there is to draw of the server of a session, without its hot keys.
func viewOf(c *widget.Canvas, s *session.Session) *View {
	b, server := s.Shown.Board(), s.Shown.Server
	past := b.HealthSamples()
	if n := len(past); n > 0 && s.Shown.Back() > 0 {
		server.RTT = past[n-1].RTT
	}
	return &View{Canvas: c, Health: &b.Health, Past: past, Link: s.Shown.Live().Server, Server: server, Cost: s.Shown.Cost,
		End: s.Shown.NowText()}
}

// StripHeight is how many rows a strip takes.
const StripHeight = 9

// PaintStrip draws two of the graphs side by side, for another screen: what became of the requests at all keys, and how fast the
// server answers. What is not known yet leaves its room empty.
func PaintStrip(c *widget.Canvas, r cell.Rect, s *session.Session) {
	v := viewOf(c, s)
	left, right := r.Left(r.W * 3 / 5)
	for _, g := range v.figures() {
		switch g.label {
		case "requests":
			v.paintGraph(left, &g)
		case "latency":
			v.paintGraph(right, &g)
		}
	}
}
