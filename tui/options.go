// Package tui is the screen: a Bubble Tea program that shows a model.Board moving and
// hands orders to fire to an injector. It knows no Redis; what it shows comes in as
// batches and what it wants goes out through the functions of Options.
package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/themes"
)

// Injector fires synthetic requests. It decides alone what may be fired.
type Injector interface {
	// Armed returns nil when firing is allowed, else a sentence that says why not and
	// how to allow it.
	Armed() error
	// Fire blocks until the shot is done or ctx ends, and reports every request.
	Fire(ctx context.Context, s model.Shot, report func(model.Fired)) (model.Tally, error)
}

// Options says what a dashboard shows and how.
type Options struct {
	Take     func(context.Context) (model.Batch, error) // waits for the next batch
	Focus    func(keys []string)                        // told which keys are on screen; may be nil
	Injector Injector                                   // nil: firing is not possible

	// Export keeps what is on the board and says where; nil: that is not possible.
	Export func(model.Batch) (path string, err error)

	// Player, when what is shown is a replay, is what plays it; Take hands out its batches.
	Player Player
	// Record begins to keep what is seen in a new file; nil: that is not possible.
	Record func() (r Recorder, name string, err error)

	// Save keeps a moment of the lab under a name; nil: that is not possible.
	Save func(name string, content []byte) error

	Shelf themes.Shelf // the themes to choose from; nil means the built-in ones
	Theme string       // "" picks by the terminal's background
	FPS   int          // frames a second; 0 means 10
	ASCII bool         // no blocks, lines or dots beyond ASCII
	Still bool         // no animation: the picture changes once a second
	Mask  bool         // hide the middle of key names
}

const (
	defaultFPS = 10
	maxFPS     = 60
)

// Run shows the dashboard until the user quits or ctx ends. Whatever happens, the
// terminal is left as it was. It returns tea.ErrInterrupted's cause on a signal.
func Run(ctx context.Context, o Options, extra ...tea.ProgramOption) error {
	app, err := newApp(ctx, o)
	if err != nil {
		return err
	}
	defer app.stop()
	settings := append([]tea.ProgramOption{tea.WithContext(app.ctx), tea.WithFPS(app.fps)}, extra...)
	_, err = tea.NewProgram(guarded{app}, settings...).Run()
	if app.recorder != nil {
		_, failed := app.recorder.Close()
		err = cmp.Or(err, failed)
	}
	if h := app.crashed.Load(); h != nil {
		return h
	}
	if app.failure != nil {
		return app.failure
	}
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func newApp(ctx context.Context, o Options) (*App, error) {
	if o.FPS == 0 {
		o.FPS = defaultFPS
	}
	if o.FPS < 1 || o.FPS > maxFPS {
		return nil, fmt.Errorf("%d frames a second is not possible: use 1 to %d", o.FPS, maxFPS)
	}
	if o.Shelf == nil {
		o.Shelf = themes.BuiltIn()
	}
	a := &App{o: o, fps: o.FPS, mouse: true, burst: 10, perSecond: 5, keep: &inbox{wake: make(chan struct{}, 1)}}
	a.ctx, a.stop = context.WithCancel(ctx)
	a.tick = time.Second / time.Duration(o.FPS)
	a.fixedTheme = o.Theme != ""
	theme := o.Shelf.Default(true)
	if a.fixedTheme {
		var err error
		if theme, err = o.Shelf.Find(o.Theme); err != nil {
			return nil, err
		}
	}
	a.dress(theme)
	return a, nil
}
