package session

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
	"ratescope/tui/keymap"
)

// Arming is what stands between a key press and a server of others: firing has to be armed, and
// each order confirmed.
type Arming interface {
	Arming() arming.Status
	// Arm blocks until the server has said who it is.
	Arm(ctx context.Context) error
	Disarm()
	// Meet says what is known about the server with every batch.
	Meet(s model.Server)
	// Preview returns the commands that a shot is sent as, one for each kind, and Keys the keys
	// that it may write to.
	Preview(ctx context.Context, s model.Order) ([]string, error)
	Keys(s model.Order, now limiter.Instant) []string
}

// armedMsg is what came of an order to arm.
type armedMsg struct{ err error }

// Armament returns where firing stands. Where nothing has to be armed, because there is nothing
// of others to harm, it is armed without an end.
func (s *Session) Armament() arming.Status {
	switch {
	case s.Injector == nil:
		return arming.Status{Refused: errNoInjector}
	case s.Arming != nil:
		return s.Arming.Arming()
	}
	err := s.Injector.Armed()
	return arming.Status{Refused: err, Armed: err == nil}
}

var errNoInjector = fmt.Errorf("nothing can be fired at this source")

// HostKeys are the keys of the dashboard that mean the same on every screen.
func (s *Session) HostKeys() keymap.Actions {
	return keymap.Actions{
		keymap.New("fire", "arm", "!", "arms firing for ten minutes, or disarms it", s.ToggleArming, "!").When(func() string {
			switch st := s.Armament(); {
			case st.Refused != nil:
				return st.Refused.Error()
			case s.Arming == nil:
				return "Nothing of others is here: firing is always armed."
			}
			return ""
		}),
	}
}

// ToggleArming arms firing, or disarms it and stops what is under way.
func (s *Session) ToggleArming() tea.Cmd {
	if s.Arming == nil {
		return nil
	}
	if s.Armament().Armed {
		s.Stop()
		s.Arming.Disarm()
		s.wasArmed = false
		s.Say("Firing is disarmed.")
		return nil
	}
	ctx, a := s.Context(), s.Arming
	return func() tea.Msg { return armedMsg{a.Arm(ctx)} }
}

// arm takes in what came of an order to arm.
func (s *Session) arm(msg armedMsg) {
	if msg.err != nil {
		s.Warn(msg.err.Error())
		return
	}
	st := s.Armament()
	s.wasArmed = st.Armed
	text := "Firing is armed for ten minutes: ! disarms, x stops."
	if len(st.Production) > 0 {
		text = "Firing is armed. This counts as production because " + st.Production[0] + ": each order asks for the key's name and a reason."
	}
	s.Warn(text)
}

// watchArming stops what is under way once the arming has ended by itself, and says why.
func (s *Session) watchArming() {
	if s.Arming == nil {
		return
	}
	st := s.Armament()
	if s.wasArmed && !st.Armed {
		s.Stop()
		s.Warn("Firing is disarmed: " + st.Ended + ".")
	}
	s.wasArmed = st.Armed
}

// timeLeft writes minutes and seconds, rounded up.
func timeLeft(d time.Duration) string {
	n := int((d + time.Second - 1) / time.Second)
	return fmt.Sprintf("%d:%02d", n/60, n%60)
}

// armedText is the badge of an arming: that it is one, what is at stake, and the time left; ""
// where there is none that can end.
func (s *Session) armedText() string {
	st := s.Armament()
	if s.Arming == nil || !st.Armed {
		return ""
	}
	text := "ARMED "
	if len(st.Production) > 0 {
		text = "ARMED PROD "
	}
	return text + timeLeft(st.Left)
}
