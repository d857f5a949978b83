package lab_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/feed/script/sandbox"
	"ratescope/tui/lab"
	"ratescope/tui/tuitest"
)

// program is the lab in a program of Bubble Tea, whose screen is read before it goes to a terminal. It belongs in a
// synctest bubble: See and Wait let virtual time pass.
type program struct {
	t       testing.TB
	program *tea.Program
	done    chan error
}

// lookMsg asks for what is on screen.
type lookMsg chan string

// learn runs a test in virtual time on the lab.
func learn(t *testing.T, w, h int, o lab.Options, tell func(x *program)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var on sandbox.Stage
		defer on.Close()
		o.Redis = &on
		ctx, stop := context.WithCancel(context.Background())
		x := &program{t: t, done: make(chan error, 1)}
		begun := make(chan *tea.Program, 1)
		look := func(m tea.Model, msg tea.Msg) tea.Msg {
			if answer, asks := msg.(lookMsg); asks {
				answer <- m.View().Content
				return nil
			}
			return msg
		}
		go func() {
			x.done <- lab.Run(ctx, o, func(p *tea.Program) { begun <- p }, tea.WithFilter(look), tea.WithoutRenderer(),
				tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithWindowSize(w, h), tea.WithoutSignalHandler())
		}()
		x.program = <-begun
		synctest.Wait() // until it takes messages
		t.Cleanup(func() {
			stop()
			x.Done()
			x.Wait(time.Minute) // ticks that are under way cannot be cancelled
		})
		x.Resize(w, h)
		tell(x)
	})
}

// Send hands the program a message.
func (x *program) Send(msg tea.Msg) { x.program.Send(msg) }

// Press presses keys, named as tea.KeyPressMsg.String does.
func (x *program) Press(names ...string) {
	for _, name := range names {
		x.Send(tuitest.Key(name))
	}
	x.Wait(150 * time.Millisecond)
}

// Click presses the left button on a cell.
func (x *program) Click(column, row int) {
	x.Send(tea.MouseClickMsg{X: column, Y: row, Button: tea.MouseLeft})
	x.Wait(150 * time.Millisecond)
}

// Resize makes the terminal another size, as a user would.
func (x *program) Resize(w, h int) {
	x.Send(tea.WindowSizeMsg{Width: w, Height: h})
	x.Wait(150 * time.Millisecond)
}

// Wait lets time pass.
func (x *program) Wait(d time.Duration) { time.Sleep(d) }

// Screen returns what can be read, without colours, one line a row.
func (x *program) Screen() string {
	answer := make(lookMsg, 1)
	x.Send(answer)
	lines := strings.Split(ansi.Strip(<-answer), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// Find returns the cell at which a text stands.
func (x *program) Find(text string) (column, row int, found bool) {
	for y, line := range strings.Split(x.Screen(), "\n") {
		if i := strings.Index(line, text); i >= 0 {
			return len([]rune(line[:i])), y, true
		}
	}
	return 0, 0, false
}

// See waits until a text can be read, and fails the test when that takes longer than three seconds.
func (x *program) See(text string) {
	x.t.Helper()
	x.await(text, true)
}

// Gone waits until a text cannot be read any more.
func (x *program) Gone(text string) {
	x.t.Helper()
	x.await(text, false)
}

func (x *program) await(text string, there bool) {
	x.t.Helper()
	for range 60 {
		if strings.Contains(x.Screen(), text) == there {
			return
		}
		x.Wait(50 * time.Millisecond)
	}
	x.t.Fatalf("after three seconds it is still not %v that %q is on screen:\n%s", there, text, x.Screen())
}

// Done waits for the program to end by itself.
func (x *program) Done() {
	x.t.Helper()
	select {
	case err := <-x.done:
		x.done <- err
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, tea.ErrProgramKilled) {
			x.t.Error(err)
		}
	case <-time.After(5 * time.Second):
		x.t.Fatal("the program does not end")
	}
}
