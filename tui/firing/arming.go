package firing

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
	// Preview returns the commands that an order is sent as, one for each kind, Keys the keys that it
	// may write to, and Path how it reaches the limiter, in words.
	Preview(ctx context.Context, s model.Order) ([]string, error)
	Keys(s model.Order, now limiter.Instant) []string
	Path(s model.Order) string
}

// armedMsg is what came of an order to arm.
type armedMsg struct{ err error }

// Armament returns where firing stands. Where nothing has to be armed, because there is nothing
// of others to harm, it is armed without an end.
func (o *Orders) Armament() arming.Status {
	switch {
	case o.injector == nil:
		return arming.Status{Refused: errNoInjector}
	case o.arming != nil:
		return o.arming.Arming()
	}
	err := o.injector.Armed()
	return arming.Status{Refused: err, Armed: err == nil}
}

var errNoInjector = fmt.Errorf("nothing can be fired at this source")

// HostKeys returns the keys of the dashboard that mean the same on every screen.
func (o *Orders) HostKeys() keymap.Actions {
	return keymap.Actions{
		keymap.New("fire", "arm", "!", "arms firing for ten minutes, or disarms it", o.ToggleArming, "!").When(func() string {
			switch st := o.Armament(); {
			case st.Refused != nil:
				return st.Refused.Error()
			case o.arming == nil:
				return "Nothing of others is here: firing is always armed."
			}
			return ""
		}),
	}
}

// ToggleArming arms firing, or disarms it and stops what is under way.
func (o *Orders) ToggleArming() tea.Cmd {
	if o.arming == nil {
		return nil
	}
	if o.Armament().Armed {
		o.Stop()
		o.arming.Disarm()
		o.wasArmed = false
		o.app.Say("Firing is disarmed.")
		return nil
	}
	ctx, a := o.app.Context(), o.arming
	return func() tea.Msg { return armedMsg{a.Arm(ctx)} }
}

// arm takes in what came of an order to arm.
func (o *Orders) arm(msg armedMsg) {
	if msg.err != nil {
		o.app.Warn(msg.err.Error())
		return
	}
	st := o.Armament()
	o.wasArmed = st.Armed
	text := "Firing is armed for ten minutes: ! disarms, x stops."
	if len(st.Production) > 0 {
		text = "Firing is armed. This counts as production because " + st.Production[0] + ": each order asks for the key's name and a reason."
	}
	o.app.Warn(text)
}

// Meet tells the arming what is known about the server.
func (o *Orders) Meet(server model.Server) {
	if o.arming != nil {
		o.arming.Meet(server)
		o.WatchArming()
	}
}

// WatchArming stops what is under way once the arming has ended by itself, and says why.
func (o *Orders) WatchArming() {
	if o.arming == nil {
		return
	}
	st := o.Armament()
	if o.wasArmed && !st.Armed {
		o.Stop()
		o.app.Warn("Firing is disarmed: " + st.Ended + ".")
	}
	o.wasArmed = st.Armed
}

// timeLeft writes minutes and seconds, rounded up.
func timeLeft(d time.Duration) string {
	n := int((d + time.Second - 1) / time.Second)
	return fmt.Sprintf("%d:%02d", n/60, n%60)
}

// ArmedText returns the badge of an arming: that it is one, what is at stake, and the time left; ""
// where there is none that can end.
func (o *Orders) ArmedText() string {
	st := o.Armament()
	if o.arming == nil || !st.Armed {
		return ""
	}
	text := "ARMED "
	if len(st.Production) > 0 {
		text = "ARMED PROD "
	}
	return text + timeLeft(st.Left)
}
