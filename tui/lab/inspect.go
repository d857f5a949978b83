package lab

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// inspected is the number of the request in the inspector: the picked one, or the one
// decided last.
func (l *Lab) inspected() int {
	if l.picked >= 0 && l.picked < l.run.Decided() {
		return l.picked
	}
	return l.run.Decided()
}

// moment is what the contender in focus thought about the inspected request. After the
// last one it is the request that would be fired now.
func (l *Lab) moment() lab.Moment {
	if i := l.inspected(); i < l.run.Decided() {
		if m, ok := l.run.Inspect(l.focus, i); ok {
			return m
		}
	}
	return l.run.Ask(l.focus, max(l.run.Setup().Cost, 1))
}

// paintInspector draws one decision from end to end: the requests on the left, and on the
// right the state before, the rule with its numbers, the verdict, the state after and the
// commands.
func (l *Lab) paintInspector(r cell.Rect) {
	list, rest := r.Left(min(max(r.W/4, 24), 40))
	l.paintRequests(list)
	s := l.run.Setup()
	c, m := s.Contenders[l.focus], l.moment()
	what := fmt.Sprintf("request %d at %s", m.Number+1, lab.Seconds(m.Arrival.At.Sub(s.Zero)))
	if !m.Decided {
		what = "one more request now, at " + lab.Seconds(m.Arrival.At.Sub(s.Zero))
	}
	in := l.Section(rest, true, pane.Bit(title(c), l.Look.Title), pane.Bit(" · "+what, l.Look.Dim))
	w := lab.Explain(c, m, s)
	p := pen{lab: l, r: in, y: in.Y, roomy: l.Framed}
	p.part("before", lab.Keeps(c, m.Before, m.Arrival.At, s), l.Look.Text)
	p.part("rule", []string{w.Rule}, l.Look.Dim)
	p.part("numbers", w.Numbers, l.Look.Title)
	st := l.outcome(m.Decision.Allowed)
	p.part("verdict", p.wrapped(l.mark(m.Decision.Allowed)+" "+w.Verdict), st)
	p.part("after", lab.Keeps(c, m.After, m.Arrival.At, s), l.Look.Text)
	p.part("redis", lab.Commands(c, m, s), l.Look.Accent)
	if l.Framed {
		p.part("script", l.scriptLines(c, m, s), l.Look.Faint)
	}
}

// scriptLines is the beginning of the script that decides on a server; y copies it whole.
func (l *Lab) scriptLines(c lab.Contender, m lab.Moment, s lab.Setup) []string {
	text, err := lab.Script(c, m, s)
	if err != nil {
		return []string{err.Error()}
	}
	lines := []string{"y copies the whole command:"}
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" {
			lines = append(lines, safetext.Clean(line))
		}
	}
	return lines
}

// pen writes parts under each other, each with its heading in the left margin.
type pen struct {
	lab   *Lab
	r     cell.Rect
	y     int
	roomy bool // a blank line between parts
}

// margin is where the headings of parts stand.
const margin = 9

// wrapped breaks a text into lines that fit a part.
func (p *pen) wrapped(text string) []string { return figure.Wrap(safetext.Clean(text), p.r.W-margin) }

func (p *pen) part(heading string, lines []string, st themes.Style) {
	bottom := p.r.Y + p.r.H
	if p.roomy && p.y > p.r.Y {
		p.y++
	}
	if p.y < bottom {
		p.lab.Grid.Text(p.r.X, p.y, p.r.X+margin, heading, p.lab.Look.Dim)
	}
	for i, line := range lines {
		if p.y >= bottom {
			return
		}
		if !p.roomy && i == 2 && (heading == "before" || heading == "after" || heading == "it keeps") { // a small screen shows what is nearest
			return
		}
		p.lab.Grid.Text(p.r.X+margin, p.y, p.r.X+p.r.W, safetext.Clip(line, p.r.W-margin, safetext.Ellipsis), st)
		p.y++
	}
}

// verdictsFrom is the column of the list of requests where the verdicts begin.
const verdictsFrom = 11

// paintColumns numbers the columns of the list of requests and says below which is whose,
// where there is room; it returns the room for the list.
func (l *Lab) paintColumns(r cell.Rect, s lab.Setup) cell.Rect {
	n := len(s.Contenders)
	if r.H < n+10 {
		return r
	}
	bottom := r.Y + r.H - n
	l.Grid.Text(r.X, r.Y, r.X+verdictsFrom, "at", l.Look.Dim)
	for i, c := range s.Contenders {
		st := l.Look.Dim
		if i == l.focus {
			st = l.Look.Title
		}
		l.Grid.Text(r.X+verdictsFrom+2*i, r.Y, r.X+r.W, strconv.Itoa(i+1), st)
		l.Grid.Text(r.X, bottom+i, r.X+r.W, fmt.Sprintf("%d %s", i+1, titleIn(c, r.W-2)), st)
		l.Zone(cell.Rect{X: r.X, Y: bottom + i, W: r.W, H: 1}, func(int) tea.Cmd { l.focus = i; return nil })
	}
	return cell.Rect{X: r.X, Y: r.Y + 1, W: r.W, H: r.H - n - 2}
}

// paintRequests lists the requests around the inspected one, with what each contender
// made of them.
func (l *Lab) paintRequests(r cell.Rect) {
	s := l.run.Setup()
	in := l.Section(r, false, pane.Bit("requests", l.Look.Title), pane.Bit(fmt.Sprintf(" · %d", l.run.Decided()), l.Look.Dim))
	at, all := l.inspected(), l.run.Decided()
	in = l.paintColumns(in, s)
	top := max(min(at-in.H/2, all+1-in.H), 0)
	for row := range in.H {
		i, y := top+row, in.Y+row
		if i > all {
			return
		}
		if i == at {
			l.Grid.Fill(in.X-1, y, in.W+1, ' ', l.Look.Text.On(l.Look.Selected))
			l.Grid.Text(in.X-1, y, in.X, l.Look.SelMark, l.Look.Accent.On(l.Look.Selected))
		}
		ground := func(st themes.Style) themes.Style {
			if i == at {
				return st.On(l.Look.Selected)
			}
			return st
		}
		l.Zone(cell.Rect{X: in.X, Y: y, W: in.W, H: 1}, func(int) tea.Cmd { l.picked = i; return nil })
		if i == all {
			l.Grid.Text(in.X, y, in.X+in.W, "now, one more", ground(l.Look.Dim))
			continue
		}
		a, v := l.run.Arrival(i)
		st := l.Look.Text
		if a.Fired {
			st = l.Look.Injected
		}
		l.Grid.Text(in.X, y, in.X+verdictsFrom, lab.Seconds(a.At.Sub(s.Zero)), ground(st))
		x := in.X + verdictsFrom
		for c := range s.Contenders {
			mark, st := l.Look.YesMark, l.Look.Admitted
			if !v.Allowed(c) {
				mark, st = l.Look.OverMark, l.Look.Denied
			}
			if c == l.focus {
				st = st.With(themes.Underline)
			}
			l.Grid.Text(x, y, in.X+in.W, mark, ground(st))
			x += 2
		}
		if a.Fired {
			own := "yours"
			if x+len(own) > in.X+in.W {
				own = string(l.Look.MarkYes)
			}
			l.Grid.Text(x, y, in.X+in.W, own, ground(l.Look.Injected))
		}
	}
}
