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
	"ratescope/tui/shell"
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

// permission is whether requests may be fired from the screen, and what ends that.
type permission struct {
	app      *shell.App
	injector Injector
	arming   Arming
	stop     func() // ends what is under way
	wasArmed bool   // at the last tick
}

// Armament returns where firing stands. Where nothing has to be armed, because there is nothing
// of others to harm, it is armed without an end.
func (p *permission) Armament() arming.Status {
	switch {
	case p.injector == nil:
		return arming.Status{Refused: errNoInjector}
	case p.arming != nil:
		return p.arming.Arming()
	}
	err := p.injector.Armed()
	return arming.Status{Refused: err, Armed: err == nil}
}

var errNoInjector = fmt.Errorf("nothing can be fired at this source")

// HostKeys returns the keys of the dashboard that mean the same on every screen.
func (p *permission) HostKeys() keymap.Actions {
	return keymap.Actions{
		keymap.New("fire", "arm", "!", "arms firing for ten minutes, or disarms it", p.ToggleArming, "!").When(func() string {
			switch st := p.Armament(); {
			case st.Refused != nil:
				return st.Refused.Error()
			case p.arming == nil:
				return "Nothing of others is here: firing is always armed."
			}
			return ""
		}),
	}
}

// ToggleArming arms firing, or disarms it and stops what is under way.
func (p *permission) ToggleArming() tea.Cmd {
	if p.arming == nil {
		return nil
	}
	if p.Armament().Armed {
		p.stop()
		p.arming.Disarm()
		p.wasArmed = false
		p.app.Say("Firing is disarmed.")
		return nil
	}
	ctx, a := p.app.Context(), p.arming
	return func() tea.Msg { return armedMsg{a.Arm(ctx)} }
}

// armed takes in what came of an order to arm.
func (p *permission) armed(msg armedMsg) {
	if msg.err != nil {
		p.app.Warn(msg.err.Error())
		return
	}
	st := p.Armament()
	p.wasArmed = st.Armed
	text := "Firing is armed for ten minutes: ! disarms, x stops."
	if len(st.Production) > 0 {
		text = "Firing is armed. This counts as production because " + st.Production[0] + ": each order asks for the key's name and a reason."
	}
	p.app.Warn(text)
}

// Meet tells the arming what is known about the server.
func (p *permission) Meet(server model.Server) {
	if p.arming != nil {
		p.arming.Meet(server)
		p.WatchArming()
	}
}

// WatchArming stops what is under way once the arming has ended by itself, and says why.
func (p *permission) WatchArming() {
	if p.arming == nil {
		return
	}
	st := p.Armament()
	if p.wasArmed && !st.Armed {
		p.stop()
		p.app.Warn("Firing is disarmed: " + st.Ended + ".")
	}
	p.wasArmed = st.Armed
}

// timeLeft writes minutes and seconds, rounded up.
func timeLeft(d time.Duration) string {
	n := int((d + time.Second - 1) / time.Second)
	return fmt.Sprintf("%d:%02d", n/60, n%60)
}

// ArmedText returns the badge of an arming: that it is one, what is at stake, and the time left; ""
// where there is none that can end.
func (p *permission) ArmedText() string {
	st := p.Armament()
	if p.arming == nil || !st.Armed {
		return ""
	}
	text := "ARMED "
	if len(st.Production) > 0 {
		text = "ARMED PROD "
	}
	return text + timeLeft(st.Left)
}
