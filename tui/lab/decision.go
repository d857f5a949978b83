package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// decisionView shows one decision from end to end.
type decisionView struct {
	plain
	picked   int // request; -1 follows the next one
	scrolled int // lines of the script above the first one on screen
}

// scriptPage is how many lines of the script a key scrolls.
const scriptPage = 8

func newDecisionView(s *Screen) *decisionView {
	d := &decisionView{picked: -1}
	scroll := func(by int) func() { return func() { d.scrolled = min(max(d.scrolled+by, 0), 400) } }
	nextTerm := func() { s.nextTerm(d.moment(s).Explain().Terms) }
	d.plain = plain{"decision", shell.Actions{
		act("decision", "script up", "pgup", "scrolls the script up", scroll(-scriptPage), "pgup", "ctrl+u"),
		act("decision", "script down", "pgdn", "scrolls the script down", scroll(scriptPage), "pgdown", "ctrl+d"),
		act("decision", "next term", "tab", "marks what the next term of the rule means", nextTerm, "tab"),
	}}
	return d
}

func (d *decisionView) reset() { d.picked, d.scrolled = -1, 0 }

func (d *decisionView) move(s *Screen, by int) {
	at := d.inspected(s) + by
	d.picked = collect.If(at >= s.run.Decided(), -1, max(at, 0))
}

// inspected is the number of the picked request, or of the one that would be fired now.
func (d *decisionView) inspected(s *Screen) int {
	if d.picked >= 0 && d.picked < s.run.Decided() {
		return d.picked
	}
	return s.run.Decided()
}

// nextTerm marks the next term of a rule, and after the last one shows the next view.
func (s *Screen) nextTerm(terms []lab.Meaning) {
	if s.lit++; int(s.lit) >= len(terms) {
		s.lit = -1
		s.show(s.after(1))
	}
}

// moment is what the candidate in focus decided about the inspected request. After the
// last one it is the request that would be fired now.
func (d *decisionView) moment(s *Screen) lab.Moment {
	if i := d.inspected(s); i < s.run.Decided() {
		if m, ok := s.run.Inspect(s.focus, i); ok {
			return m
		}
	}
	return s.run.Ask(s.focus, s.cost())
}

// paint draws the requests on the left, and on the right the state before, the rule with
// its numbers, the verdict, the state after and the commands.
func (d *decisionView) paint(p painter, r cell.Rect) {
	list, rest := r.Left(min(max(r.W/4, 24), 40))
	d.paintRequests(p, list)
	s := p.s.run.Setup()
	c, m := s.Candidates[p.s.focus], d.moment(p.s)
	what := fmt.Sprintf("request %d at %s", m.Number+1, lab.Seconds(m.Arrival.At.Sub(s.Zero)))
	switch {
	case !m.Decided && c.Scripted():
		what = "no request yet"
	case !m.Decided:
		what = "one more request now, at " + lab.Seconds(m.Arrival.At.Sub(s.Zero))
	}
	in := p.c.Section(rest, true, widget.Styled(c.Title(), p.c.Look.Title), widget.Styled(" · "+what, p.c.Look.Dim))
	w := m.Explain()
	t := parts{painter: p, r: in, y: in.Y, roomy: p.c.Framed}
	if len(w.Terms) > 0 {
		rows := collect.If(p.c.Framed, 7, 4)
		lane, below := in.Top(rows)
		p.paintMeaning(lane, m, w)
		t.r, t.y = below, below.Y
	}
	if !c.Scripted() {
		t.part("before", m.KeptBefore(), p.c.Look.Text)
	}
	t.part("rule", t.wrapped(w.Rule), p.c.Look.Dim)
	p.s.lit.paintTerms(p.c, t.r.X+margin, t.y-1, t.r.X+t.r.W, w)
	if p.s.guess.asked && !m.Decided { // the prediction is of what follows
		return
	}
	t.part("numbers", w.Numbers, p.c.Look.Title)
	mark, st := verdictOf(p.c.Look, m)
	t.part("verdict", t.wrapped(mark+" "+w.Verdict), st)
	if !c.Scripted() {
		t.part("after", m.KeptAfter(), p.c.Look.Text)
	}
	runs := collect.If(c.Scripted() && !c.Yours(), "logs", "redis") // the logs are this process's
	t.part(runs, m.CommandLines(p.s.redis), p.c.Look.Accent)
	if !c.Scripted() { // the text of a script is the user's
		d.paintScript(p, cell.Rect{X: in.X, Y: t.y + 1, W: in.W, H: in.Y + in.H - t.y - 1}, m)
	}
}

// light is the number of the term of a rule that is marked with what it stands for; -1 for none.
type light int

// of returns the marked one of the terms; nil where none is.
func (l light) of(terms []lab.Meaning) *lab.Meaning {
	if l < 0 || int(l) >= len(terms) {
		return nil
	}
	return &terms[l]
}

// style returns how what stands in r for term i looks: the mouse over it lights the term.
func (l *light) style(p *widget.Canvas, r cell.Rect, i int) themes.Style {
	p.OnHover(r, func(int) tea.Cmd { *l = light(i); return nil })
	if *l == light(i) {
		return p.Look.Title.On(p.Look.Selected)
	}
	return p.Look.Dim
}

// paintTerms marks the terms of a rule that was written at x, y.
func (l *light) paintTerms(p *widget.Canvas, x, y, end int, w lab.Working) {
	for i, term := range w.Terms {
		at := x + safetext.Width(w.Rule[:strings.Index(w.Rule, term.Name)])
		st := l.style(p, cell.Rect{X: at, Y: y, W: safetext.Width(term.Name), H: 1}, i)
		p.Buffer.Text(at, y, end, term.Name, st.With(themes.Underline))
	}
}

// paintMeaning draws what came before the inspected request, what the lit term stands for, and that in words.
func (p painter) paintMeaning(r cell.Rect, m lab.Moment, w lab.Working) {
	run, at := p.s.run, p.s.at()
	st := rangeOf(run, m.Arrival.At, r.W, at.Column, p.s.zoom)
	plot, axis := r.Top(r.H - 2)
	caption := axis.Y + 1
	axis.H = 1
	past := min(st.now+1, st.n)
	lane := p.laneOf(run, st, p.s.focus, m.Number)
	cols := chart.Columns{Bins: lane.bins[:past], Max: scale(lane),
		Ground: func(c int) (rune, bool) { return p.c.Look.Edge, st.opensWindow(c) }}
	cols.Draw(&p.c.Buffer, cell.Rect{X: plot.X, Y: plot.Y, W: past, H: plot.H}, p.c.Look)
	lane.axis(axis)
	words := "tab or the mouse marks what a term means"
	if term := p.s.lit.of(w.Terms); term != nil {
		words = term.Means
	}
	p.s.lit.paintSpan(p.c, cell.Rect{X: plot.X, Y: plot.Y, W: r.W, H: plot.H + 1}, st, w.Terms)
	p.c.Buffer.Set(axis.X+st.now, axis.Y, p.c.Look.Here, p.c.Look.Title)
	p.c.Buffer.Text(r.X, caption, r.X+r.W, safetext.ClipWords(words, r.W, safetext.Ellipsis), p.c.Look.Dim)
}

// paintSpan marks on a lane, whose last row is its axis, what the lit term stands for. The mouse over a column lights the
// term that stands for it and for the shortest time.
func (l *light) paintSpan(p *widget.Canvas, r cell.Rect, st timeRange, terms []lab.Meaning) {
	span := func(t lab.Meaning) (from, to int) {
		return int(st.column(t.From) - st.first), int(st.column(t.To) - st.first)
	}
	if term := l.of(terms); term != nil {
		if from, to := span(*term); to >= 0 && from < st.n && term.From <= term.To {
			from, to = max(from, 0), min(to, st.n-1)
			p.Buffer.Tint(cell.Rect{X: r.X + from, Y: r.Y, W: to - from + 1, H: r.H}, p.Look.Selected)
			if r.H > 1 {
				p.Buffer.Fill(r.X+from, r.Y+r.H-1, to-from+1, p.Look.Fits, p.Look.Accent.On(p.Look.Selected))
			}
		}
	}
	p.OnHover(r, func(x int) tea.Cmd {
		*l = -1
		narrowest := st.n + 1
		for i, t := range terms {
			if from, to := span(t); t.From <= t.To && x >= from && x <= to && to-from < narrowest {
				*l, narrowest = light(i), to-from
			}
		}
		return nil
	})
}

// paintScript draws the script that decides on a server, with the lines that ran marked and
// what they ran beside them. It begins at the first one unless a person scrolls.
func (d *decisionView) paintScript(p painter, r cell.Rect, m lab.Moment) {
	if r.H < 2 {
		return
	}
	p.c.Buffer.Text(r.X, r.Y, r.X+margin, "script", p.c.Look.Dim)
	lines, err := m.ScriptRun(p.s.redis)
	if err != nil {
		p.c.Buffer.Text(r.X+margin, r.Y, r.X+r.W, err.Error(), p.c.Look.Dim)
		return
	}
	if len(lines) > r.H { // the last row says that there is more
		r.H--
		p.c.Buffer.Right(r.X, r.Y+r.H, r.X+r.W, "pgup pgdn scrolls", p.c.Look.Dim)
	}
	top := min(max(d.scrolled, 0), max(len(lines)-r.H, 0))
	beside := r.W * 55 / 100
	for row := range min(r.H, len(lines)-top) {
		l, y := lines[top+row], r.Y+row
		st, end := p.c.Look.Dim, r.X+r.W
		if len(l.Ran) > 0 {
			st, end = p.c.Look.Text, r.X+beside
			p.c.Buffer.Text(r.X+margin-2, y, r.X+margin, p.c.Look.SelMark, p.c.Look.Accent)
			text := l.Ran[0].String()
			if n := len(l.Ran); n > 1 {
				text = fmt.Sprintf("%d × %s", n, text)
			}
			p.c.Buffer.Text(end+1, y, r.X+r.W, safetext.Clip(text, r.W-beside-1, safetext.Ellipsis), p.c.Look.Accent)
		}
		p.c.Buffer.Text(r.X+margin, y, end, safetext.Clip(safetext.Clean(l.Text), end-r.X-margin, safetext.Ellipsis), st)
	}
}

// parts writes parts under each other, each with its heading in the left margin.
type parts struct {
	painter
	r     cell.Rect
	y     int
	roomy bool // a blank line between parts
}

// margin is where the headings of parts stand.
const margin = 9

// wrapped breaks a text into lines that fit a part.
func (t *parts) wrapped(text string) []string { return format.Wrap(safetext.Clean(text), t.r.W-margin) }

func (t *parts) part(heading string, lines []string, st themes.Style) {
	bottom := t.r.Y + t.r.H
	if len(lines) == 0 {
		return
	}
	if t.roomy && t.y > t.r.Y {
		t.y++
	}
	if t.y < bottom {
		t.c.Buffer.Text(t.r.X, t.y, t.r.X+margin, heading, t.c.Look.Dim)
	}
	for i, line := range lines {
		if t.y >= bottom {
			return
		}
		if !t.roomy && i == 2 && (heading == "before" || heading == "after" || heading == "it keeps") {
			return // a small screen shows what is nearest
		}
		t.c.Buffer.Text(t.r.X+margin, t.y, t.r.X+t.r.W, safetext.Clip(line, t.r.W-margin, safetext.Ellipsis), st)
		t.y++
	}
}

// verdictsFrom is the column of the list of requests where the verdicts begin.
const verdictsFrom = 12

// paintColumns numbers the columns of the list of requests and says below which is whose,
// where there is room; it returns the room for the list.
func (p painter) paintColumns(r cell.Rect, s lab.Setup) cell.Rect {
	n := len(s.Candidates)
	if r.H < n+10 {
		return r
	}
	bottom := r.Y + r.H - n
	p.c.Buffer.Text(r.X, r.Y, r.X+verdictsFrom, "at", p.c.Look.Dim)
	for i, c := range s.Candidates {
		st := collect.If(i == p.s.focus, p.c.Look.Title, p.c.Look.Dim)
		p.c.Buffer.Text(r.X+verdictsFrom+2*i, r.Y, r.X+r.W, strconv.Itoa(i+1), st)
		p.c.Buffer.Text(r.X, bottom+i, r.X+r.W, fmt.Sprintf("%d %s", i+1, titleIn(c, r.W-2)), st)
		p.OnClick(cell.Rect{X: r.X, Y: bottom + i, W: r.W, H: 1}, func(int) tea.Cmd { p.s.focus = i; return nil })
	}
	return cell.Rect{X: r.X, Y: r.Y + 1, W: r.W, H: r.H - n - 2}
}

// folded is a row of the list of requests: so many equal ones from a number on.
type folded struct{ from, n int }

// mostAlike is how many equal requests have a row each.
const mostAlike = 2

// fold returns the rows around a request, which has one of its own as those have that are equal to it.
func fold(run *lab.Run, at, height int) []folded {
	all := run.Decided()
	alike := func(i, k int) bool {
		a, v := run.Arrival(i)
		b, w := run.Arrival(k)
		return a == b && v == w
	}
	row := func(i, by int) folded {
		n := 1
		for k := i + by; k >= 0 && k < all && alike(i, k); k += by {
			n++
		}
		if n <= mostAlike || at < all && alike(i, at) {
			return folded{i, 1}
		}
		return folded{min(i, i+(n-1)*by), n}
	}
	rows := []folded{{at, 1}}
	for i := at - 1; i >= 0 && len(rows) < height; i -= rows[len(rows)-1].n {
		rows = append(rows, row(i, -1))
	}
	slices.Reverse(rows)
	above := len(rows)
	for i := at + 1; i <= all && len(rows) < above+height/2; i += rows[len(rows)-1].n {
		if i == all {
			rows = append(rows, folded{all, 1})
		} else {
			rows = append(rows, row(i, 1))
		}
	}
	return rows[max(min(above-1-height/2, len(rows)-height), 0):]
}

// paintRequests lists the requests around the inspected one, with what each candidate
// made of them.
func (d *decisionView) paintRequests(p painter, r cell.Rect) {
	s, own := p.s.run.Setup(), p.s.run.Counts(p.s.focus)
	at, all := d.inspected(p.s), p.s.run.Decided()
	many := fmt.Sprintf(" · %d", all)
	if sent := int(own.Admitted + own.Denied); sent != all { // other lanes have crowds of their own
		many = fmt.Sprintf(" · %d of %d", sent, all)
	}
	in := p.paintColumns(p.c.Section(r, false, widget.Styled("requests", p.c.Look.Title), widget.Styled(many, p.c.Look.Dim)), s)
	for row, one := range fold(p.s.run, at, in.H) {
		i, y := one.from, in.Y+row
		if row >= in.H {
			return
		}
		if i == at {
			p.c.Buffer.Text(in.X-1, y, in.X, p.c.Look.SelMark, p.c.Look.Accent)
			defer p.c.Buffer.Tint(cell.Rect{X: in.X - 1, Y: y, W: in.W + 1, H: 1}, p.c.Look.Selected) // once its words stand there
		}
		p.OnClick(cell.Rect{X: in.X, Y: y, W: in.W, H: 1}, func(int) tea.Cmd { d.picked = i; return nil })
		if i == all {
			p.c.Buffer.Text(in.X, y, in.X+in.W, "now, one more", p.c.Look.Dim)
			continue
		}
		a, v := p.s.run.Arrival(i)
		st := collect.If(a.Fired, p.c.Look.Injected, p.c.Look.Text)
		p.c.Buffer.Text(in.X, y, in.X+verdictsFrom, lab.Seconds(a.At.Sub(s.Zero)), st)
		x := in.X + verdictsFrom
		for c := range s.Candidates {
			mark, st := p.c.Look.YesMark, p.c.Look.Admitted
			switch {
			case !v.Sent(c):
				mark, st = string(p.c.Look.Room), p.c.Look.Faint
			case !v.Allowed(c):
				mark, st = p.c.Look.OverMark, p.c.Look.Denied
			}
			if c == p.s.focus {
				st = st.With(themes.Underline)
			}
			p.c.Buffer.Text(x, y, in.X+in.W, mark, st)
			x += 2
		}
		if one.n > 1 {
			x = p.c.Buffer.Text(x, y, in.X+in.W, fmt.Sprintf("×%d ", one.n), p.c.Look.Dim)
		}
		if a.Fired {
			p.c.Buffer.Text(x, y, in.X+in.W, format.First(in.X+in.W-x, "yours", string(p.c.Look.MarkYes)), p.c.Look.Injected)
		}
	}
}
