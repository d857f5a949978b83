package session

import (
	"math"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// clock is the server's time on screen.
type clock struct {
	now       limiter.Instant // server clock at the last tick
	heard     limiter.Instant // server clock when it was last read,
	heardAt   time.Time       // and this machine's at that moment
	local     time.Time       // this machine's clock at the last tick
	started   bool            // a batch has come
	second    int64           // of the server's clock at the last sort
	moved     limiter.Instant // when something last arrived or changed
	throttled bool            // a key counts down to its next admission
	unread    int             // keys that seem at ease, by a reading that is too old to say so
	step      time.Duration   // how often the picture on screen moves; 0 it does not
}

// SetStep says how often the picture of the screen that is shown moves by itself.
func (s *Session) SetStep(d time.Duration) { s.step = d }

// listen takes over the server's clock from the board.
func (s *Session) listen() {
	if p := s.Player; p != nil {
		s.now = p.Now(s.local)
		return
	}
	if s.board.Server.Link != model.Live {
		return
	}
	s.heard, s.heardAt = s.board.At, s.board.Local
	s.now = max(s.now, s.heard)
	if s.now.Sub(s.heard) > time.Second {
		s.now = s.heard // the server's clock was set back; it rules
	}
}

// Pace is the time to the next picture. Sending one to the terminal costs most here, so
// there are as many as there are steps of the timeline to show, and else half as many as
// are allowed: numbers cannot be read any faster. While nothing moves but time, a picture
// comes at every full second.
func (s *Session) Pace() (wait time.Duration, idle bool) {
	if s.Still || s.idleScreen() {
		return time.Second - time.Duration(int64(s.now)%1e6)*time.Microsecond, true
	}
	frame := s.Frame()
	unhurried := 2 * frame
	quiet := s.Firing() == 0 && !s.throttled && s.now.Sub(s.moved) > 2*time.Second
	switch {
	case s.step > unhurried && quiet: // at the very moment of the step
		return max(frame, min(s.step-time.Duration(s.now)*time.Microsecond%s.step, time.Second)), false
	case s.step > 0:
		return max(frame, min(s.step, unhurried)), false
	}
	return unhurried, false
}

// idleScreen says that nothing on screen changes faster than its clock: nothing arrives, no
// column moves within a second, nothing counts down.
func (s *Session) idleScreen() bool {
	if !s.started || s.board.Server.Link != model.Live || s.Firing() > 0 || s.throttled {
		return false
	}
	quiet := s.now.Sub(s.moved)
	if k := s.board.Key(s.selected); k != nil {
		if w := k.Timeline.Window(); s.step == 0 || w < 48*time.Second {
			return quiet > max(2*w, 3*time.Second)
		}
	}
	return quiet > 3*time.Second
}

// Tick moves the clock on.
func (s *Session) Tick(local time.Time) {
	s.local = local
	s.WatchArming()
	if !s.started {
		return
	}
	if p := s.Player; p != nil {
		s.now = p.Now(local)
	} else if s.heard != 0 { // the server's clock goes on while it is away
		s.now = max(s.now, s.heard.Add(local.Sub(s.heardAt)))
	}
	if s.frozen != nil {
		return
	}
	if s.board.Server.Link == model.Live { // else what was last known stays
		s.board.Refresh(s.now)
	}
	s.Redraw()
	// What is renewed once a second changes together with the clock: a calm screen is
	// drawn once a second.
	if second := int64(s.now) / 1e6; second != s.second {
		s.second = second
		s.resort()
		s.throttled = s.board.Totals().Throttled > 0
		s.unread = s.stalled()
		s.server = s.board.Server
	}
}

// staleAfter is how old a reading may be before it counts as the past.
const staleAfter = 5 * time.Second

// Outdated says how old the key's reading is and whether that is too old to be shown as now.
func (s *Session) Outdated(k *model.Watched) (age time.Duration, yes bool) {
	age = s.At().Sub(k.Reading.At)
	return age, age > staleAfter || s.Board().Server.Link == model.Down
}

// stalled counts the keys whose reading is too old to call them at ease.
func (s *Session) stalled() int {
	if s.Board().Server.Link == model.Down {
		return s.board.AtEase(math.MaxInt64)
	}
	return s.board.AtEase(s.At().Add(-staleAfter))
}

// Paused reports whether the picture stands still.
func (s *Session) Paused() bool { return s.frozen != nil }

// Pause freezes the picture, or lets it go on; the board collects underneath.
func (s *Session) Pause() {
	if p := s.Player; p != nil {
		p.Pause()
		s.now = p.Now(s.local)
		return
	}
	s.Time.Now()
	s.Time.Leave()
	if s.frozen != nil {
		s.frozen, s.paused = nil, nil
	} else if s.started {
		s.board.Refresh(s.now)
		s.paused = s.board.Freeze(s.now)
		s.frozen = s.paused
	}
	s.Reorder()
}

// Scroll goes back in time, or forward. In a replay it moves the replay.
func (s *Session) Scroll(earlier bool) {
	if p := s.Player; p != nil {
		step := s.seekStep()
		if earlier {
			step = -step
		}
		p.Seek(p.Now(s.local).Add(step))
		s.now = p.Now(s.local)
		return
	}
	s.Time.Scroll(earlier)
}

// CanScroll says why time cannot be scrolled; "" when it can.
func (s *Session) CanScroll() string {
	if s.frozen == nil && s.Player == nil {
		return "Press p to pause; then ← and → scroll in time."
	}
	return ""
}
