package shell

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Timing is how long the program took for one message.
type Timing struct {
	Message string        // its type, never what it holds
	Update  time.Duration // which paints what the message changed
	View    time.Duration
}

// timed is a program whose messages are timed. Bubble Tea calls Update and View in turn, from
// one goroutine.
type timed struct {
	tea.Model
	report func(Timing)
	last   Timing // without its View yet
}

// Update is the program's.
func (t *timed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	begin := time.Now()
	model, cmd := t.Model.Update(msg)
	t.Model, t.last = model, Timing{Message: fmt.Sprintf("%T", msg), Update: time.Since(begin)}
	return t, cmd
}

// View is the program's.
func (t *timed) View() tea.View {
	begin := time.Now()
	v := t.Model.View()
	if t.last.Message != "" { // else it is the first picture, of no message
		t.last.View = time.Since(begin)
		t.report(t.last)
		t.last = Timing{}
	}
	return v
}
