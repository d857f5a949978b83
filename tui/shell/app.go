package shell

import (
	"cmp"
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/themes"
)

// The smallest terminal that a screen is drawn on, and the one from which panes have frames.
const (
	MinWidth, MinHeight   = 60, 20
	WideWidth, WideHeight = 110, 30
)

// The frames a second.
const (
	defaultFPS = 10
	maxFPS     = 60

	// promptFPS is how often a second the terminal gets what has changed, so that the first picture and
	// what a key does wait for 40 ms at most. A turn at which nothing has changed costs 10 µs.
	promptFPS = 25
)

// Options says how a program looks.
type Options struct {
	Shelf themes.Shelf // the themes to choose from; nil means the built-in ones
	Theme string       // "" picks by the terminal's background
	FPS   int          // frames a second; 0 means 10
	ASCII bool         // no blocks, lines or dots beyond ASCII
	Still bool         // no animation: the picture changes once a second
	Mouse bool         // the mouse is the program's, not the terminal's
	Name  string       // of the program, where it says what size it needs
	// Suspend lets ctrl+z hand the terminal back to the shell until fg. It stops the whole
	// process, so that it is not for a program that serves others.
	Suspend bool
	// Timed receives how long each message took, for a debug log; nil for none.
	Timed func(Timing)

	// Remember keeps what a person chose for the next start; nil forgets it.
	Remember func(key, value string) tea.Cmd
	// Recall returns what was kept under a key, or ""; nil: nothing was kept.
	Recall func(key string) string
}

// App is the root of the program: it routes messages to an overlay, to its own keys, to the
// screen that is shown and to the host, and paints them. Make one with New, add screens with
// Register.
type App struct {
	surface
	stack
	clock clock
	life  *lifetime

	o       Options
	theming theming
	host    Host
	keys    Actions
	footer  footer
	mouse   bool
	used    []string // names of the palette's actions, the last used last

	Group *Group // that it is one of; nil: it runs alone
}

// New returns a program without screens. It ends when ctx does.
func New(ctx context.Context, o Options) (*App, error) {
	o.FPS = cmp.Or(o.FPS, defaultFPS)
	if o.FPS < 1 || o.FPS > maxFPS {
		return nil, fmt.Errorf("%d frames a second is not possible: use 1 to %d", o.FPS, maxFPS)
	}
	if o.Shelf == nil {
		o.Shelf = themes.BuiltIn()
	}
	a := &App{o: o, host: Bare{}, mouse: o.Mouse}
	a.theming = theming{on: &a.surface, shelf: o.Shelf, ascii: o.ASCII, fixed: o.Theme != "", dark: true}
	theme := o.Shelf.Default(true)
	if a.theming.fixed {
		var err error
		if theme, err = o.Shelf.Find(o.Theme); err != nil {
			return nil, err
		}
	}
	a.theming.set(theme)
	a.life = begin(ctx)
	return a, nil
}

// SetHost says what the program is about. It is called before Run.
func (a *App) SetHost(h Host) { a.host = h }

// Register adds a screen. The first is shown at the start; the number of each is its key.
func (a *App) Register(name, what string, s Screen) {
	a.screens = append(a.screens, entry{name, what, s})
	a.keys = a.actions()
}

// Run shows the program until a person quits or its context ends. Whatever happens, the
// terminal is left as it was.
func (a *App) Run(extra ...tea.ProgramOption) error { return run(a, a, extra) }

// run runs m, which is a or a group that begins with it.
func run(m tea.Model, a *App, extra []tea.ProgramOption) error {
	defer a.life.stop()
	settings := append([]tea.ProgramOption{tea.WithContext(a.life.ctx), tea.WithFPS(a.o.writes())}, extra...)
	var model tea.Model = guarded{m, a.life}
	if a.o.Timed != nil {
		model = &timed{Model: model, report: a.o.Timed}
	}
	_, err := tea.NewProgram(model, settings...).Run()
	return a.life.ended(err)
}

// Context ends when the program does.
func (a *App) Context() context.Context { return a.life.ctx }

// Fail ends the program with an error.
func (a *App) Fail(err error) tea.Cmd {
	a.life.failure = err
	return tea.Quit
}

// Now returns this machine's clock at the last tick.
func (a *App) Now() time.Time { return a.clock.now }

// Idle reports whether the clock ticks once a second only.
func (a *App) Idle() bool { return a.clock.idle }

// Options returns how the program looks.
func (a *App) Options() Options { return a.o }

// writes returns how often a second a changed picture may be sent to the terminal: more often than
// pictures move by themselves, so that the first picture and what a key does wait for less. A person who
// asks for fewer pictures than usual has a slow line, and gets no more than that.
func (o *Options) writes() int {
	switch {
	case o.FPS < defaultFPS:
		return o.FPS
	case o.FPS == defaultFPS:
		return promptFPS
	default:
		return maxFPS
	}
}

// Remember keeps a choice for the next start.
func (a *App) Remember(key, value string) tea.Cmd {
	if a.o.Remember == nil {
		return nil
	}
	return a.o.Remember(key, value)
}

// Recall returns what was kept of an earlier start under a key, or "".
func (a *App) Recall(key string) string {
	if a.o.Recall == nil {
		return ""
	}
	return a.o.Recall(key)
}

// Frame is the time between two pictures at the highest rate that is allowed.
func (a *App) Frame() time.Duration { return time.Second / time.Duration(a.o.FPS) }

// Show shows the screen of that name.
func (a *App) Show(name string) tea.Cmd {
	if i := a.index(name); i >= 0 {
		return a.show(i)
	}
	return nil
}

func (a *App) show(i int) tea.Cmd {
	a.stale = true
	if i == a.current {
		return nil
	}
	a.remember(i)
	return a.change(i)
}

// change shows a screen without remembering the one before.
func (a *App) change(i int) tea.Cmd {
	left := a.at().Update(HiddenMsg{})
	a.current, a.stale = i, true
	return tea.Batch(left, a.layout(), a.at().Update(ShownMsg{}), a.Wake())
}
