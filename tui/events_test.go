package tui_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

// TestAToastLeavesTheButtonsAlone: at the smallest sizes too.
func TestAToastLeavesTheButtonsAlone(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		s := tuitest.NewStage(t, size[0], size[1], tui.Options{Session: session.Options{Inject: firing.Options{Injector: &feedInjector{}}}})
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
