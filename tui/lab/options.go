// Package lab is the teaching screen: a Bubble Tea program of its own that runs a
// model/lab comparison on a clock in the viewer's hand. It needs no Redis and no network.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/themes"
)

// Options says what the lab shows and how. The zero Options teaches the lessons that come
// with the program.
type Options struct {
	Lessons []lab.Lesson // nil means lab.Lessons
	First   int          // the number of the lesson that is on screen first, from 0
	Trace   *lab.Trace   // recorded traffic that can be put in place of a lesson's; may be nil

	// Save writes an exported file and must not overwrite one; nil writes it into the
	// current folder.
	Save func(name string, content []byte) error

	Shelf   themes.Shelf // the themes to choose from; nil means the built-in ones
	Theme   string       // "" picks by the terminal's background
	FPS     int          // frames a second; 0 means 20
	ASCII   bool         // no blocks, lines or dots beyond ASCII
	Still   bool         // no animation: the clock moves by steps and seeks alone
	Present bool         // begin in presenter mode
}

const (
	defaultFPS = 20
	maxFPS     = 60
)

// Run shows the lab until the user quits or ctx ends. Whatever happens, the terminal is
// left as it was.
func Run(ctx context.Context, o Options, extra ...tea.ProgramOption) error {
	l, err := New(o)
	if err != nil {
		return err
	}
	settings := append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithFPS(l.fps)}, extra...)
	_, err = tea.NewProgram(l, settings...).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// New returns the lab as a model, for a program that shows it among other screens. It
// ends with tea.Quit.
func New(o Options) (*Lab, error) {
	if o.FPS == 0 {
		o.FPS = defaultFPS
	}
	if o.FPS < 1 || o.FPS > maxFPS {
		return nil, fmt.Errorf("%d frames a second is not possible: use 1 to %d", o.FPS, maxFPS)
	}
	if o.Lessons == nil {
		var err error
		if o.Lessons, err = lab.Lessons(); err != nil {
			return nil, err
		}
	}
	if len(o.Lessons) == 0 {
		return nil, errors.New("there is nothing to teach: give a scenario file with at least one scenario")
	}
	if o.Save == nil {
		o.Save = SaveNew
	}
	l := &Lab{o: o, fps: o.FPS, tick: time.Second / time.Duration(o.FPS), mouse: true, speed: normalSpeed, zoom: 1, reached: map[string]bool{}, shelf: o.Shelf}
	if len(l.shelf.Names()) == 0 {
		l.shelf = themes.BuiltIn()
	}
	l.big, l.fixedTheme = o.Present, o.Theme != ""
	theme := l.shelf.Default(true)
	if l.fixedTheme {
		var err error
		if theme, err = l.shelf.Find(o.Theme); err != nil {
			return nil, err
		}
	}
	l.dress(theme)
	if err := l.open(o.First); err != nil {
		return nil, err
	}
	if l.at().Goal != nil && !l.big {
		l.screen = lessonText
	}
	return l, nil
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

func (l *Lab) dress(t *themes.Theme) {
	l.Dress(t, l.o.ASCII)
	l.stale = true
}

// Remind shows what goes on outside the lab on every screen of it; "" when nothing does.
// The text is to be clean.
func (l *Lab) Remind(remark string) {
	l.stale = l.stale || remark != l.remark
	l.remark = remark
}
