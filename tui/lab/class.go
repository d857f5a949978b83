package lab

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/tui/keymap"
)

// Class is the room that a lab belongs to: its teacher's or a student's side of it.
// Implementations are safe for concurrent use.
type Class interface {
	Teaches() bool
	Students() []Student
	// Driving reports whether any student follows, and whether all who come now do.
	Driving() (any, all bool)
	// Drive lets all students follow the teacher's screen, or frees them; Call does so with one.
	Drive(on bool) error
	Call(number int, on bool) error
	// Lock keeps others from coming in; Remove ends the visit of a student.
	Locked() bool
	Lock(on bool) error
	Remove(number int) error
	// Show hands the moment on the teacher's screen to the students who follow.
	Show(FollowMsg)
	// Report keeps where a student is, Predict what a student predicts of a question.
	Report(Place)
	Predict(Question, Prediction)
	// Tally counts what all predict of a question, Tallies what was reached and missed.
	Tally(question string) Tally
	Tallies() []Tally
}

// Place is where a student is.
type Place struct {
	Lesson  int // from 0
	Title   string
	View    string
	Steps   int           // requests decided
	At      time.Duration // on the clock of the story
	Task    bool          // the lesson has one
	Reached bool          // and it is reached
	With    bool          // the teacher's screen is shown
}

// Student is what a teacher sees of one.
type Student struct {
	Number  int    // which no other student has or had
	Name    string // fit for a terminal
	Follows bool   // shall show the teacher's screen
	Reached int    // tasks
	Asked   int    // questions that were predicted
	Right   int
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
}

// FollowMsg shows a student the moment on the teacher's screen; without a line it frees.
type FollowMsg struct {
	Line string
	Ask  bool // the next request waits for a prediction
}

// relayedMsg is a message that came from outside the program.
type relayedMsg struct{ msg tea.Msg }

// relay waits for the next message from outside.
func (s *Screen) relay() tea.Cmd {
	if s.messages == nil {
		return nil
	}
	ctx := s.Context()
	return func() tea.Msg {
		select {
		case msg := <-s.messages:
			return relayedMsg{msg}
		case <-ctx.Done():
			return nil
		}
	}
}

// relayed takes a message from outside and waits for the next one.
func (s *Screen) relayed(msg tea.Msg) tea.Cmd {
	if f, ok := msg.(FollowMsg); ok {
		s.followTeacher(f)
		return s.relay()
	}
	return tea.Batch(func() tea.Msg { return msg }, s.relay())
}

// followTeacher shows the teacher's moment.
func (s *Screen) followTeacher(f FollowMsg) {
	s.Redraw()
	if f.Line == "" {
		if s.following {
			s.Say("The teacher frees you: the clock is yours.")
		}
		s.following = false
		return
	}
	m, err := lab.ReadShared(f.Line)
	if err == nil {
		if m.View == "quiz" && s.shows("quiz") && s.following { // the question stays as it is answered
			return
		}
		err = s.openShared(m)
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.following = true
	s.guess.asked = f.Ask && s.guess.answered != s.guessed().ID
}

// showEvery is how often students get the teacher's moment at most.
const showEvery = 400 * time.Millisecond

// teach shows the students what is on screen, where any of them follows. What the teacher
// sees of the class is not shown.
func (s *Screen) teach(now time.Time) {
	if !s.teaches() || s.shows(studentsName) || now.Sub(s.taught) < showEvery {
		return
	}
	if any, _ := s.class.Driving(); !any {
		return
	}
	s.taught = now
	if line, err := s.moment().Line(); err == nil {
		s.class.Show(FollowMsg{Line: line, Ask: s.guess.asked})
	}
}

// teaches reports whether this is the lab of a class's teacher.
func (s *Screen) teaches() bool { return s.class != nil && s.class.Teaches() }

// report tells the teacher where this student is.
func (s *Screen) report() {
	if s.class == nil || s.class.Teaches() {
		return
	}
	it, run := s.at(), s.shown()
	s.class.Report(Place{
		Lesson: s.lesson, Title: it.Title, View: s.views[s.current].name(), Steps: run.Decided(), At: run.Elapsed(),
		Task: it.Goal != nil, Reached: s.reached[it.ID], With: s.following,
	})
}

// classKeys are the teacher's.
func (s *Screen) classKeys() keymap.Actions {
	if !s.teaches() {
		return nil
	}
	return keymap.Actions{
		keymap.New("class", "students", "S", "shows who is there and where", func() tea.Cmd { s.show(studentsName); return nil }, "S").Hinted("students"),
		keymap.New("class", "drive", "F", "calls all to your screen, or frees them", func() tea.Cmd {
			any, all := s.class.Driving()
			on := !any && !all
			if err := s.class.Drive(on); err != nil {
				s.fail(err)
			} else if on {
				s.Say("The class sees your screen. F frees it.")
			} else {
				s.Say("The class is free.")
			}
			return nil
		}, "F").Hinted("drive"),
	}
}

// classWords is what the header says of the class; "" outside one.
func (s *Screen) classWords() string {
	switch {
	case s.class == nil:
		return ""
	case !s.class.Teaches() && s.following:
		return "with the teacher"
	case !s.class.Teaches():
		return ""
	}
	people := s.class.Students()
	with := 0
	for _, one := range people {
		if one.Follows {
			with++
		}
	}
	text := fmt.Sprintf("%d in class", len(people))
	switch _, all := s.class.Driving(); {
	case with > 0 && with < len(people):
		text += fmt.Sprintf(", %d with you", with)
	case with > 0 || all:
		text += ", driven"
	}
	if s.class.Locked() {
		text += ", locked"
	}
	return text
}
