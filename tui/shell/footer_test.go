package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// able is an injector, so that there are buttons. Nothing is fired.
type able struct{ firing.Injector }

func (able) Armed() error { return nil }

// TestAToastLeavesTheButtonsAlone: at the smallest sizes too.
func TestAToastLeavesTheButtonsAlone(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		s := tuitest.NewStage(t, size[0], size[1], tui.Options{Session: session.Options{Inject: firing.Options{Injector: able{}}}})
		s.Run(2 * time.Second)
		s.Press("t", "enter") // says which theme it is
		s.See("Theme: ", "fire 1", "burst of 10", "one ")
	}
}

// TestTheFooterNamesWhatCanBeDone: not what cannot, of which a press says why.
func TestTheFooterNamesWhatCanBeDone(t *testing.T) {
	s := tuitest.NewStage(t, 200, 55, tui.Options{})
	s.Run(2 * time.Second)
	s.See("enter expand")
	if strings.Contains(s.Text(), "space fire") {
		t.Error("the footer names a key that can do nothing")
	}
	s.Press("b")
	s.See("Nothing can be fired at this source.")
}

// TestAToastCoversNoPane: a sentence of one row lies over the footer alone.
func TestAToastCoversNoPane(t *testing.T) {
	s := tuitest.NewStage(t, 80, 24, tui.Options{})
	s.Run(time.Second)
	before := strings.Split(s.Text(), "\n")
	s.App.Say("This is now.")
	s.App.Update(nil)
	after := strings.Split(s.Text(), "\n")
	if last := len(after) - 1; !strings.Contains(after[last], "This is now.") || !slices.Equal(before[2:last], after[2:last]) {
		t.Errorf("a toast covers more than the footer:\n%s", s.Text())
	}
}

// TestTwoEscapesAtOnce are two: a terminal sends them as one key.
func TestTwoEscapesAtOnce(t *testing.T) {
	s := tuitest.NewStage(t, 100, 30, tui.Options{})
	s.Run(time.Second)
	s.Press("4", "5")
	s.App.Update(tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt})
	if !strings.Contains(s.Text(), "used/limit") {
		t.Errorf("it does not lead back to the first screen:\n%s", s.Text())
	}
}

// TestSuspend hands the terminal back where that is the program's own.
func TestSuspend(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		s := tuitest.NewStage(t, 100, 30, tui.Options{Look: shell.Options{Suspend: allowed}})
		_, cmd := s.App.Update(tuitest.Key("ctrl+z"))
		if suspends := cmd != nil && fmt.Sprintf("%T", cmd()) == "tea.SuspendMsg"; suspends != allowed {
			t.Errorf("with %v it suspends: %v", allowed, suspends)
		}
	}
}

func TestTooSmallIsSaidInWhatFits(t *testing.T) {
	s := tuitest.NewStage(t, 30, 8, tui.Options{})
	for w, want := range map[int]string{59: "ratescope needs 60x20, this is 59x8", 30: "needs 60x20, this is 30x8", 24: "needs 60x20",
		11: "needs 60x20", 10: ""} {
		s.Size(w, 8)
		if first, _, _ := strings.Cut(s.Text(), "\n"); strings.TrimSpace(first) != want {
			t.Errorf("%d columns say %q, want %q", w, first, want)
		}
	}
}
