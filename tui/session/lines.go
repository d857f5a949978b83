package session

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/model/rediscli"
)

// CopyLines puts the redis-cli lines that would free or reset the selected key on the
// clipboard. Nothing is run.
func (s *Session) CopyLines() tea.Cmd {
	k := s.Current()
	switch {
	case k == nil:
		return nil
	case s.Mask:
		s.Warn("The lines would name the key in full, which --mask hides.")
		return nil
	case s.Board().Server.Embedded:
		s.Warn("The embedded Redis has no address for redis-cli: fire at it, or press q.")
		return nil
	}
	s.Say("Copied: the redis-cli lines for " + s.Name(k.Reading.Key) + ". Read them before you run them.")
	return tea.SetClipboard(rediscli.Lines(&k.Reading, s.Board().Server, s.LiveAt()))
}
