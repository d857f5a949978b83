package class_test

import (
	"testing"

	"ratescope/tui/class"
)

// TestTheGame: half the class hands limiters in, half breaks them; the teacher sees who broke whom, and the winning traffic
// is played in all lanes, which those who follow see as well.
func TestTheGame(t *testing.T) {
	t.Parallel()
	h := hold(t, class.Options{})
	teacher := newDesk(t, h, 140, 42)
	ada := h.student(t, "ada")
	ada.sees("ratescope lab")
	eve := h.student(t, "eve")
	eve.sees("ratescope lab")

	teacher.press("v V")
	teacher.sees("The class plays")
	ada.sees("You defend") // it opens for all who are there
	eve.press("\r")
	eve.sees("No limiter is handed in yet")
	ada.sees("GCRA") // there is something to choose
	ada.press("\r")  // the fixed window
	ada.sees("Handed in")
	teacher.sees("ada: fixed-window", "holds")
	eve.sees("ada: fixed-window")

	eve.sees("You attack")
	eve.press("\r")
	eve.press("g5\rbg10\rb")
	eve.sees("Broken: the teacher's table has it.")
	teacher.sees("broken by eve: 20 by 20 requests")

	teacher.press("F enter")
	teacher.sees("This traffic in all lanes")
	eve.sees("with the teacher")

	one := h.Room.Teacher().Now().Students[0].Number
	if err := h.Room.Teacher().Move(one, "s:x"); err == nil {
		t.Error("a line that is none is a move")
	}
	for _, d := range h.Room.Teacher().Game().Defences {
		if h.Room.Teacher().Move(one, d.Win) == nil {
			t.Error("the teacher plays")
		}
	}
	teacher.press("v V")
	teacher.sees("V lets half the class defend")
}
