package firing

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
	"ratescope/model/format"
	"ratescope/tui/shell"
)

// Arming protects servers other than the embedded one: firing has to be armed first, and each order
// confirmed.
type Arming interface {
	Arming() arming.Status
	// Arm arms firing. It blocks until the server has given its identity.
	Arm(ctx context.Context) error
	Disarm()
	// Meet receives the state of the server with every batch.
	Meet(s model.Server)
	// Preview returns the commands of an order, one of each kind. Keys returns the keys that it may
	// write to, and Path describes in words how it reaches the limiter.
	Preview(ctx context.Context, s model.Order) ([]string, error)
	Keys(s model.Order, now limiter.Instant) []string
	Path(s model.Order) string
}

// armedMsg delivers the result of Arming.Arm.
type armedMsg struct{ err error }

// permission decides whether requests may be fired from the screen.
type permission struct {
	app      *shell.App
	injector Injector
	arming   Arming
	stop     func() // ends what is under way
	wasArmed bool   // at the last tick
}

// Armament returns the state of the arming. On the embedded server, where nothing has to be armed,
// firing is always armed.
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
func (p *permission) HostKeys() shell.Actions {
	return shell.Actions{
		shell.Bind("fire", "arm", "!", "arms firing for ten minutes, or disarms it", p.ToggleArming).
			In(shell.Server, p.ArmedText).When(func() string {
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

// ToggleArming arms firing, or disarms it and stops all running orders.
func (p *permission) ToggleArming() tea.Cmd {
	if p.arming == nil {
		return nil
	}
	if p.Armament().Armed {
		p.stop()
		p.arming.Disarm()
		p.wasArmed = false
		return p.app.Say("Firing is disarmed.")
	}
	ctx, a := p.app.Context(), p.arming
	return func() tea.Msg { return armedMsg{a.Arm(ctx)} }
}

// armed handles the result of Arming.Arm.
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
	p.app.Say(text)
}

// Meet gives the arming the present state of the server.
func (p *permission) Meet(server model.Server) {
	if p.arming != nil {
		p.arming.Meet(server)
		p.WatchArming()
	}
}

// WatchArming stops all running orders after the arming has ended by itself, and says why.
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

// ArmedText returns the badge of an arming, with the server's risk and the time left; "" if firing is
// not armed or always armed.
func (p *permission) ArmedText() string {
	st := p.Armament()
	if p.arming == nil || !st.Armed {
		return ""
	}
	text := "ARMED "
	if len(st.Production) > 0 {
		text = "ARMED PROD "
	}
	return text + format.Minutes(st.Left+time.Second-1)
}
