package lab

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
)

// save writes the moment to a file.
func (l *Lab) save(asScenario bool) tea.Cmd {
	id := l.at().ID + "-" + strings.ReplaceAll(strings.TrimSuffix(lab.Seconds(l.run.Elapsed()), " s"), ".", "_")
	name, content := id+".md", []byte(lab.Markdown(l.at().Title, l.run))
	if asScenario {
		var err error
		if content, err = lab.ScenarioFile(id, l.run); err != nil {
			l.say(true, "Not saved: "+err.Error()+".")
			return nil
		}
		name = id + ".json"
	}
	name = safeName(name)
	write := l.o.Save
	return func() tea.Msg { return savedMsg{name, write(name, content)} }
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
func (l *Lab) copyScript() tea.Cmd {
	s := l.run.Setup()
	c := s.Contenders[l.focus]
	m := l.moment()
	text, err := lab.Script(c, m, s)
	if err != nil {
		text = strings.Join(lab.Commands(c, m, s), "\n")
	}
	l.say(false, "Copied the Redis script of this step of "+c.String()+".")
	return tea.SetClipboard(text)
}
