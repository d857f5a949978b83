package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	"ratescope/model/safetext"
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
}

// App is the root of the program: it routes messages to an overlay, to its own keys, to the
// screen that is shown and to the host, and paints them. Make one with New, add screens with
// Register.
type App struct {
	surface
	stack
	clock clock
	life  *lifetime

	Options Options // how it looks
	theming theming
	Host    Host // what the program is about: set before Run
	keys    Actions
	mouse   bool
	used    history

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
	if o.Remember == nil {
		o.Remember = func(string, string) tea.Cmd { return nil }
	}
	a := &App{Options: o, Host: Bare(), mouse: o.Mouse}
	a.theming = theming{fixed: o.Theme != "", dark: true}
	theme := o.Shelf.Default(true)
	if a.theming.fixed {
		var err error
		if theme, err = o.Shelf.Find(o.Theme); err != nil {
			return nil, err
		}
	}
	a.setTheme(theme)
	a.life = &lifetime{}
	a.life.ctx, a.life.stop = context.WithCancel(ctx)
	return a, nil
}

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
	settings := append([]tea.ProgramOption{tea.WithContext(a.life.ctx), tea.WithFPS(a.Options.writes())}, extra...)
	var model tea.Model = guarded{m, a.life}
	if a.Options.Timed != nil {
		model = &timed{Model: model, report: a.Options.Timed}
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

// Frame is the time between two pictures at the highest rate that is allowed.
func (o *Options) Frame() time.Duration { return time.Second / time.Duration(o.FPS) }

// Show shows the screen of that name.
func (a *App) Show(name string) tea.Cmd {
	if i := slices.IndexFunc(a.screens, func(e entry) bool { return e.name == name }); i >= 0 {
		return a.show(i)
	}
	return nil
}

// show shows a screen, from which esc leads back to the one before; from the first it leads nowhere.
func (a *App) show(i int) tea.Cmd {
	a.stale = true
	if i == a.current {
		return nil
	}
	if i == 0 {
		a.past = a.past[:0]
	} else {
		a.past = append(a.past[max(0, len(a.past)-len(a.screens)):], a.current)
	}
	return a.change(i)
}

// change shows a screen without remembering the one before.
func (a *App) change(i int) tea.Cmd {
	left := a.at().Update(HiddenMsg{})
	a.current, a.stale = i, true
	return tea.Batch(left, a.layout(), a.at().Update(ShownMsg{}), a.Wake())
}

// lifetime is how long the program runs, and why it ended.
type lifetime struct {
	ctx     context.Context
	stop    context.CancelFunc
	failure error // why the program ended by itself
	once    sync.Once
	crashed atomic.Pointer[error] // a panic: set from any goroutine
}

// ended returns why the program ended, of which Bubble Tea says err; nil where a person quit.
func (l *lifetime) ended(err error) error {
	switch h := l.crashed.Load(); {
	case h != nil:
		return *h
	case l.failure != nil:
		return l.failure
	case errors.Is(err, tea.ErrProgramKilled) && l.ctx.Err() != nil:
		return l.ctx.Err()
	}
	return err
}

// crash ends the program by a panic, whose trace goes to a file. The first one counts. It is safe for
// concurrent use.
func (l *lifetime) crash(what any) {
	l.once.Do(func() {
		where := "its trace could not be written"
		if f, err := os.CreateTemp("", "ratescope-crash-*.txt"); err == nil {
			_, _ = fmt.Fprintf(f, "%v\n\n%s", what, debug.Stack())
			if f.Close() == nil {
				where = "please report it with " + f.Name()
			}
		}
		text := fmt.Sprintf("the screen came to a halt by a fault of its own (%s); %s.",
			safetext.Clip(safetext.Clean(fmt.Sprint(what)), 200, safetext.Ellipsis), where)
		err := errors.New(text)
		l.crashed.Store(&err)
		l.stop()
	})
}

// guarded is an App, or a Group, as the program runs it: a panic in what it does ends the program in
// order, with the terminal as it was and one sentence, not with a trace over the screen.
type guarded struct {
	of   tea.Model
	life *lifetime
}

// Init is the program's, with its commands guarded.
func (g guarded) Init() (cmd tea.Cmd) {
	defer g.caught()
	return g.guard(g.of.Init())
}

// Update is the program's, with its commands guarded.
func (g guarded) Update(msg tea.Msg) (m tea.Model, cmd tea.Cmd) {
	defer g.caught()
	m = g
	_, cmd = g.of.Update(msg)
	return g, g.guard(cmd)
}

// View is the program's; after a panic it is empty.
func (g guarded) View() (v tea.View) {
	defer g.caught()
	return g.of.View()
}

// guard returns cmd with its panics caught, and those of the commands it starts.
func (g guarded) guard(cmd tea.Cmd) tea.Cmd {
	return through(cmd, func(cmd tea.Cmd) tea.Msg {
		defer g.caught()
		return cmd()
	})
}

// through returns cmd as run carries it out, and so the commands that it starts.
func through(cmd tea.Cmd, run func(tea.Cmd) tea.Msg) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		msg := run(cmd)
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = through(batch[i], run)
			}
		}
		return msg
	}
}

// caught ends the program when what defers it panics.
func (g guarded) caught() {
	if what := recover(); what != nil {
		g.life.crash(what)
	}
}

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

// Folder returns the folder in which files are written, as "to /path"; "" when it is not known.
func Folder() string {
	folder, err := os.Getwd()
	if err != nil {
		return ""
	}
	return "to " + safetext.Clean(folder)
}

// Group is several programs in one terminal. One of them is shown and has the keyboard; all go on. Make it
// with NewGroup.
type Group struct {
	apps  []*App
	shown int
}

// NewGroup puts programs together, of which the first is shown. They end together.
func NewGroup(apps ...*App) *Group {
	g := &Group{apps: apps}
	for i, a := range apps {
		a.Group, a.keys = g, a.actions() // the host has other keys in a group
		if i > 0 {
			a.life.stop()
			a.life = apps[0].life
		}
	}
	return g
}

// Run shows the programs until a person quits or the context of the first ends.
func (g *Group) Run(extra ...tea.ProgramOption) error { return run(g, g.apps[0], extra) }

// Front shows a program of the group, on the screen on which the one before was. A nil group does nothing.
func (g *Group) Front(a *App) {
	if g.Shows(a) {
		return
	}
	was := g.apps[g.shown]
	g.shown, a.stale = slices.Index(g.apps, a), true
	a.current, a.past, a.mouse, a.theming.fixed = was.current, slices.Clone(was.past), was.mouse, was.theming.fixed
	a.setTheme(was.Canvas.Look.Theme)
	a.toast = was.toast
}

// Shows reports whether a program is the one that is shown, as the only one of a nil group is.
func (g *Group) Shows(a *App) bool { return g == nil || g.apps[g.shown] == a }

// groupMsg is a message of a command of one of the programs.
type groupMsg struct {
	to  *App
	msg tea.Msg
}

// Init is that of all programs.
func (g *Group) Init() tea.Cmd {
	all := collect.Map(g.apps, func(a *App) tea.Cmd { return addressed(a, a.Init()) })
	return tea.Batch(all...)
}

// Update gives what a person does to the program that is shown, what a command brings to its own, and what
// is of the terminal to all.
func (g *Group) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	hand := func(a *App, msg tea.Msg) {
		_, cmd := a.Update(msg)
		cmds = append(cmds, addressed(a, cmd))
	}
	switch m := msg.(type) {
	case groupMsg:
		hand(m.to, m.msg)
	case tea.KeyMsg, tea.MouseMsg, tea.PasteMsg:
		hand(g.apps[g.shown], msg)
	default:
		for _, a := range g.apps {
			hand(a, msg)
		}
	}
	if a := g.apps[g.shown]; a.stale {
		cmds = append(cmds, addressed(a, refresh(a)))
	}
	return g, tea.Batch(cmds...)
}

// View is that of the program that is shown.
func (g *Group) View() tea.View { return g.apps[g.shown].View() }

// addressed returns a command whose message comes back to the program that gave it. A message of Bubble
// Tea's own, such as one that quits, stays as it is.
func addressed(a *App, cmd tea.Cmd) tea.Cmd {
	return through(cmd, func(cmd tea.Cmd) tea.Msg {
		msg := cmd()
		if _, is := msg.(groupMsg); is || msg == nil || reflect.TypeOf(msg).PkgPath() == reflect.TypeFor[tea.BatchMsg]().PkgPath() {
			return msg
		}
		return groupMsg{a, msg}
	})
}
