package class

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/lab"
)

// TestTheNewestMessageIsKept: a student whose lab was far behind is freed all the same.
func TestTheNewestMessageIsKept(t *testing.T) {
	messages := make(chan tea.Msg, 16)
	for i := range 40 {
		queue(messages, lab.FollowMsg{Line: fmt.Sprint(i)})
	}
	queue(messages, lab.FollowMsg{})
	close(messages)
	var last tea.Msg
	for last = range messages {
	}
	if last != (lab.FollowMsg{}) {
		t.Errorf("the last message that arrives is %+v", last)
	}
}
