package lab

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/tui/shell"
)

// guess is the predictions of a person about requests fired by hand, before each is fired.
type guess struct {
	s        *Screen
	on       bool
	asked    bool   // a request waits for its prediction
	answered string // the question that was answered last
	keys     shell.Actions
}

// newGuess returns the actions that answer.
func newGuess(s *Screen) guess {
	answer := func(name, key string, admitted bool) shell.Action {
		return shell.Bind("predict", name, key, "predicts that the algorithm in focus has it "+name+", and fires", func() tea.Cmd {
			s.guess.answer(admitted)
			return s.started()
		}, key).Hinted(name)
	}
	return guess{s: s, keys: shell.Actions{
		answer("admitted", "a", true), answer("denied", "d", false),
	}}
}

// toggle asks for predictions from now on, or stops that.
func (g *guess) toggle() {
	s := g.s
	g.on, g.asked = !g.on, false
	if g.on {
		s.app.Say("Before each request that you fire: a says that it will be admitted, d denied. J stops asking.")
		return
	}
	s.app.Say("Requests are fired without a prediction.")
}

// fire fires a request by hand, or asks for a prediction first.
func (g *guess) fire() {
	s := g.s
	if setup := s.run.Setup(); !g.on || setup.Limit.Count == 0 || setup.Candidates[s.focus].Scripted() {
		s.fire(1)
		s.follow()
		return
	}
	s.halt()
	g.asked = true
}

// answer fires the request that waits, and says whether the prediction was right and why.
// The score is the one of the quizzes.
func (g *guess) answer(admitted bool) {
	s := g.s
	g.asked = false
	setup := s.run.Setup()
	c, m := setup.Candidates[s.focus], s.run.Ask(s.focus, s.cost())
	right := m.Decision.Allowed == admitted
	q := g.question()
	g.answered = q.ID
	if s.class.joined() {
		s.class.Predict(q, Prediction{Admitted: admitted, Right: right})
	}
	all := s.results.predicted(c, right)
	s.fire(1)
	s.follow()
	fate := "denied"
	if m.Decision.Allowed {
		fate = "admitted"
	}
	text := fmt.Sprintf("%s: %s has it %s, %s. %d of %d right.", map[bool]string{true: "Right", false: "Wrong"}[right], title(c), fate,
		lab.Explain(c, m, setup).Sum(), all.Right, all.Asked)
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
func (g *guess) question() Question {
	s := g.s
	c, at := s.run.Setup().Candidates[s.focus], storyTime(s.run.Elapsed())
	return Question{
		ID:   fmt.Sprint("guess ", s.at().ID, s.seed, s.run.Setup(), s.focus, s.run.Decided(), at),
		Text: fmt.Sprintf("%d %s at %s", s.lesson+1, title(c), at),
	}
}
