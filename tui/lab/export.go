package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
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

// exports is what leaves the lab: files, and text on the clipboard.
type exports struct {
	s    *Screen
	save func(name string, content []byte) error
}

// moment writes the moment on screen to a file.
func (e *exports) moment(asScenario bool) tea.Cmd {
	s := e.s
	id := e.name()
	name, form, content := id, ".md", []byte(lab.Markdown(s.at().Title, s.run, s.redis))
	if asScenario && strings.HasPrefix(s.at().ID, lab.IncidentID) && len(s.moment().Fired) == 0 {
		name, form, content = s.at().ID, ".json", s.at().File() // the lesson with its text and its question
	} else if asScenario {
		var err error
		if content, err = lab.ScenarioFile(id, s.run); err != nil {
			s.app.Warn("Not saved: " + err.Error() + ".")
			return nil
		}
		form = ".json"
	}
	name = safeName(name)
	return func() tea.Msg { return e.keep(name, form, content) }
}

// mostNames is how many names are tried for a file.
const mostNames = 100

// keep writes a file under a name that none has yet.
func (e *exports) keep(name, form string, content []byte) savedMsg {
	for n := 1; ; n++ {
		free := name + form
		if n > 1 {
			free = fmt.Sprintf("%s-%d%s", name, n, form)
		}
		if err := e.save(free, content); n == mostNames || !errors.Is(err, fs.ErrExist) {
			return savedMsg{free, err}
		}
	}
}

// name is what a file about the moment on screen is called.
func (e *exports) name() string {
	s := e.s
	return s.at().ID + "-" + strings.ReplaceAll(strings.TrimSuffix(lab.Seconds(s.run.Elapsed()), " s"), ".", "_")
}

// safeName keeps of a scenario's id what belongs in a file name.
func safeName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, strings.TrimLeft(s, "."))
}

// copyScript puts the script of the inspected step on the clipboard.
func (e *exports) copyScript() tea.Cmd {
	s := e.s
	setup := s.run.Setup()
	c := setup.Candidates[s.focus]
	m := s.run.Ask(s.focus, s.cost())
	if d, ok := s.front().(*decisionView); ok {
		m = d.moment(s)
	}
	text, err := lab.Script(c, m, setup)
	if err != nil {
		text = strings.Join(lab.CommandLines(s.redis, c, m, setup), "\n")
	}
	s.app.Say("Copied the Redis script of this step of " + c.String() + ".")
	return tea.SetClipboard(text)
}

// copyMoment puts a line on the clipboard that opens the moment on screen.
func (e *exports) copyMoment() tea.Cmd {
	s := e.s
	line, err := s.moment().Line()
	if err != nil {
		s.fail(err)
		return nil
	}
	s.app.Say("Copied. Open it with: ratescope lab '" + line[:min(len(line), 12)] + "…'")
	return tea.SetClipboard("ratescope lab '" + line + "'")
}

// picture keeps the picture on screen in two files, for a browser and for a terminal.
func (e *exports) picture() tea.Cmd {
	s := e.s
	name, svg, ansi := safeName(e.name()), svgOf(s.app), ansiOf(s.app)
	return func() tea.Msg {
		first := e.keep(name, ".svg", []byte(svg))
		second := e.keep(name, ".ans", []byte(ansi))
		return savedMsg{first.name + " and " + second.name, errors.Join(first.err, second.err)}
	}
}

// moment returns what is on screen, so that another lab can open it.
func (s *Screen) moment() lab.Shared {
	m := lab.MomentOf(s.run)
	m.Lesson, m.Traffic, m.Seed = *s.at(), s.traffic, s.seed
	m.View, m.Selected = s.front().name(), s.focus
	return m
}

// openShared shows a moment of another lab. Its lesson is added where there is none of that
// name.
func (s *Screen) openShared(m lab.Shared) error {
	i := slices.IndexFunc(s.lessons, func(l lab.Lesson) bool { return l.ID == m.Lesson.ID })
	if i < 0 {
		i, s.lessons = len(s.lessons), append(slices.Clone(s.lessons), m.Lesson)
	}
	s.lesson = i
	s.traffic, s.seed, s.key, s.recorded = m.Traffic, m.Seed, 0, false
	s.burst = int(min(max(m.Setup.Limit.Count, 1), maxBurst))
	if err := s.restart(m.Setup); err != nil {
		return err
	}
	m.Play(s.run)
	s.focus, s.zoom, s.past = m.Selected, 0, nil
	s.renew()
	s.view(m.View)
	if s.shows("quiz") {
		s.show("quiz")
	}
	return nil
}
