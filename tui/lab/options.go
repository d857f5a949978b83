// Package lab is the teaching screen: a model/lab comparison on a clock in the viewer's
// hand. It needs no Redis and no network. It is a screen of tui/shell, among those of the
// dashboard or alone in a program of its own; its pictures are views, a file each.
package lab

import (
	"cmp"
	"context"
	"errors"
	"os"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// Options says what the lab shows and how. The zero Options teaches the lessons that come
// with the program.
type Options struct {
	Lessons []lab.Lesson // nil means lab.Lessons
	First   int          // the number of the lesson that is on screen first, from 0
	Shared  *lab.Shared  // a moment to open, in place of the beginning of a lesson; may be nil
	Trace   *lab.Trace   // recorded traffic that can be put in place of a lesson's; may be nil

	Redis lab.Redis // runs the scripts whose commands are shown; nil shows none

	// Save writes an exported file and must not overwrite one; nil writes it into the
	// current folder.
	Save func(name string, content []byte) error

	Memory   Memory             // what a person did before
	Remember func(Memory) error // keeps it, when the program ends; nil forgets it

	Class    Class          // the room that the lab belongs to; nil outside one
	Messages <-chan tea.Msg // more messages for the program, as of another terminal size; may be nil

	Look    shell.Options // themes, marks and pace; 0 FPS means 20. A class does not time its messages
	Present bool          // begin in presenter mode
	Play    bool          // show the first lesson's solution before it begins, to a person of whom there is no Memory
}

const defaultFPS = 20

// Run shows the lab until the user quits or ctx ends. Whatever happens, the terminal is
// left as it was.
func Run(ctx context.Context, o Options, extra ...tea.ProgramOption) error {
	app, s, err := program(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(app.Run(extra...), s.Keep())
}

// New returns a program that shows the lab alone.
func New(ctx context.Context, o Options) (*shell.App, error) {
	app, _, err := program(ctx, o)
	return app, err
}

func program(ctx context.Context, o Options) (*shell.App, *Screen, error) {
	o.Look.Name, o.Look.Mouse, o.Look.FPS = "ratescope lab", true, cmp.Or(o.Look.FPS, defaultFPS)
	app, err := shell.New(ctx, o.Look)
	if err != nil {
		return nil, nil, err
	}
	s, err := NewScreen(app, o)
	if err != nil {
		return nil, nil, err
	}
	app.SetHost(host{screen: s})
	app.Register("lab", "shows the lab", s)
	return app, s, nil
}

// SaveNew writes a file that does not exist yet.
func SaveNew(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// host is the lab as a program of its own.
type host struct {
	shell.Bare
	screen *Screen
}

// Init waits for what comes from outside.
func (h host) Init() tea.Cmd { return h.screen.class.relay(h.screen.app.Context()) }

// Legend is what the shapes of the lab mean.
func (h host) Legend(p *widget.Canvas) []widget.Span { return legend(p) }

// Decorate sets the title, and the progress of a seek.
func (h host) Decorate(v *tea.View) {
	v.WindowTitle = "ratescope lab " + safetext.Clip(safetext.Clean(h.screen.at().Title), 60, safetext.Ellipsis)
	if h.screen.seek != nil {
		v.ProgressBar = tea.NewProgressBar(tea.ProgressBarDefault, int(100*h.screen.seek.done(h.screen.run.Now())))
	}
}
