package lab

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// paintCompare draws the contenders' lanes under each other, and below them why the one
// in focus decides as it does.
func (l *Lab) paintCompare(r cell.Rect) {
	bottom := 5
	switch {
	case l.big:
		bottom = 0
	case l.Framed:
		bottom = 9
	}
	lanes, below := r.Top(r.H - bottom)
	l.paintLanes(lanes, l.run, l.focus, true)
	if bottom > 0 {
		l.paintWhy(below)
	}
}

// paintLanes draws a run's lanes, with the contenders' pictures beside them where there
// is room. Lanes that find no room scroll with the focus.
func (l *Lab) paintLanes(r cell.Rect, run *lab.Run, focus int, pictures bool) {
	lanes, labels := r.Top(r.H - 1)
	n := len(run.Setup().Contenders)
	pictureWidth := 0
	switch {
	case !pictures:
	case l.Framed:
		pictureWidth = min(max(r.W*34/100, 42), 60)
	case l.big: // the large numbers are the point of it
		pictureWidth = 32
	}
	columns := lanes.W - pictureWidth - 2
	st := l.stretch(run, columns)
	marks := make([]arrivals, st.n)
	coming := run.Coming(st.begin(st.n) - 1)
	most := scale(run, st)
	first := max(0, min(focus-(lanes.H/2-1), n-lanes.H/2))
	shown := min(n-first, max(lanes.H/2, 1))
	y := lanes.Y
	for i := first; i < first+shown; i++ {
		h := (lanes.Y + lanes.H - y) / (first + shown - i)
		box := cell.Rect{X: lanes.X, Y: y, W: lanes.W, H: h}
		l.load(run, st, i, marks)
		l.paintLaneTitle(box, run, i, i == focus, columns)
		l.paintLane(box, run, i, columns, st, marks, coming, most)
		if pic := (cell.Rect{X: r.X + columns + 3, Y: y, W: r.W - columns - 4, H: h}); pic.W >= 24 {
			l.paintPicture(pic, i)
		}
		l.Zone(box, func(int) tea.Cmd { l.focus = min(i, len(l.run.Setup().Contenders)-1); return nil })
		y += h
	}
	times := cell.Rect{X: labels.X + 1, Y: labels.Y, W: columns, H: 1}
	l.paintTimes(times, st)
	if run == l.run {
		l.Zone(times, func(at int) tea.Cmd { return l.seek(st.begin(at)) })
	}
	if l.Framed && pictures && !l.big {
		text := fmt.Sprintf("%c admitted, %c denied against the exact log", l.wrong(true), l.wrong(false))
		l.Grid.Text(labels.X+columns+3, labels.Y, labels.X+labels.W, text, l.Look.Faint)
	}
}

// paintWhy explains the contender in focus: the rule, the numbers of this very moment,
// and what follows.
func (l *Lab) paintWhy(r cell.Rect) {
	s := l.run.Setup()
	c := s.Contenders[l.focus]
	m := l.run.Ask(l.focus, max(s.Cost, 1))
	w := lab.Explain(c, m, s)
	left, right := r, cell.Rect{}
	if l.Framed {
		left, right = r.Left(r.W * 60 / 100)
	}
	in := l.Section(left, true, pane.Bit("why", l.Look.Title), pane.Bit(" · one more request at "+title(c), l.Look.Dim))
	verdict := l.Look.Good
	if !m.Decision.Allowed {
		verdict = l.Look.Denied
	}
	lines := []pane.Piece{pane.Bit(w.Rule, l.Look.Dim)}
	if in.H < len(w.Numbers)+2 {
		lines = append(lines, pane.Bit(w.Sum, l.Look.Title))
		if in.H >= 4 {
			lines = append([]pane.Piece{lines[0]}, pane.Bit(w.Numbers[max(len(w.Numbers)-2, 0)], l.Look.Text), lines[1])
		}
	} else {
		for _, n := range w.Numbers {
			lines = append(lines, pane.Bit(n, l.Look.Text))
		}
		lines[len(lines)-1].Style = l.Look.Title
	}
	lines = append(lines, pane.Bit(l.mark(m.Decision.Allowed)+" "+w.Verdict, verdict))
	for i, p := range lines {
		if i < in.H {
			l.Grid.Text(in.X, in.Y+i, in.X+in.W, p.Text, p.Style)
		}
	}
	if right.W > 0 {
		l.paintTask(right)
	}
}

// mark is the shape of a verdict.
func (l *Lab) mark(allowed bool) string {
	if allowed {
		return l.Look.YesMark
	}
	return l.Look.OverMark
}

// paintTask is the lesson in brief beside the explanation.
func (l *Lab) paintTask(r cell.Rect) {
	it := l.at()
	in := l.Section(r, false, pane.Bit("task", l.Look.Title), pane.Bit(" · 4 for the text", l.Look.Dim))
	if it.Goal == nil {
		l.paragraphs(in, it.Text, l.Look.Text)
		return
	}
	p := l.goal()
	y := in.Y
	write := func(text string, st themes.Style) {
		for _, line := range figure.Wrap(safetext.Clean(text), in.W) {
			if y < in.Y+in.H {
				l.Grid.Text(in.X, y, in.X+in.W, line, st)
			}
			y++
		}
	}
	write(it.Goal.Say, l.Look.Text)
	if p.Reached {
		write(l.Look.YesMark+" "+it.Goal.Then, l.Look.Good)
		write("n begins the next lesson.", l.Look.Dim)
		return
	}
	write(p.Text, l.Look.Near)
	if l.hint {
		write("Hint: "+it.Goal.Hint, l.Look.Accent)
	} else {
		write("i gives a hint, w shows how.", l.Look.Dim)
	}
}

// paragraphs writes text broken into lines, as much as fits, and returns the row after.
func (l *Lab) paragraphs(r cell.Rect, text []string, st themes.Style) int {
	y := r.Y
	for i, p := range text {
		if i > 0 {
			y++
		}
		for _, line := range figure.Wrap(safetext.Clean(p), r.W) {
			if y < r.Y+r.H {
				l.Grid.Text(r.X, y, r.X+r.W, line, st)
			}
			y++
		}
	}
	return y
}

// title names a contender as people do.
func title(c lab.Contender) string { return titled(figure.AlgorithmInFull(c.Algorithm), c) }

// titleIn is title, shorter where it takes more than so many columns.
func titleIn(c lab.Contender, columns int) string {
	s := title(c)
	if safetext.Width(s) > columns {
		s = titled(figure.Algorithm(c.Algorithm), c)
	}
	return safetext.Clip(s, columns, safetext.Ellipsis)
}

func titled(s string, c lab.Contender) string {
	if c.Variant != "" {
		s += ", " + c.Variant
	}
	switch c.Fault {
	case lab.CollidingMembers:
		s += ", members collide"
	case lab.SecondsAsMillis:
		s += ", seconds as ms"
	case lab.ClientClock:
		s += ", client clocks"
	}
	return s
}
