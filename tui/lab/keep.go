package lab

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
)

// export writes the moment to a file.
func (s *Screen) export(asScenario bool) tea.Cmd {
	id := s.momentName()
	name, content := id+".md", []byte(lab.Markdown(s.at().Title, s.run))
	if asScenario && strings.HasPrefix(s.at().ID, lab.IncidentID) && !s.firedByHand() {
		name, content = s.at().ID+".json", s.at().File() // the lesson with its text and its question
	} else if asScenario {
		var err error
		if content, err = lab.ScenarioFile(id, s.run); err != nil {
			s.Warn("Not saved: " + err.Error() + ".")
			return nil
		}
		name = id + ".json"
	}
	name = safeName(name)
	write := s.save
	return func() tea.Msg { return savedMsg{name, write(name, content)} }
}

// firedByHand reports whether a person has added requests to the story.
func (s *Screen) firedByHand() bool { return len(s.moment().Fired) > 0 }

// momentName is what a file about the moment on screen is called.
func (s *Screen) momentName() string {
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
func (s *Screen) copyScript() tea.Cmd {
	setup := s.run.Setup()
	c := setup.Candidates[s.focus]
	m := s.run.Ask(s.focus, s.cost())
	if d, ok := s.views[s.current].(*decisionView); ok {
		m = d.moment(s)
	}
	text, err := lab.Script(c, m, setup)
	if err != nil {
		text = strings.Join(lab.CommandLines(c, m, setup), "\n")
	}
	s.Say("Copied the Redis script of this step of " + c.String() + ".")
	return tea.SetClipboard(text)
}
