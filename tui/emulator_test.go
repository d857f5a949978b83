package tui_test

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/vt"

	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// terminal is a dashboard running in a virtual terminal. It belongs in a synctest
// bubble: See and Wait let virtual time pass.
type terminal struct {
	t       testing.TB
	screen  *vt.SafeEmulator
	program *tea.Program
	stop    context.CancelFunc
	done    chan error

	// cells guards what the emulator's own lock does not: CellAt returns a pointer to a
	// cell that a Write in another goroutine changes.
	cells sync.Mutex

	mu    sync.Mutex
	bytes int64 // written by the program so far
	err   error // what the program ended with
}

// dark is the background of a terminal.
var dark = color.RGBA{0x11, 0x13, 0x1a, 0xff}

// start runs a dashboard at a size on a background.
func start(t testing.TB, w, h int, background color.Color, o tui.Options) *terminal {
	t.Helper()
	return launch(t, w, h, background, func(ctx context.Context, extra ...tea.ProgramOption) error {
		return tui.Run(ctx, []tui.Options{o}, extra...)
	})
}

// launch runs any program that takes options of Bubble Tea, at a size on a background.
func launch(t testing.TB, w, h int, background color.Color, run func(ctx context.Context, extra ...tea.ProgramOption) error) *terminal {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	x := &terminal{t: t, screen: vt.NewSafeEmulator(w, h), stop: stop, done: make(chan error, 1)}
	x.screen.SetBackgroundColor(background)
	keys, answers := io.Pipe()
	go x.answer(answers)
	go func() {
		x.done <- run(ctx,
			func(p *tea.Program) { x.mu.Lock(); x.program = p; x.mu.Unlock() },
			tea.WithInput(keys), tea.WithOutput(x), tea.WithWindowSize(w, h), tea.WithoutSignalHandler(),
			tea.WithColorProfile(colorprofile.TrueColor), tea.WithEnvironment([]string{"TERM=xterm-256color"}))
	}()
	t.Cleanup(func() {
		x.Quit()
		_ = answers.Close()
		if input, ok := x.screen.InputPipe().(io.Closer); ok { // Close itself races with the Read of answer
			_ = input.Close()
		}
		x.Wait(time.Minute) // ticks that are under way cannot be cancelled
	})
	return x
}

// answer passes on what the terminal answers to queries. A program that has stopped
// reading holds nothing up.
func (x *terminal) answer(to io.Writer) {
	kept := make(chan []byte, 64)
	go func() {
		for b := range kept {
			_, _ = to.Write(b)
		}
	}()
	defer close(kept)
	buffer := make([]byte, 1024)
	for {
		n, err := x.screen.Read(buffer)
		if err != nil {
			return
		}
		select {
		case kept <- append([]byte(nil), buffer[:n]...):
		default:
		}
	}
}

// Write takes the program's output as a terminal's line discipline does.
func (x *terminal) Write(p []byte) (int, error) {
	x.mu.Lock()
	x.bytes += int64(len(p))
	x.mu.Unlock()
	x.cells.Lock()
	defer x.cells.Unlock()
	if _, err := x.screen.Write([]byte(strings.ReplaceAll(string(p), "\n", "\r\n"))); err != nil {
		return 0, fmt.Errorf("the virtual terminal refused its input: %w", err)
	}
	return len(p), nil
}

// Bytes returns how much the program has written so far.
func (x *terminal) Bytes() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bytes
}

// Send hands the program a message.
func (x *terminal) Send(msg tea.Msg) {
	x.mu.Lock()
	p := x.program
	x.mu.Unlock()
	if p != nil {
		p.Send(msg)
	}
}

// Press presses keys, named as tea.KeyPressMsg.String does.
func (x *terminal) Press(names ...string) {
	for _, name := range names {
		x.Send(tuitest.Key(name))
	}
	x.Wait(150 * time.Millisecond)
}

// Click presses the left button on a cell.
func (x *terminal) Click(column, row int) {
	x.Send(tea.MouseClickMsg{X: column, Y: row, Button: tea.MouseLeft})
	x.Wait(150 * time.Millisecond)
}

// Resize makes the terminal another size, as a user would.
func (x *terminal) Resize(w, h int) {
	x.cells.Lock()
	x.screen.Resize(w, h)
	x.cells.Unlock()
	x.Send(tea.WindowSizeMsg{Width: w, Height: h})
	x.Wait(150 * time.Millisecond)
}

// Wait lets time pass.
func (x *terminal) Wait(d time.Duration) { time.Sleep(d) }

// Screen returns what can be read, without colours, one line a row.
func (x *terminal) Screen() string {
	x.cells.Lock()
	defer x.cells.Unlock()
	lines := make([]string, x.screen.Height())
	for y := range lines {
		var b strings.Builder
		for c := 0; c < x.screen.Width(); c++ {
			cell := x.screen.CellAt(c, y)
			switch {
			case cell == nil || cell.Content == "":
				if cell == nil || cell.Width != 0 {
					b.WriteByte(' ')
				}
			default:
				b.WriteString(cell.Content)
			}
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return strings.Join(lines, "\n")
}

// Find returns the cell at which a text stands.
func (x *terminal) Find(text string) (column, row int, found bool) {
	for y, line := range strings.Split(x.Screen(), "\n") {
		if i := strings.Index(line, text); i >= 0 {
			return len([]rune(line[:i])), y, true
		}
	}
	return 0, 0, false
}

// See waits until a text can be read, and fails the test when that takes longer than
// three seconds.
func (x *terminal) See(text string) {
	x.t.Helper()
	for range 60 {
		if strings.Contains(x.Screen(), text) {
			return
		}
		x.Wait(50 * time.Millisecond)
	}
	x.t.Fatalf("after three seconds %q is not on screen:\n%s", text, x.Screen())
}

// Gone waits until a text cannot be read any more.
func (x *terminal) Gone(text string) {
	x.t.Helper()
	for range 60 {
		if !strings.Contains(x.Screen(), text) {
			return
		}
		x.Wait(50 * time.Millisecond)
	}
	x.t.Fatalf("after three seconds %q is still on screen:\n%s", text, x.Screen())
}

// Quit ends the program from outside, as a signal would, and waits for it.
func (x *terminal) Quit() {
	x.stop()
	x.Done()
}

// Done waits for the program to end by itself.
func (x *terminal) Done() {
	x.t.Helper()
	select {
	case err := <-x.done:
		x.done <- err
		x.mu.Lock()
		x.err = err
		x.mu.Unlock()
	case <-time.After(5 * time.Second):
		x.t.Fatal("the program does not end")
	}
}

// Err returns what the program ended with; nil before Done.
func (x *terminal) Err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

// AltScreen says whether the program still holds the terminal's second screen.
func (x *terminal) AltScreen() bool { return x.screen.IsAltScreen() }
