package tui_test

import (
	"testing"
	"time"

	"ratescope/tui"
)

// TestLookAheadWithACost: c says what a request would meet, of cost 1 or of the cost that is typed, and of another key
// while it is open.
func TestLookAheadWithACost(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{})
	s.run(3 * time.Second)
	s.press("/", "c", "h", "e", "c", "k", "o", "u", "t", "enter", "c")
	s.see("checkout:cart:7f3a: One request of cost 1 is ", "look ahead with a cost of")
	s.press("3", "1")
	s.see("One request of cost 31 is never admitted")
	s.press("backspace")
	s.see("One request of cost 3 is ")
	s.press("x")
	s.see("A cost is a number of 1 or more.")
	s.press("esc", "esc")
	s.press("up", "c", "2")
	s.see("One request of cost 2 is ")
	s.press("down")
	s.see("One request of cost 2 is ")
}
