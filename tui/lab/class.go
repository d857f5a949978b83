package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
)

// Class is the room that a lab belongs to: its teacher's or a student's side of it. What leads the class does nothing on a
// student's side, and nothing to a student who has left.
// Implementations are safe for concurrent use.
type Class interface {
	Teaches() bool
	// Now returns how the class stands.
	Now() Register
	// Call lets a student follow the teacher's screen, or frees one; all of them where number is 0.
	Call(number int, on bool)
	// Lock keeps others from coming in.
	Lock(on bool)
	// Remove ends the visit of a student, who cannot come back until Readmit.
	Remove(number int)
	Readmit(number int)
	// Show hands the moment on the teacher's screen to the students who follow.
	Show(FollowMsg)
	// Report keeps where a student is, Predict what a student predicts of a question.
	Report(Place)
	Predict(Question, Prediction)
	// Tally counts what all predict of a question, Tallies that of all questions, the latest first, and who reached the lessons.
	Tally(question string) Tally
	Tallies() []Tally
	// Play begins or ends the game attack and defend. Move hands in the limiter of a student who defends, as a moment, or
	// traffic that breaks the limiter of student number.
	Play(on bool)
	Game() Game
	Move(number int, line string) error
}

// Register is how a class stands. A student sees of it nothing of the others.
type Register struct {
	Students, Removed []Student // who is there, and who cannot come back
	Door
	Name   string // this student's; "" on the teacher's side
	Driven bool   // all who come now follow the teacher's screen
	Locked bool
}

// following is how many students follow the teacher's screen.
func (r Register) following() int {
	return len(collect.Only(r.Students, func(o Student) bool { return o.Follows }))
}

// Door is how students come in, and who failed to.
type Door struct {
	Invitation  string // what a student types
	Fingerprint string // of the host key, which a student's ssh shows at the first time
	Wrong       int    // passwords
	From        string // where the latest wrong one came from
}

// Place is where a student is.
type Place struct {
	Lesson  int // from 0
	Title   string
	View    string
	Task    bool // the lesson has one
	Reached bool // and it is reached
	With    bool // the teacher's screen is shown
}

// Student is what a teacher sees of one.
type Student struct {
	Number  int    // which no other student has or had
	Name    string // fit for a terminal
	Follows bool   // shall show the teacher's screen
	Reached int    // tasks
	Asked   int    // questions that were predicted
	Right   int
	Removed bool // is not in class, and cannot come back
	Place
}

// Question is a decision to predict. Its ID is the same for all who have the same moment before
// them.
type Question struct{ ID, Text string }

// Prediction is what one says of a decision.
type Prediction struct{ Admitted, Right bool }

// Tally counts what students predict of a question, or with a Task who reached it.
type Tally struct {
	Question
	Task             bool
	Admitted, Denied int
	Right, Missed    int
	Waits            int // for whom it waits: who follow and have not answered; of all where none follows
}

// FollowMsg shows a student the moment on the teacher's screen; without a line it frees.
type FollowMsg struct {
	Line     string
	Ask      bool // the next request waits for a prediction
	Question int  // of a quiz, from 1
}

// PlayMsg tells a student that the game attack and defend has begun or ended.
type PlayMsg struct{}

// classroom is the side of a class that a lab is on. The zero classroom is outside any class.
type classroom struct {
	Class     // nil outside a class
	messages  <-chan tea.Msg
	following bool      // the teacher's screen is shown, and the clock and the lessons are the teacher's
	line      string    // the moment that is shown
	verdict   string    // what this student's prediction was, to be said with the teacher's next step
	taught    time.Time // when the class got this one's moment
	untaught  string    // why the class could not get this one's moment; "" it could
}

// joined reports whether the lab belongs to a class.
func (c *classroom) joined() bool { return c.Class != nil }

// teaches reports whether this is the lab of a class's teacher.
func (c *classroom) teaches() bool { return c.joined() && c.Teaches() }

// learns reports whether this is the lab of a student.
func (c *classroom) learns() bool { return c.joined() && !c.Teaches() }

// relayedMsg is a message that came from outside the program.
type relayedMsg struct{ msg tea.Msg }

// relay waits for the next message from outside.
func (c *classroom) relay(ctx context.Context) tea.Cmd {
	if c.messages == nil {
		return nil
	}
	messages := c.messages
	return func() tea.Msg {
		select {
		case msg := <-messages:
			return relayedMsg{msg}
		case <-ctx.Done():
			return nil
		}
	}
}

// take takes a message from outside and waits for the next one.
func (c *classroom) take(s *Screen, msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case FollowMsg:
		c.follow(s, msg)
	case PlayMsg:
		said := "The game is over."
		if c.Game().On {
			s.show(duelName)
			said = "The class plays attack and defend: your part is in the frame above the lanes."
		}
		s.app.Say(said)
	default:
		return tea.Batch(func() tea.Msg { return msg }, c.relay(s.app.Context()))
	}
	return c.relay(s.app.Context())
}

// follow shows the teacher's moment.
func (c *classroom) follow(s *Screen, f FollowMsg) {
	s.app.Redraw()
	if f.Line == "" {
		if c.following {
			s.app.Say("The teacher frees you: the clock is yours.")
		}
		c.following = false
		return
	}
	if !c.following {
		s.app.Open(nil) // a list of lessons would lead away
		s.app.Say(heldWords)
	}
	quiz, asks := s.front().(*quizView)
	if !asks || !c.following || f.Line != c.line || f.Question < quiz.number { // else the question stays as it is answered
		m, err := lab.ReadShared(f.Line)
		if err == nil {
			err = s.openShared(m)
		}
		if err != nil {
			s.fail(err)
			return
		}
	}
	if quiz, asks = s.front().(*quizView); asks {
		for quiz.number < f.Question {
			quiz.next()
		}
	}
	c.following, c.line = true, f.Line
	s.guess.asked = f.Ask
	if c.verdict != "" && !f.Ask {
		s.app.Say(c.verdict)
		c.verdict = ""
	}
}

// showEvery is how often students get the teacher's moment at most.
const showEvery = 400 * time.Millisecond

// teach shows the students what is on screen, where any of them follows. What the teacher
// sees of the class is not shown.
func (c *classroom) teach(s *Screen, now time.Time) {
	if !c.teaches() || s.shows(studentsName) || now.Sub(c.taught) < showEvery || c.Now().following() == 0 {
		return
	}
	c.taught = now
	if line, err := s.moment().Line(); err != nil && err.Error() != c.untaught {
		c.untaught = err.Error()
		s.fail(fmt.Errorf("the class cannot see this: %w", err))
	} else if err == nil {
		f := FollowMsg{Line: line, Ask: s.guess.asked}
		if quiz, asks := s.front().(*quizView); asks {
			f.Question = quiz.number
		}
		c.untaught = ""
		c.Show(f)
	}
}

// report tells the teacher where this student is.
func (c *classroom) report(s *Screen) {
	if !c.learns() {
		return
	}
	it := s.at()
	c.Report(Place{Lesson: s.lesson, Title: it.Title, View: s.front().name(),
		Task: it.Goal != nil, Reached: slices.Contains(s.results.Reached, it.ID), With: c.following})
}

// Watched says to a teacher who would quit that students are in class; "" where none is.
func (s *Screen) Watched() string {
	if !s.class.teaches() || len(s.class.Now().Students) == 0 {
		return ""
	}
	return "In class: " + format.Plural(len(s.class.Now().Students), "student") + ". The visit of each ends with yours."
}

// keys are the teacher's.
func (c *classroom) keys(s *Screen) shell.Actions {
	if !c.teaches() {
		return nil
	}
	return shell.Actions{
		act("class", "students", "S", "shows who is there and where", func() { s.show(studentsName) }, "S").Hinted("students"),
		act("class", "drive", "F", "calls all to your screen, or frees them", func() {
			now := c.Now()
			on := now.following() == 0 && !now.Driven
			c.Call(0, on)
			s.app.Say(collect.If(on, "The class sees your screen. F frees it.", "The class is free."))
		}, "F").Hinted("drive"),
	}
}

// words is what the header says of the class; "" outside one.
func (c *classroom) words() string {
	if !c.joined() {
		return ""
	}
	now := c.Now()
	switch {
	case c.following:
		return "class: " + now.Name + ", with the teacher"
	case c.learns():
		return "class: " + now.Name
	}
	text, with := fmt.Sprintf("%d in class", len(now.Students)), now.following()
	switch {
	case with > 0 && with < len(now.Students):
		text += fmt.Sprintf(", %d with you", with)
	case with > 0 || now.Driven:
		text += ", driven"
	}
	if now.Locked {
		text += ", locked"
	}
	return text
}

// heldWords say why a key does nothing while the teacher's screen is shown.
const heldWords = "You are with the teacher: look and answer; the clock and the lessons are the teacher's."

// What a held student can still do is to look, to answer and to copy: actions of these groups but the
// next question, and these of other groups.
var (
	freeGroups  = []string{"predict", "quiz", "decision"}
	freeActions = []string{"zoom out", "zoom in", "compare", "decision", "lesson", "up", "down", "expand", "present", "share", "copy"}
)

// hold returns the actions with those blocked that a held student cannot do.
func (c *classroom) hold(list shell.Actions) shell.Actions {
	if !c.following {
		return list
	}
	for i, act := range list {
		if act.Name == "next question" || !slices.Contains(freeGroups, act.Group) && !slices.Contains(freeActions, act.Name) {
			list[i] = act.When(func() string { return heldWords })
		}
	}
	return list
}

// OnClick lets a rectangle of the lab answer clicks, which a held student makes in vain: they
// move the clock or the focus that the teacher's question is about.
func (p painter) OnClick(r cell.Rect, do func(x int) tea.Cmd) {
	p.c.OnClick(r, func(x int) tea.Cmd {
		if p.s.class.following {
			return p.s.app.Say(heldWords)
		}
		return do(x)
	})
}
