package lab

import (
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	"ratescope/model/lab"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// answered is how far a question of the quiz is.
type answered struct {
	verdict  bool // admitted or denied was answered
	admitted bool // what was said
	slot     bool // and which slot
	slotSaid int
}

// revealed says whether the answer is on screen.
func (a answered) revealed(q lab.Question) bool {
	return a.verdict && (len(q.Slots) == 0 || a.slot)
}

// quizView asks a person to predict decisions.
type quizView struct {
	plain
	quiz     *lab.Quiz
	number   int // of the question, from 1
	answered answered
}

// slotKeys are the keys of the times to choose from.
const slotKeys = "abc"

func newQuizView(s *Screen) *quizView {
	q := &quizView{plain: plain{title: "quiz"}}
	const other = "The question of the moment has another answer."
	said := func() bool { return q.quiz == nil || q.answered.verdict }
	waits := func() bool { return q.quiz == nil || !q.answered.revealed(q.quiz.Question) || q.hidden(s) }
	q.actions = shell.Actions{
		act("quiz", "admitted", "a", "predicts that it is admitted", func() { q.predict(s, true) }, "a").
			Hinted("admitted").Unless(other, said),
		act("quiz", "denied", "d", "predicts that it is denied", func() { q.predict(s, false) }, "d").Hinted("denied").Unless(other, said),
		act("quiz", "next question", "enter", "asks the next question", q.next, "enter", "space").
			Hinted("next").Unless(other, waits),
	}
	for i, key := range strings.Split(slotKeys, "") {
		elsewhere := func() bool {
			return !said() || q.quiz == nil || q.hidden(s) || q.answered.revealed(q.quiz.Question) || i >= len(q.quiz.Question.Slots)
		}
		q.actions = append(q.actions, act("quiz", "slot "+key, key, "chooses this time of the next slot", func() {
			q.answered.slot, q.answered.slotSaid = true, i
			s.results.predicted(q.quiz.Question.Moment.Candidate, i == q.quiz.Question.Slot, true)
		}, key).Unless(other, elsewhere))
	}
	return q
}

func (q *quizView) reset() { q.quiz = nil }

// open begins a quiz about the lesson's own traffic, where it has some.
func (q *quizView) open(s *Screen) error {
	if q.quiz != nil {
		return nil
	}
	var traffic func() (*lab.Workload, error)
	setup, ok := s.run.Setup().Algorithms()
	if !ok {
		return errors.New("there is no quiz about a script, whose rule is not known: add an algorithm with w")
	}
	if s.recorded || len(s.traffic) > 0 {
		traffic = func() (*lab.Workload, error) { return s.workload(setup) }
	}
	quiz, err := lab.NewQuiz(setup, traffic, s.seed+uint64(s.lesson))
	if err != nil {
		return fmt.Errorf("there is no quiz about these terms: %w", err)
	}
	q.quiz, q.answered, q.number = quiz, answered{}, 1
	return nil
}

// predict answers what becomes of the request.
func (q *quizView) predict(s *Screen, admitted bool) {
	q.answered.verdict, q.answered.admitted = true, admitted
	right := admitted == q.quiz.Question.Moment.Decision.Allowed
	s.results.predicted(q.quiz.Question.Moment.Candidate, right, false)
	if s.class.joined() {
		s.class.Predict(q.question(s), Prediction{Admitted: admitted, Right: right})
	}
}

// question names a question, the same for all who have the same lesson and seed.
func (q *quizView) question(s *Screen) Question {
	m := q.quiz.Question.Moment
	return Question{
		ID: fmt.Sprint("quiz ", s.at().ID, q.quiz.Question.Candidate, m.Number, m.Arrival.At),
		Text: fmt.Sprintf("%d quiz, %s at %s", s.lesson+1, q.quiz.Question.Moment.Candidate.Title(),
			storyTime(m.Arrival.At.Sub(q.quiz.Run.Setup().Zero))),
	}
}

func (q *quizView) next() {
	q.quiz.Next()
	q.answered, q.number = answered{}, q.number+1
}

// hidden reports whether what was answered waits for the predictions of the class.
func (q *quizView) hidden(s *Screen) bool {
	return q.answered.verdict && s.class.following && s.class.Tally(q.question(s).ID).Waits > 0
}

// paintQuiz asks, and when it has been answered says why.
func (v *quizView) paint(p painter, r cell.Rect) {
	q := v.quiz
	if q == nil {
		return
	}
	left, right := r.Left(r.W - 34)
	switch {
	case r.W < 72: // the question needs the width: of the score there is the sum
		left, right = r, cell.Rect{}
	case !p.c.Framed:
		left, right = r.Left(r.W - 26)
	}
	s := q.Run.Setup()
	m := q.Question.Moment
	c := m.Candidate
	heading := []widget.Span{widget.Styled("predict", p.c.Look.Title),
		widget.Styled(" · "+c.Title()+", "+limitText(s.Limit), p.c.Look.Dim)}
	in := p.c.Section(left, true, heading...)
	if right.W == 0 {
		p.c.Aside(left, widget.Width(heading...), widget.Styled(scoreText(p.s.results.total()), p.c.Look.Text))
	}
	lanes, text := in.Top(min(max(in.H/3, 6), 14))
	p.paintOne(lanes, q.Run, q.Question.Candidate, !v.answered.revealed(q.Question) || v.hidden(p.s))
	t := parts{painter: p, r: text, y: text.Y, roomy: p.c.Framed}
	if c.Scripted() { // what it keeps is known by its answers alone
		t.part("rule", t.wrapped(m.Explain().Rule), p.c.Look.Dim)
	} else {
		t.part("it keeps", m.KeptBefore(), p.c.Look.Text)
	}
	cost := collect.If(m.Arrival.Cost != 1, fmt.Sprintf(" of cost %d", m.Arrival.Cost), "")
	t.part("now", []string{fmt.Sprintf("a request%s comes at %s", cost, lab.Seconds(m.Arrival.At.Sub(s.Zero)))}, p.c.Look.Title)
	v.paintAnswers(&t, m)
	v.paintScores(p, right)
}

var rightOr = map[bool]string{true: "right", false: "wrong"}

// paintAnswers is the question, then the second question, then the working.
func (v *quizView) paintAnswers(t *parts, m lab.Moment) {
	a, q := v.answered, v.quiz.Question
	if !a.verdict {
		t.part("answer", []string{"a  it is admitted    d  it is denied"}, t.c.Look.Accent)
		return
	}
	said := collect.If(a.admitted, "you said admitted: ", "you said denied: ")
	if v.hidden(t.s) {
		t.part("you", []string{said + "the answer comes when all are in"}, t.c.Look.Accent)
		return
	}
	right := a.admitted == m.Decision.Allowed
	t.part("you", []string{said + rightOr[right]}, verdictStyle(t.c.Look, right))
	if !a.revealed(q) {
		t.part("slot", []string{"it is denied. When would it be admitted?"}, t.c.Look.Title)
		options := ""
		for i, d := range q.Slots {
			options += fmt.Sprintf("%c  in %s     ", slotKeys[i], lab.Seconds(d.Round(time.Millisecond)))
		}
		t.part("", []string{options}, t.c.Look.Accent)
		return
	}
	if a.slot {
		right := a.slotSaid == q.Slot
		t.part("", []string{fmt.Sprintf("in %s: ", lab.Seconds(q.Slots[a.slotSaid].Round(time.Millisecond))) + rightOr[right]},
			verdictStyle(t.c.Look, right))
	}
	w := m.Explain()
	why := append([]string{w.Rule}, w.Numbers...)
	if m.Candidate.Scripted() {
		why = append(why, m.CommandLines(nil)...)
	}
	t.part("why", why, t.c.Look.Text)
	t.part("so", t.wrapped(verdictMark(t.c.Look, m.Decision.Allowed)+" "+w.Verdict), verdictStyle(t.c.Look, m.Decision.Allowed))
	t.part("", []string{collect.If(t.s.class.following, "the teacher goes on", "enter goes on")}, t.c.Look.Accent)
}

// scoreText is how many answers were right.
func scoreText(s lab.Score) string {
	if s.Asked == 0 {
		return "not asked yet"
	}
	text := fmt.Sprintf("%d of %d", s.Right, s.Asked)
	if s.SlotsAsked > 0 {
		text += fmt.Sprintf(" · slots %d of %d", s.SlotsRight, s.SlotsAsked)
	}
	return text
}

// paintScores is how well each algorithm has been predicted.
func (v *quizView) paintScores(p painter, r cell.Rect) {
	in := p.c.Section(r, false, widget.Styled("score", p.c.Look.Title))
	y := in.Y
	row := func(name string, s lab.Score, st themes.Style) {
		if y+1 >= in.Y+in.H {
			return
		}
		p.c.Buffer.Text(in.X, y, in.X+in.W, name, st)
		p.c.Buffer.Text(in.X+1, y+1, in.X+in.W, scoreText(s), p.c.Look.Dim)
		y += 2
		if p.c.Framed {
			y++
		}
	}
	if p.s.class.teaches() {
		p.paintPredictions(cell.Rect{X: in.X, Y: y, W: in.W, H: 2}, v.question(p.s).ID)
		y += 3
	}
	if v.hidden(p.s) { // the score would tell
		return
	}
	row("all", p.s.results.total(), p.c.Look.Title)
	for _, c := range v.quiz.Run.Setup().Candidates {
		row(titleIn(c, in.W), p.s.results.Scores[c.String()], p.c.Look.Text)
	}
}

// guess is the predictions of a person about requests fired by hand, before each is fired.
type guess struct {
	on       bool
	asked    bool   // a request waits for its prediction
	answered string // the question that was answered last
	keys     shell.Actions
}

// newGuess returns the actions that answer.
func newGuess(s *Screen) guess {
	answer := func(name, key string, admitted bool) shell.Action {
		return shell.Bind("predict", name, key, "predicts that the algorithm in focus has it "+name+", and fires", func() tea.Cmd {
			s.guess.answer(s, admitted)
			return s.started()
		}).Hinted(name)
	}
	return guess{keys: shell.Actions{answer("admitted", "a", true), answer("denied", "d", false)}}
}

// toggle asks for predictions from now on, or stops that.
func (g *guess) toggle(s *Screen) {
	g.on, g.asked = !g.on, false
	s.app.Say(collect.If(g.on, "Before each request that you fire: a says that it will be admitted, d denied. J stops asking.",
		"Requests are fired without a prediction."))
}

// fire fires a request by hand, or asks for a prediction first.
func (g *guess) fire(s *Screen) {
	if s.shows("lesson") { // nothing is fired behind the text
		s.view("compare")
	} else if setup := s.run.Setup(); !g.on || setup.Limit.Count == 0 || setup.Candidates[s.focus].Scripted() {
		s.fire(1)
		s.follow()
	} else {
		s.halt()
		g.asked = true
	}
}

// in reports whether a student has predicted the request that the teacher asks about.
func (g *guess) in(s *Screen) bool { return s.class.following && g.answered == g.question(s).ID }

// answer fires the request that waits, and says whether the prediction was right and why. To a student who is with the
// teacher it is said when the teacher goes on. The score is the one of the quizzes.
func (g *guess) answer(s *Screen, admitted bool) {
	m := s.run.Ask(s.focus, s.cost())
	right := m.Decision.Allowed == admitted
	q := g.question(s)
	g.answered = q.ID
	if s.class.joined() {
		s.class.Predict(q, Prediction{Admitted: admitted, Right: right})
	}
	all := s.results.predicted(m.Candidate, right, false)
	fate := collect.If(m.Decision.Allowed, "admitted", "denied")
	text := fmt.Sprintf("%s: %s has it %s, %s. %d of %d right.", collect.If(right, "Right", "Wrong"), m.Candidate.Title(), fate,
		m.Explain().Sum(), all.Right, all.Asked)
	if s.class.following {
		s.class.verdict = text
		return
	}
	g.asked = false
	s.fire(1)
	s.follow()
	if s.class.teaches() {
		t := s.class.Tally(q.ID)
		text += fmt.Sprintf(" Of the class %d of %d.", t.Right, t.Right+t.Missed)
	}
	if right {
		s.app.Say(text)
	} else {
		s.app.Warn(text)
	}
}

// question is the question about a request that is fired now at the candidate in focus.
func (g *guess) question(s *Screen) Question {
	c, at := s.run.Setup().Candidates[s.focus], storyTime(s.run.Elapsed())
	return Question{ID: fmt.Sprint("guess ", s.at().ID, s.seed, s.run.Setup(), s.focus, s.run.Decided(), at),
		Text: fmt.Sprintf("%d %s at %s", s.lesson+1, c.Title(), at)}
}
