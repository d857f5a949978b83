package session

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
)

// Visit shows a key on the dashboard at an instant of the past: it pauses the picture, with the
// cursor at that instant.
func (s *Session) Visit(key string, at limiter.Instant) tea.Cmd {
	if s.Shown.Board().Key(key) == nil {
		s.Shell.Say("That key is no longer on the board.")
		return nil
	}
	if !s.Shown.Replayed() && !s.Shown.Paused() {
		s.Pause()
	}
	s.Selection.Pick(key)
	s.Shown.Time.Visit(at)
	return s.Shell.Show("dashboard")
}

// aim is what firing knows of the keys of a session: it implements firing.Keys.
type aim struct{ s *Session }

// Live returns the board that goes on collecting behind a pause.
func (a aim) Live() *model.Board { return a.s.Shown.Live() }

// LiveAt returns the instant of the live board, on the server's clock.
func (a aim) LiveAt() limiter.Instant { return a.s.Shown.LiveAt() }

// Paused reports whether the picture stands still.
func (a aim) Paused() bool { return a.s.Shown.Paused() }

// Age returns how long ago the instant on screen was.
func (a aim) Age() time.Duration { return a.s.Shown.Age() }

// Selected returns the selected key; "" for none.
func (a aim) Selected() string { return a.s.Selection.Selected() }

// Group returns the group under the cursor; "" if the cursor is on a key.
func (a aim) Group() string { return a.s.Selection.Group() }

// Fired marks a request on the live board, and hands it to the files that are written.
func (a aim) Fired(f model.Fired) {
	a.s.Shown.Live().Mark(f)
	a.s.Files.Fired(f)
}

// ShowPlans marks on the timeline the instants at which requests will be fired at the selected key.
func (a aim) ShowPlans(at []limiter.Instant) {
	a.s.Shown.Time.Plan(at)
	a.s.Shell.Redraw()
}

// SelectionMoved reports, once, whether the selected key is gone and another key is selected in its
// place, so that a request for the first one does not go to the other.
func (a aim) SelectionMoved() bool {
	lost := a.s.Selection.TakeLost()
	if lost == "" {
		return false
	}
	now := a.s.Selection.Selected()
	a.s.Shell.Warn("Nothing was fired: " + a.s.Name(lost) + " is gone and " + a.s.Name(now) + " is selected now; press again to fire at it.")
	return true
}
