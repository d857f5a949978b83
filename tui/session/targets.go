package session

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/tui/shell"
)

// openTargets lists the commands that watch another Redis. Enter copies one; none of them is run.
func (s *Session) openTargets() tea.Cmd {
	p := s.Shell.NewPicker("watch another Redis: enter copies", []shell.Choice{
		{Name: "ratescope --redis redis://HOST:6379", What: "watches the limiters that it finds"},
		{Name: "ratescope --redis redis://HOST:6379 --watch 'rl:*' --limit 100/1m", What: "names your own keys"},
		{Name: "ratescope identify --redis redis://HOST:6379", What: "lists the limiters there"},
		{Name: "ratescope", What: "the demo on its own Redis"},
	})
	p.Chosen = func(c shell.Choice) tea.Cmd {
		s.Shell.Say("Copied: " + c.Name)
		return tea.SetClipboard(c.Name)
	}
	s.Shell.Open(p)
	return nil
}
