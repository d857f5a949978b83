package session

import (
	"fmt"
	"strconv"
	"time"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/themes"
	"ratescope/tui/chart"
)

// SetStep sets the time between two steps of the screen's timeline; 0 if it has none.
func (s *Session) SetStep(d time.Duration) { s.step = d }

// Pace returns the time to the next picture. Sending one to the terminal costs most here, so a
// picture comes with every step of the timeline, and between two steps in even parts of about five
// times the least that is allowed, which is half a second by default: numbers cannot be read any
// faster. While nothing moves but time, a picture comes at every full second.
func (s *Session) Pace() (wait time.Duration, idle bool) {
	now := int64(s.Shown.LiveAt())
	if s.Shell.Options().Still || s.idleScreen() {
		return time.Second - time.Duration(now%1e6)*time.Microsecond, true
	}
	frame := s.Shell.Frame()
	unhurried := 5 * frame
	quiet := s.Orders.Firing() == 0 && !s.Shown.Throttled() && s.Shown.Quiet() > 2*time.Second
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
	if !s.Shown.Started() || s.Shown.Live().Server.Link != model.Live || s.Orders.Firing() > 0 || s.Shown.Throttled() {
		return false
	}
	if k := s.Shown.Live().Key(s.Selection.Selected()); k != nil {
		if w := k.Timeline.Window(); s.step == 0 || w < 48*time.Second {
			return s.Shown.Quiet() > max(2*w, 3*time.Second)
		}
	}
	return s.Shown.Quiet() > 3*time.Second
}

// tick moves the clock on.
func (s *Session) tick(local time.Time) {
	s.Orders.WatchArming()
	changed, second := s.Shown.Tick(local)
	if changed {
		s.Shell.Redraw()
	}
	if second || changed && !s.Shell.Options().Still && s.Rows.Stirred() {
		s.Selection.Resort()
	}
}

// Pause pauses the picture, or continues it. The board is updated meanwhile.
func (s *Session) Pause() {
	if s.Shown.Pause() {
		s.Rows.Reorder()
	}
}

// SubtractInjected subtracts the requests fired from here from all figures, or shows them again. It
// says for which keys that is not possible.
func (s *Session) SubtractInjected() {
	of := s.Shown.Subtract()
	s.Rows.Rebind()
	switch {
	case !s.Shown.Subtracting():
		s.Shell.Say("The requests fired from here are in every figure again.")
	case of.Kept > 0:
		s.Shell.Say(fmt.Sprintf("Without what was fired from here at %s; at %d others it cannot be told apart, which their notes say.",
			format.Plural(of.Keys, "key"), of.Kept))
	case of.Keys == 0:
		s.Shell.Say("Nothing was fired from here so far; what is will be left out of every figure. The same key shows it again.")
	default:
		s.Shell.Say("Without what was fired from here, at " + format.Plural(of.Keys, "key") + ". The same key shows it again.")
	}
}

// Revisit shows a pause at the moment that its timeline looks at.
func (s *Session) Revisit() {
	if s.Shown.Revisit() {
		s.Rows.Reorder()
	}
}

// Scroll goes back or forward in time, and says so if nothing is known about any key at that time.
// From now it pauses first, in a replay it moves the replay.
func (s *Session) Scroll(earlier bool) {
	if !s.Shown.Paused() && !s.Shown.Replayed() {
		if !earlier {
			s.Shell.Say("This is now: ← goes back in time.")
			return
		}
		s.Pause()
	}
	s.Shown.Scroll(earlier, s.Selection.Current())
	s.Revisit()
	if earlier && !s.Shown.Replayed() && unwatched(s.Shown.Board().Totals()) && !unwatched(s.Shown.Live().Totals()) {
		s.Shell.Say("Nothing was watched yet at " + format.Clock(s.Shown.At()) + ": → goes on, p is now again.")
	}
}

// unwatched reports whether neither a level nor a request of any key is known.
func unwatched(t model.Totals) bool {
	return t.Keys > 0 && t.Unknown == t.Keys && t.DeniedKnown == 0 && t.Admitted == 0
}

// replayed returns the badge of a replay: where it is and how fast it goes.
func (s *Session) replayed(look chart.Look) (string, themes.Style) {
	p := s.Shown.Playback()
	where := minutes(p.Position()) + "/" + minutes(p.Length())
	switch {
	case p.Past:
		return "REPLAY " + where + " reading the past", look.BadgeWarn
	case p.Ended && p.CutOff != "":
		return "REPLAY " + where + " cut off here", look.BadgeWarn
	case p.Ended:
		return "REPLAY " + where + " end of recording", look.BadgeWarn
	case p.Paused:
		return "REPLAY " + where + " paused", look.BadgeWarn
	}
	return "REPLAY " + where + " " + speedText(p.Speed), look.BadgeLive
}

func speedText(v float64) string { return "×" + strconv.FormatFloat(v, 'g', 4, 64) }

// minutes prints a length of time as a player does.
func minutes(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
