package session

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/model/rediscli"
)

// CopyLines puts the redis-cli lines that would free or reset the selected key on the
// clipboard. Nothing is run.
func (s *Session) CopyLines() tea.Cmd {
	k := s.Selection.Current()
	switch {
	case k == nil:
		return nil
	case s.Options.Mask:
		s.Shell.Warn("The lines would name the key in full, which --mask hides.")
		return nil
	case s.Shown.Board().Server.Embedded:
		s.Shell.Warn("The embedded Redis has no address for redis-cli: fire at it, or press q.")
		return nil
	}
	s.Shell.Say("Copied: the redis-cli lines for " + s.Name(k.Reading.Key) + ". Read them before you run them.")
	return tea.SetClipboard(rediscli.Lines(&k.Reading, s.Shown.Board().Server, s.Shown.LiveAt()))
}
