package session

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
)

// Visit shows a key on the dashboard at an instant of the past: it pauses the picture, with the
// cursor at that instant.
func (s *Session) Visit(key string, at limiter.Instant) tea.Cmd {
	if s.Board().Key(key) == nil {
		s.Say("That key is no longer on the board.")
		return nil
	}
	if !s.Replayed() && !s.Paused() {
		s.Pause()
	}
	s.Pick(key)
	s.Time.Visit(at)
	return s.Show("dashboard")
}

// ShowPlans marks on the timeline the instants at which requests will be fired at the selected key.
func (s *Session) ShowPlans(at []limiter.Instant) {
	s.Time.Plan(at)
	s.Redraw()
}

// SelectionMoved reports, once, whether the selected key is gone and another key is selected in its
// place, so that a request for the first one does not go to the other.
func (s *Session) SelectionMoved() bool {
	lost := s.TakeLost()
	if lost == "" {
		return false
	}
	s.Warn("Nothing was fired: " + s.Name(lost) + " is gone and " + s.Name(s.Selected()) + " is selected now; press again to fire at it.")
	return true
}
