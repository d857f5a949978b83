package session

import (
	"fmt"
	"time"

	"ratescope/model"
	"ratescope/tui/format"
)

// SetStep sets the time between two steps of the screen's timeline; 0 if it has none.
func (s *Session) SetStep(d time.Duration) { s.step = d }

// Pace returns the time to the next picture. Sending one to the terminal costs most here, so a
// picture comes with every step of the timeline, and between two steps in even parts of about five
// times the least that is allowed, which is half a second by default: numbers cannot be read any
// faster. While nothing moves but time, a picture comes at every full second.
func (s *Session) Pace() (wait time.Duration, idle bool) {
	now := int64(s.LiveAt())
	if s.App.Options().Still || s.idleScreen() {
		return time.Second - time.Duration(now%1e6)*time.Microsecond, true
	}
	frame := s.Frame()
	unhurried := 5 * frame
	quiet := s.Firing() == 0 && !s.Throttled() && s.Quiet() > 2*time.Second
	switch {
	case s.step > unhurried && quiet: // at the very moment of the step
		return max(frame, min(s.step-time.Duration(now)*time.Microsecond%s.step, time.Second)), false
	case s.step > 0: // so that the picture moves evenly
		parts := max((s.step+unhurried/2-1)/unhurried, 1) // rounded, a half downwards
		part := s.step / parts
		return max(frame, part-time.Duration(now)*time.Microsecond%part), false
	}
	return unhurried, false
}

// idleScreen reports whether nothing on screen changes more often than its clock: no request
// arrives, no column moves within a second, and nothing counts down.
func (s *Session) idleScreen() bool {
	if !s.Started() || s.Live().Server.Link != model.Live || s.Firing() > 0 || s.Throttled() {
		return false
	}
	if k := s.Live().Key(s.Selected()); k != nil {
		if w := k.Timeline.Window(); s.step == 0 || w < 48*time.Second {
			return s.Quiet() > max(2*w, 3*time.Second)
		}
	}
	return s.Quiet() > 3*time.Second
}

// Tick moves the clock on.
func (s *Session) Tick(local time.Time) {
	s.WatchArming()
	changed, second := s.Boards.Tick(local)
	if changed {
		s.Redraw()
	}
	if second {
		s.Resort()
	}
}

// Pause pauses the picture, or continues it. The board is updated meanwhile.
func (s *Session) Pause() {
	if s.Boards.Pause() {
		s.Reorder()
	}
}

// SubtractInjected subtracts the requests fired from here from all figures, or shows them again. It
// says for which keys that is not possible.
func (s *Session) SubtractInjected() {
	of := s.Subtract()
	s.Rebind()
	switch {
	case !s.Subtracting():
		s.Say("The requests fired from here are in every figure again.")
	case of.Kept > 0:
		s.Say(fmt.Sprintf("Without what was fired from here at %s; at %d others it cannot be told apart, which their notes say.", format.Plural(of.Keys, "key"), of.Kept))
	case of.Keys == 0:
		s.Say("Nothing was fired from here so far; what is will be left out of every figure. The same key shows it again.")
	default:
		s.Say("Without what was fired from here, at " + format.Plural(of.Keys, "key") + ". The same key shows it again.")
	}
}

// Revisit shows a pause at the moment that its timeline looks at.
func (s *Session) Revisit() {
	if s.Boards.Revisit() {
		s.Rebind()
	}
}

// Scroll goes back or forward in time, and says so if nothing is known about any key at that time.
// In a replay it moves the replay.
func (s *Session) Scroll(earlier bool) {
	s.Boards.Scroll(earlier, s.Current())
	s.Revisit()
	if earlier && !s.Replayed() && unwatched(s.Board().Totals()) && !unwatched(s.Live().Totals()) {
		s.Say("Nothing was watched yet at " + format.Clock(s.At()) + ": → goes on, p is now again.")
	}
}

// unwatched reports whether neither a level nor a request of any key is known.
func unwatched(t model.Totals) bool {
	return t.Keys > 0 && t.Unknown == t.Keys && t.DeniedKnown == 0 && t.Admitted == 0
}
