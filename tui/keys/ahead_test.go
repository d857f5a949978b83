package keys_test

import (
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestLookAheadWithACost: c says what a request would meet, of cost 1 or of the cost that is typed, and of another key
// while it is open.
func TestLookAheadWithACost(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Run(3 * time.Second)
	s.Press("/", "c", "h", "e", "c", "k", "o", "u", "t", "enter", "c")
	s.See("checkout:cart:7f3a: One request of cost 1 is ", "look ahead with a cost of")
	s.Press("3", "1")
	s.See("One request of cost 31 is never admitted")
	s.Press("backspace")
	s.See("One request of cost 3 is ")
	s.Press("x")
	s.See("A cost is a number of 1 or more.")
	s.Press("esc", "esc")
	s.Press("up", "c", "2")
	s.See("One request of cost 2 is ")
	s.Press("down")
	s.See("One request of cost 2 is ")
}
