package lab

import (
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// answered is how far a question of the quiz is.
type answered struct {
	verdict   bool // admitted or denied was answered
	admitted  bool // what was said
	right     bool
	slot      bool // and which slot
	slotSaid  int
	slotRight bool
}

// revealed says whether the answer is on screen.
func (a answered) revealed(q lab.Question) bool {
	return a.verdict && (len(q.Slots) == 0 || a.slot)
}

func (l *Lab) openQuiz() {
	l.screen = quiz
	if l.ask != nil {
		return
	}
	var traffic func() (*lab.Tape, error) // the lesson's own, where it has some
	s := l.run.Setup()
	if l.recorded || len(l.traffic) > 0 {
		traffic = func() (*lab.Tape, error) { return l.tape(s) }
	}
	q, err := lab.NewQuiz(s, traffic, l.seed+uint64(l.lesson))
	if err != nil {
		l.screen = compare
		l.say(true, "There is no quiz about these terms: "+err.Error()+".")
		return
	}
	l.ask, l.answered = q, answered{}
}

// pressQuiz answers questions; it says whether the key was one of the quiz.
func (l *Lab) pressQuiz(key string) bool {
	q := l.ask
	if q == nil {
		return false
	}
	a := &l.answered
	switch {
	case !a.verdict && (key == "a" || key == "d"):
		a.verdict, a.admitted = true, key == "a"
		a.right = q.Answer(a.admitted)
		return true
	case a.verdict && !a.revealed(q.Question):
		n, err := strconv.Atoi(key)
		if err != nil || n < 1 || n > len(q.Question.Slots) {
			return false
		}
		a.slot, a.slotSaid = true, n-1
		a.slotRight = q.AnswerSlot(n - 1)
		return true
	case a.revealed(q.Question) && (key == "enter" || key == "space"):
		q.Next()
		l.answered = answered{}
		return true
	}
	// What else would answer a question does nothing else by a slip; the digits lead away.
	return key == "a" || key == "space"
}

// paintQuiz asks, and when it has been answered says why.
func (l *Lab) paintQuiz(r cell.Rect) {
	q := l.ask
	if q == nil {
		return
	}
	left, right := r.Left(r.W - 34)
	if !l.Framed {
		left, right = r.Left(r.W - 26)
	}
	s := q.Run.Setup()
	m := q.Question.Moment
	c := s.Contenders[q.Question.Contender]
	in := l.Section(left, true, pane.Bit("predict", l.Look.Title), pane.Bit(" · "+title(c)+", limit "+fmt.Sprint(s.Limit.Count)+" in "+figure.Length(s.Limit.Window), l.Look.Dim))
	y := l.paintStrip(in, q, m)
	p := pen{lab: l, r: cell.Rect{X: in.X, Y: y, W: in.W, H: in.Y + in.H - y}, y: y, roomy: l.Framed}
	p.part("it keeps", lab.Keeps(c, m.Before, m.Arrival.At, s), l.Look.Text)
	cost := ""
	if m.Arrival.Cost != 1 {
		cost = fmt.Sprintf(" of cost %d", m.Arrival.Cost)
	}
	p.part("now", []string{fmt.Sprintf("a request%s comes at %s", cost, lab.Seconds(m.Arrival.At.Sub(s.Zero)))}, l.Look.Title)
	l.paintAnswers(&p, c, m, s)
	if room := in.Y + in.H - p.y - 1; room >= 8 {
		l.paintLanes(cell.Rect{X: in.X - 1, Y: p.y + 1, W: in.W + 1, H: room}, q.Run, q.Question.Contender, false)
	}
	l.paintScores(right)
}

// paintAnswers is the question, then the second question, then the working.
func (l *Lab) paintAnswers(p *pen, c lab.Contender, m lab.Moment, s lab.Setup) {
	a, q := l.answered, l.ask.Question
	if !a.verdict {
		p.part("answer", []string{"a  it is admitted        d  it is denied"}, l.Look.Accent)
		return
	}
	said := "you said denied: "
	if a.admitted {
		said = "you said admitted: "
	}
	p.part("you", []string{said + rightOr(a.right)}, l.outcome(a.right))
	if !a.revealed(q) {
		line := "it is denied. When would it be admitted?"
		p.part("slot", []string{line}, l.Look.Title)
		options := ""
		for i, d := range q.Slots {
			options += fmt.Sprintf("%d  in %s     ", i+1, lab.Seconds(d.Round(time.Millisecond)))
		}
		p.part("", []string{options}, l.Look.Accent)
		return
	}
	if a.slot {
		p.part("", []string{fmt.Sprintf("in %s: ", lab.Seconds(q.Slots[a.slotSaid].Round(time.Millisecond))) + rightOr(a.slotRight)}, l.outcome(a.slotRight))
	}
	w := lab.Explain(c, m, s)
	p.part("why", append([]string{w.Rule}, w.Numbers...), l.Look.Text)
	p.part("so", p.wrapped(l.mark(m.Decision.Allowed)+" "+w.Verdict), l.outcome(m.Decision.Allowed))
	p.part("", []string{"enter goes on"}, l.Look.Accent)
}

// quizHints are the keys that the question of the moment takes.
func (l *Lab) quizHints() []pane.Hint {
	hint := func(key, label string) pane.Hint {
		return pane.Hint{Key: key, Label: label, Do: func(int) tea.Cmd { l.pressQuiz(key); return nil }}
	}
	switch {
	case l.ask == nil:
		return nil
	case !l.answered.verdict:
		return []pane.Hint{hint("a", "admitted"), hint("d", "denied")}
	case !l.answered.revealed(l.ask.Question):
		var list []pane.Hint
		for i, d := range l.ask.Question.Slots {
			list = append(list, hint(strconv.Itoa(i+1), "in "+lab.Seconds(d.Round(time.Millisecond))))
		}
		return list
	}
	return []pane.Hint{hint("enter", "next")}
}

func rightOr(right bool) string {
	if right {
		return "right"
	}
	return "wrong"
}

func (l *Lab) outcome(good bool) themes.Style {
	if good {
		return l.Look.Good
	}
	return l.Look.Denied
}

// paintStrip shows the last two windows before the question as marks on a line, and
// returns the row below.
func (l *Lab) paintStrip(r cell.Rect, q *lab.Quiz, m lab.Moment) int {
	w := q.Run.Setup().Limit.Window
	end := m.Arrival.At
	begin := end.Add(-2 * w)
	place := func(d time.Duration) int {
		return r.X + min(int(float64(r.W-2)*float64(d)/float64(2*w)), r.W-2)
	}
	y := r.Y
	if l.Framed {
		y++
	}
	l.Grid.Fill(r.X, y+1, r.W, l.Look.Axis, l.Look.Faint)
	for i := q.Run.Since(begin); i < q.Run.Decided(); i++ {
		a, v := q.Run.Arrival(i)
		mark, st := l.Look.YesMark, l.Look.Admitted
		if !v.Allowed(q.Question.Contender) {
			mark, st = l.Look.OverMark, l.Look.Denied
		}
		l.Grid.Text(place(a.At.Sub(begin)), y, r.X+r.W, mark, st)
	}
	x := place(w)
	l.Grid.Fill(x, y+1, r.X+r.W-1-x, l.Look.Axis, l.Look.Accent)
	l.Grid.Set(x, y+1, l.Look.Box.BL, l.Look.Accent)
	l.Grid.Text(r.X+r.W-1, y, r.X+r.W, "?", l.Look.Title)
	l.Grid.Set(r.X+r.W-1, y+1, l.Look.Box.BR, l.Look.Accent)
	for edge := begin.Floor(w).Add(w); edge <= end; edge = edge.Add(w) {
		l.Grid.Set(place(edge.Sub(begin)), y+1, l.Look.Tick, l.Look.Text)
		l.Grid.Text(place(edge.Sub(begin)), y+2, r.X+r.W-5, "edge", l.Look.Dim)
	}
	l.Grid.Right(r.X, y+2, r.X+r.W, "now", l.Look.Accent)
	label := " window "
	l.Grid.Text(x+(r.X+r.W-x-len(label))/2, y+1, r.X+r.W, label, l.Look.Accent)
	return y + 4
}

// paintScores is how well each algorithm has been predicted.
func (l *Lab) paintScores(r cell.Rect) {
	in := l.Section(r, false, pane.Bit("score", l.Look.Title))
	y := in.Y
	row := func(name string, s lab.Score, st themes.Style) {
		if y+1 >= in.Y+in.H {
			return
		}
		l.Grid.Text(in.X, y, in.X+in.W, name, st)
		text := "not asked yet"
		if s.Asked > 0 {
			text = fmt.Sprintf("%d of %d", s.Right, s.Asked)
			if s.SlotsAsked > 0 {
				text += fmt.Sprintf(" · slots %d of %d", s.SlotsRight, s.SlotsAsked)
			}
		}
		l.Grid.Text(in.X+1, y+1, in.X+in.W, text, l.Look.Dim)
		y += 2
		if l.Framed {
			y++
		}
	}
	row("all", l.ask.Total(), l.Look.Title)
	for _, c := range l.ask.Run.Setup().Contenders {
		row(titleIn(c, in.W), l.ask.Score(c), l.Look.Text)
	}
}
