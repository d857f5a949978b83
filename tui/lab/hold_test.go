package lab

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// heldClass is the side of a student whose keys are held.
type heldClass struct{ Class }

func (heldClass) Teaches() bool                { return false }
func (heldClass) Now() Register                { return Register{Name: "ada"} }
func (heldClass) Report(Place)                 {}
func (heldClass) Predict(Question, Prediction) {}

// leadingClass is the side of a teacher whom a student follows.
type leadingClass struct{ Class }

func (leadingClass) Teaches() bool { return true }
func (leadingClass) Now() Register {
	return Register{Students: []Student{{Name: "ada", Follows: true}}}
}
func (leadingClass) Show(FollowMsg) {}

// TestATeacherIsToldWhatTheClassCannotSee, and is told it once.
func TestATeacherIsToldWhatTheClassCannotSee(t *testing.T) {
	app, s, err := program(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	app.Update(tea.WindowSizeMsg{Width: 140, Height: 42})
	s.class.Class = leadingClass{}
	told := func(seconds int64) bool {
		s.recorded = true
		s.class.teach(s, time.Unix(seconds, 0))
		s.recorded = false
		app.Update(nil)
		return strings.Contains(ansi.Strip(app.View().Content), "The class cannot see this: recorded traffic")
	}
	if !told(1) {
		t.Error("the class sees no recorded traffic, and its teacher is not told")
	}
	if app.Say("Paused."); told(2) {
		t.Error("the teacher is told again and again")
	}
}

// TestAQuestionKeepsItsLane: where a held student is asked, neither a key nor the wheel goes to another lane, about which the
// question would be another one.
func TestAQuestionKeepsItsLane(t *testing.T) {
	app, s, err := program(t.Context(), Options{First: 2})
	if err != nil {
		t.Fatal(err)
	}
	app.Update(tea.WindowSizeMsg{Width: 140, Height: 42})
	s.view("compare")
	s.class.Class, s.class.following = heldClass{}, true
	for _, c := range []struct {
		asked bool
		want  int
	}{{true, 0}, {false, 2}} {
		s.guess.asked = c.asked
		app.Update(tea.KeyPressMsg{Code: 'j', Text: "j"})
		app.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
		if s.focus != c.want {
			t.Errorf("asked %v: lane %d is in focus, want %d", c.asked, s.focus, c.want)
		}
	}
}

// TestAHeldStudentLooksAndAnswers: no key and no click of a held student moves the clock, begins a
// lesson or fires, and each says why; looking and answering go on.
func TestAHeldStudentLooksAndAnswers(t *testing.T) {
	app, s, err := program(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	press := func(letters string) {
		for _, letter := range letters {
			text := strings.TrimSpace(string(letter)) // a space and a tab have names
			app.Update(tea.KeyPressMsg{Code: letter, Text: text})
		}
	}
	app.Update(tea.WindowSizeMsg{Width: 140, Height: 42})
	press("Cll")
	s.class.Class, s.class.following = heldClass{}, true
	before, lesson := s.run.Decided(), s.lesson
	moved := func() bool {
		moved := s.run.Decided() != before || s.lesson != lesson || s.focus != 0 || s.clock.playing || s.rate.on
		return moved || app.Over != nil || !s.shows("compare")
	}
	for _, key := range " brplhgRUZnNLHwJQXMA\t" {
		if press(string(key)); moved() {
			t.Fatalf("%q does something in a held lab", key)
		}
		if !strings.Contains(ansi.Strip(app.View().Content), "You are with the teacher") {
			t.Errorf("%q does not say that the teacher holds the keys", key)
		}
	}
	for y := range 41 { // all but the footer, whose keys are those above
		if app.Update(tea.MouseClickMsg{X: 60, Y: y, Button: tea.MouseLeft}); moved() {
			t.Fatalf("a click in row %d moves a held lab", y)
		}
	}
	if press("DTC"); !s.shows("compare") {
		t.Error("a held student cannot look around")
	}
	if s.guess.asked = true; !strings.Contains(ansi.Strip(app.View().Content), "class: ada, with the teacher") {
		t.Error("the header does not say whose class it is and who holds the clock")
	}
	if press("a"); !s.guess.in(s) || s.run.Decided() != before ||
		!strings.Contains(ansi.Strip(app.View().Content), "Your prediction is in") {
		t.Error("a held student cannot answer, or sees what the others have yet to predict")
	}
	s.guess.asked = false
	press("L")
	if app.Over != nil {
		t.Error("a held student opens the lessons")
	}
	s.class.Class, s.class.following = nil, false
	press("L")
	s.class.Class = heldClass{}
	if s.class.follow(s, FollowMsg{Line: "s:nonsense"}); app.Over != nil {
		t.Error("the list of lessons stays open over a held lab")
	}
}
