package tui_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
)

// TestAToastLeavesTheButtonsAlone: at the smallest sizes too.
func TestAToastLeavesTheButtonsAlone(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		s := newStage(t, size[0], size[1], tui.Options{Session: session.Options{Inject: firing.Options{Injector: &feedInjector{}}}})
		s.run(2 * time.Second)
		s.press("t", "enter") // says which theme it is
		s.see("Theme: ", "fire 1", "burst of 10", "one ")
	}
}

// TestTheFooterNamesWhatCanBeDone: not what cannot, of which a press says why.
func TestTheFooterNamesWhatCanBeDone(t *testing.T) {
	s := newStage(t, 200, 55, tui.Options{})
	s.run(2 * time.Second)
	s.see("enter expand")
	if strings.Contains(s.text(), "space fire") {
		t.Error("the footer names a key that can do nothing")
	}
	s.press("b")
	s.see("Nothing can be fired at this source.")
}
