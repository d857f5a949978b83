package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
	"ratescope/tui/shell"
)

// Film is a stretch of a story that is drawn without a terminal. Its time is the story's own, so
// that the same options draw the same picture every time.
type Film struct {
	Width, Height int           // of the terminal, in cells
	From          time.Duration // where it begins on the clock of the story
	For           time.Duration // how long it is; 0 is up to the end of what is known
}

// Bounds of a film.
const (
	filmFrames  = 36_000 // an hour
	perSecond   = 10     // pictures
	filmLargest = 1000   // columns or rows
)

// check says what is wrong with a film.
func (f Film) check() error {
	switch {
	case f.Width < shell.MinWidth || f.Height < shell.MinHeight || f.Width > filmLargest || f.Height > filmLargest:
		return fmt.Errorf("a picture of %dx%d is not possible: use %dx%d to %dx%d", f.Width, f.Height, shell.MinWidth, shell.MinHeight,
			filmLargest, filmLargest)
	case f.From < 0 || f.For < 0:
		return errors.New("a film begins at 0 s or later, and goes on: give times above 0")
	}
	return nil
}

// projector draws the lab of some options at one moment after another.
type projector struct {
	app    *shell.App
	screen *Screen
	end    time.Duration // of what is known: the last request by hand, or where the lab was shared
}

// newProjector opens the lab: on the story of a shared moment with what was fired in it, else on
// a lesson with its own solution.
func newProjector(ctx context.Context, o Options, f Film) (*projector, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	shared := o.Shared
	o.Shared, o.Memory = nil, Memory{}
	app, s, err := program(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &projector{app: app, screen: s}
	fired := solution(s.at(), s.run.Setup().Zero)
	if shared != nil {
		fired, p.end = shared.Fired, shared.Now.Sub(shared.Setup.Zero)
		still := *shared
		still.Fired, still.Now = nil, shared.Setup.Zero
		if err := s.openShared(still); err != nil {
			return nil, err
		}
		if s.shows("quiz") { // a question has a run of its own
			s.view("compare")
		}
	} else {
		if n := len(fired); n > 0 {
			p.end = fired[n-1].At.Sub(s.run.Setup().Zero)
		}
		p.end = max(p.end+s.run.Setup().Limit.Window/5, s.at().Length())
		s.view("compare")
	}
	s.past, s.clock.playing, s.due = nil, true, fired
	app.Update(tea.WindowSizeMsg{Width: f.Width, Height: f.Height})
	return p, nil
}

// frame moves the story on to a moment and draws it.
func (p *projector) frame(at time.Duration) string {
	to := p.screen.run.Setup().Zero.Add(at)
	p.screen.advanceTo(to)
	p.screen.app.Redraw()
	p.app.Update(nil)
	return p.app.View().Content
}

// Pictures are the forms that a picture can have, by the ending of a file's name.
var Pictures = map[string]func(*shell.App) string{
	".svg": svgOf,
	".ans": ansiOf,
	".txt": func(app *shell.App) string { return app.Canvas.Buffer.Plain() + "\n" },
}

// ansiOf is the picture as a terminal shows it when the file is written to it.
func ansiOf(app *shell.App) string {
	return strings.ReplaceAll(app.Canvas.Buffer.String(), "\n", "\x1b[0m\n") + "\x1b[0m\n"
}

// Picture draws the moment at which a film begins in one of the forms of Pictures; 0 of a shared moment is that moment
// itself.
func Picture(ctx context.Context, o Options, f Film, form string) (string, error) {
	p, err := newProjector(ctx, o, f)
	if err != nil {
		return "", err
	}
	at := f.From
	if at == 0 && o.Shared != nil {
		at = p.end
	}
	p.screen.clock.playing = false
	p.frame(at)
	return Pictures[form](p.app), nil
}

// Cast writes a film as an asciicast of version 2, which asciinema and others play. A picture
// that is like the one before is left out, and of others only the rows that changed are written.
func Cast(ctx context.Context, o Options, f Film, to io.Writer) error {
	p, err := newProjector(ctx, o, f)
	if err != nil {
		return err
	}
	if f.For == 0 {
		f.For = p.end - f.From
	}
	frames := int(f.For*perSecond/time.Second) + 1
	if f.For <= 0 || frames > filmFrames {
		return fmt.Errorf("a film of %v is not possible here: say how long it is, up to an hour", f.For)
	}
	w := bufio.NewWriter(to)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	head := struct {
		Version int               `json:"version"`
		Width   int               `json:"width"`
		Height  int               `json:"height"`
		Title   string            `json:"title"`
		Env     map[string]string `json:"env"`
	}{2, f.Width, f.Height, "ratescope lab: " + p.screen.at().Title, map[string]string{"TERM": "xterm-256color"}}
	if err := enc.Encode(head); err != nil {
		return err
	}
	var before []string
	for i := range frames {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		at := time.Duration(i) * time.Second / perSecond
		rows := strings.Split(p.frame(f.From+at), "\n")
		if changed := rewrite(before, rows); changed != "" {
			if err := enc.Encode([]any{at.Seconds(), "o", changed}); err != nil {
				return err
			}
		}
		before = rows
	}
	return w.Flush()
}

// rewrite returns what makes one picture of another on a terminal.
func rewrite(before, after []string) string {
	var b strings.Builder
	if before == nil {
		b.WriteString("\x1b[?25l\x1b[2J")
	}
	for y, row := range after {
		if y >= len(before) || before[y] != row {
			fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[0m", y+1, row)
		}
	}
	return b.String()
}

// svgOf is the picture for a browser.
func svgOf(app *shell.App) string {
	b := &app.Canvas.Buffer
	return cell.Document(b.W, b.H, app.Canvas.Look.Dark, "", strings.Join(b.SVG(), ""))
}
