package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

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
