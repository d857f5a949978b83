package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
)

// Shot is one moment of a story that is drawn without a terminal. Its time is the story's own, so
// that the same options draw the same picture every time.
type Shot struct {
	Width, Height int           // of the terminal, in cells
	At            time.Duration // on the clock of the story
}

// largestShot is how many columns or rows a picture has at most.
const largestShot = 1000

// check says what is wrong with a shot.
func (f Shot) check() error {
	switch {
	case f.Width < shell.MinWidth || f.Height < shell.MinHeight || f.Width > largestShot || f.Height > largestShot:
		return fmt.Errorf("a picture of %dx%d is not possible: use %dx%d to %dx%d", f.Width, f.Height, shell.MinWidth, shell.MinHeight,
			largestShot, largestShot)
	case f.At < 0:
		return errors.New("a story begins at 0 s: give a time of 0 or more")
	}
	return nil
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

// Picture draws a moment in one of the forms of Pictures: of a lesson with its own solution, or of the story of a shared
// moment with what was fired in it, where 0 is that moment itself.
func Picture(ctx context.Context, o Options, f Shot, form string) (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	shared := o.Shared
	o.Shared, o.Memory = nil, Memory{}
	app, s, err := program(ctx, o)
	if err != nil {
		return "", err
	}
	fired := solution(s.at(), s.run.Setup().Zero)
	if shared != nil {
		fired = shared.Fired
		f.At = cmp.Or(f.At, shared.Now.Sub(shared.Setup.Zero))
		still := *shared
		still.Fired, still.Now = nil, shared.Setup.Zero
		if err := s.openShared(still); err != nil {
			return "", err
		}
		if s.shows("quiz") { // a question has a run of its own
			s.view("compare")
		}
	} else {
		s.view("compare")
	}
	s.past, s.due = nil, fired
	app.Update(tea.WindowSizeMsg{Width: f.Width, Height: f.Height})
	s.advanceTo(s.run.Setup().Zero.Add(f.At), math.MaxInt)
	s.app.Redraw()
	app.Update(nil)
	app.View()
	return Pictures[form](app), nil
}

// svgOf is the picture for a browser.
func svgOf(app *shell.App) string {
	b := &app.Canvas.Buffer
	return cell.Document(b.W, b.H, app.Canvas.Look.Dark, "", strings.Join(b.SVG(), ""))
}

// exportMoment writes the moment on screen to a file.
func exportMoment(s *Screen, asScenario bool) tea.Cmd {
	id := fileName(s)
	name, form, content := id, ".md", []byte(lab.Markdown(s.at().Title, s.run, s.redis))
	if asScenario && strings.HasPrefix(s.at().ID, lab.IncidentID) && len(s.moment().Fired) == 0 {
		name, form, content = s.at().ID, ".json", s.at().File() // the lesson with its text and its question
	} else if asScenario {
		var err error
		if content, err = lab.ScenarioFile(id, s.run); err != nil {
			return s.app.Warn("Not saved: " + err.Error() + ".")
		}
		form = ".json"
	}
	name = safeName(name)
	return func() tea.Msg { return saved(s.save, name, form, content) }
}

// mostNames is how many names are tried for a file.
const mostNames = 100

// saved writes a file under a name that none has yet.
func saved(save func(name string, content []byte) error, name, form string, content []byte) savedMsg {
	for n := 1; ; n++ {
		free := name + form
		if n > 1 {
			free = fmt.Sprintf("%s-%d%s", name, n, form)
		}
		if err := save(free, content); n == mostNames || !errors.Is(err, fs.ErrExist) {
			return savedMsg{free, err}
		}
	}
}

// fileName is what a file about the moment on screen is called.
func fileName(s *Screen) string {
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
func copyScript(s *Screen) tea.Cmd {
	m := s.run.Ask(s.focus, s.cost())
	if d, ok := s.front().(*decisionView); ok {
		m = d.moment(s)
	}
	text, err := m.Script()
	if err != nil {
		text = strings.Join(m.CommandLines(s.redis), "\n")
	}
	s.app.Say("Copied the Redis script of this step of " + m.Candidate.String() + ".")
	return tea.SetClipboard(text)
}

// copyMoment puts a line on the clipboard that opens the moment on screen.
func copyMoment(s *Screen) tea.Cmd {
	line, err := s.moment().Line()
	if err != nil {
		s.fail(err)
		return nil
	}
	s.app.Say("Copied. Open it with: ratescope lab '" + line[:min(len(line), 12)] + "…'")
	return tea.SetClipboard("ratescope lab '" + line + "'")
}

// exportPicture keeps the picture on screen in two files, for a browser and for a terminal.
func exportPicture(s *Screen) tea.Cmd {
	name, svg, ansi := safeName(fileName(s)), svgOf(s.app), ansiOf(s.app)
	return func() tea.Msg {
		first := saved(s.save, name, ".svg", []byte(svg))
		second := saved(s.save, name, ".ans", []byte(ansi))
		return savedMsg{first.name + " and " + second.name, errors.Join(first.err, second.err)}
	}
}

// moment returns what is on screen, so that another lab can open it.
func (s *Screen) moment() lab.Shared {
	m := lab.MomentOf(s.run)
	m.Lesson, m.Traffic, m.Recorded, m.Seed = *s.at(), s.traffic, s.recorded, s.seed
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
