package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
)

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
