package tui_test

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // times of day on screen are this machine's
	os.Exit(m.Run())
}

// obeyed says whether a terminal would do something at r other than to show it.
func obeyed(r rune) bool {
	switch {
	case r == '\n', r >= ' ' && r <= '~':
		return false
	case r < 0xa0:
		return true
	}
	return r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x2069
}

// withoutColours takes the sequences that colour text out of s, and nothing else.
func withoutColours(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		from := strings.Index(s, "\x1b[")
		if from < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := from + 2
		for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == ';') {
			end++
		}
		if end < len(s) && s[end] == 'm' {
			b.WriteString(s[:from])
			s = s[end+1:]
			continue
		}
		b.WriteString(s[:end])
		s = s[end:]
	}
}

// check fails the test unless the screen is exactly h lines of w columns, and nothing in
// it but colours is more than text.
func check(s *tuitest.Stage, what string) {
	s.Helper()
	v := s.App.View()
	text := withoutColours(v.Content)
	if i := strings.IndexFunc(text+v.WindowTitle, obeyed); i >= 0 {
		s.Fatalf("%s at %dx%d: the screen writes %q\n%s", what, s.W, s.H, (text + v.WindowTitle)[i:min(i+12, len(text))], text)
	}
	if !utf8.ValidString(text) {
		s.Fatalf("%s at %dx%d: the screen is not UTF-8", what, s.W, s.H)
	}
	if strings.ContainsRune(v.WindowTitle, '\n') {
		s.Fatalf("%s: the title is %q", what, v.WindowTitle)
	}
	if s.H <= 0 {
		if v.Content != "" {
			s.Fatalf("%s at %dx%d: the screen is %q", what, s.W, s.H, v.Content)
		}
		return
	}
	lines := strings.Split(text, "\n")
	if len(lines) != s.H {
		s.Fatalf("%s at %dx%d: %d lines", what, s.W, s.H, len(lines))
	}
	for y, line := range lines {
		if n := ansi.StringWidth(line); n != max(s.W, 0) {
			s.Fatalf("%s at %dx%d: line %d is %d columns wide: %q", what, s.W, s.H, y, n, line)
		}
	}
}

// hits returns what the open picker lists, the best first.
func hits(s *tuitest.Stage) []shell.Choice {
	if p, ok := s.App.Over.(*shell.Picker); ok {
		return p.Hits()
	}
	return nil
}

// scenes are the pictures that the screen can show: keys that lead there from the
// dashboard, and back.
var scenes = []struct {
	name     string
	to, back []string
}{
	{"dashboard", nil, nil},
	{"keys expanded", []string{"enter"}, []string{"esc"}},
	{"timeline expanded", []string{"tab", "enter"}, []string{"esc", "tab", "tab"}},
	{"injector expanded", []string{"tab", "tab", "enter"}, []string{"esc", "tab"}},
	{"groups", []string{"f"}, []string{"f"}},
	{"grid", []string{"2"}, []string{"1"}},
	{"compare", []string{"3"}, []string{"1"}},
	{"health", []string{"4"}, []string{"1"}},
	{"events", []string{"5"}, []string{"1"}},
	{"heat", []string{"6"}, []string{"1"}},
	{"what if", []string{"w", "enter"}, []string{"esc"}},
	{"help", []string{"?"}, []string{"esc"}},
	{"palette", []string{":"}, []string{"esc"}},
	{"themes", []string{"t"}, []string{"esc"}},
	{"filter", []string{"/", "a"}, []string{"esc"}},
	{"paused", []string{"p", "left", "left"}, []string{"p"}},
	{"zoomed", []string{"[", "["}, []string{"]", "]"}},
}

// feedInjector fires at the keys of a feed, at the pace that is asked for. It is safe for
// concurrent use.
type feedInjector struct {
	feed   *tuitest.Feed
	refuse error // why nothing may be fired; nil: it is armed

	mu     sync.Mutex
	orders []model.Order
}

// Armed implements firing.Injector.
func (i *feedInjector) Armed() error { return i.refuse }

// Orders returns what was ordered so far, oldest first.
func (i *feedInjector) Orders() []model.Order {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]model.Order(nil), i.orders...)
}

// Fire implements firing.Injector.
func (i *feedInjector) Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error) {
	i.mu.Lock()
	i.orders = append(i.orders, s)
	i.mu.Unlock()
	var tally model.Outcomes
	if err := s.Check(); err != nil {
		return tally, err
	}
	gap := func(n int) time.Duration { // after the request n
		switch at := s.Shape.At; {
		case n+1 < len(at):
			return at[n+1] - at[n]
		case s.Rate > 0:
			return time.Duration(float64(time.Second) / s.Rate)
		}
		return 0
	}
	for n := 0; s.N == 0 || n < s.N; n++ {
		if s.Hold != nil && s.Hold(ctx) != nil {
			return tally, nil
		}
		fired, err := i.feed.FireAt(limiter.InstantOf(time.Now()), s.Key, s.Cost)
		if err != nil {
			return tally, err
		}
		fired.Order = s.ID
		tally.Add(fired.Outcome)
		report(fired)
		select {
		case <-ctx.Done():
			return tally, nil
		case <-time.After(gap(n)):
		}
	}
	return tally, nil
}

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
