package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/safetext"
)

// lifetime is how long the program runs, and why it ended. Make one with begin.
type lifetime struct {
	ctx     context.Context
	stop    context.CancelFunc
	failure error // why the program ended by itself
	once    sync.Once
	crashed atomic.Pointer[halt] // a panic: set from any goroutine
}

// begin returns a lifetime that ends when ctx does.
func begin(ctx context.Context) *lifetime {
	l := &lifetime{}
	l.ctx, l.stop = context.WithCancel(ctx)
	return l
}

// ended returns why the program ended, of which Bubble Tea says err; nil where a person quit.
func (l *lifetime) ended(err error) error {
	switch h := l.crashed.Load(); {
	case h != nil:
		return h
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
		l.crashed.Store(&halt{fmt.Sprintf("the screen came to a halt by a fault of its own (%s); %s.",
			safetext.Clip(safetext.Clean(fmt.Sprint(what)), 200, safetext.Ellipsis), where)})
		l.stop()
	})
}

// halt is a panic as an error.
type halt struct{ text string }

func (h *halt) Error() string { return h.text }

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
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer g.caught()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = g.guard(batch[i])
			}
		}
		return msg
	}
}

// caught ends the program when what defers it panics.
func (g guarded) caught() {
	what := recover()
	if what == nil {
		return
	}
	g.life.crash(what)
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
