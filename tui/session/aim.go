package session

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
)

// Visit shows a key on the dashboard as it was at an instant: the picture is paused with the
// cursor there.
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

// ShowPlans marks on the timeline when requests will be fired at the selected key.
func (s *Session) ShowPlans(at []limiter.Instant) {
	s.Time.Plan(at)
	s.Redraw()
}

// SelectionMoved says, once, that the selected key went away and another one stands in its place:
// a request that was meant for the one must not reach the other.
func (s *Session) SelectionMoved() bool {
	lost := s.TakeLost()
	if lost == "" {
		return false
	}
	s.Warn("Nothing was fired: " + s.Name(lost) + " is gone and " + s.Name(s.Selected()) + " is selected now; press again to fire at it.")
	return true
}
