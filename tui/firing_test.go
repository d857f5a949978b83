package tui_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// armable shows a server of others, at which firing has to be armed.
func armable(t *testing.T, w, h int, a *arms, play func(x *terminal, injector *feedInjector)) {
	t.Helper()
	told(t, w, h, tui.Options{Session: session.Options{Inject: firing.Options{Arming: a}}}, func(x *terminal, _ *tuitest.Feed,
		injector *feedInjector) {
		x.Press("/", "o", "n", "c", "e", "enter")
		x.See("quiet:once")
		play(x, injector)
	})
}

// TestNoSingleKeyFires: not armed, nothing is sent; armed, space, b and r ask, and so does a
// higher rate.
func TestNoSingleKeyFires(t *testing.T) {
	armable(t, 140, 42, &arms{}, func(x *terminal, injector *feedInjector) {
		x.See("read-only, ! arms")
		x.Press("space")
		x.See("press ! to arm it")
		x.Press("b", "r", "+", "+")
		x.Press("!")
		x.See("ARMED ")
		for _, key := range []string{"space", "b", "r"} {
			x.Press(key)
			x.See("will do")
			x.Press("space", key, "esc") // they are text of the reason
			x.Gone("will do")
		}
		if orders := injector.Orders(); len(orders) != 0 {
			t.Fatalf("unconfirmed keys fired %+v", orders)
		}
		x.Press("space")
		x.See("1 admitted, 0 denied, 9 left")
		x.See("EVALSHA 0123456789 1 quiet:once")
		x.Press("enter")
		x.See("1 request: 1 admitted, 0 denied, as forecast")
		x.Press("r", "enter")
		x.See("firing 5.0/s")
		x.Press("+") // more than was confirmed
		x.See("fire 10.0/s until stopped")
		x.Press("esc")
		x.See("firing 5.0/s")
		x.Press("-")
		x.See("firing 2.0/s")
		x.Press("x")
		x.Gone("firing 2.0/s")
		orders := injector.Orders()
		if len(orders) != 3 || orders[0].Ticket == nil || orders[1].Ticket == nil || orders[2].Ticket == nil {
			t.Errorf("fired %+v, want one request and two rates, each with a ticket", orders)
		}
	})
}

// TestTheArmingIsSeenEverywhere: on every screen with the time left, until its key is pressed
// again; x stops from every screen.
func TestTheArmingIsSeenEverywhere(t *testing.T) {
	a := &arms{}
	armable(t, 140, 42, a, func(x *terminal, injector *feedInjector) {
		x.Press("!")
		for _, screen := range []string{"1", "2", "3", "4", "5", "6"} {
			x.Press(screen)
			x.See("ARMED 9:")
		}
		for _, screen := range []string{"2", "3", "4", "5", "6"} {
			x.Press("1", "r", "enter")
			x.See("firing 5.0/s")
			x.Press(screen)
			x.See("firing 5.0/s")
			x.Press("x")
			x.Gone("firing 5.0/s")
		}
		x.Press("1", "r", "enter")
		x.See("firing 5.0/s")
		x.Press("!")
		x.See("Firing is disarmed")
		x.See("read-only, ! arms")
	})
}

// TestArmingEnds: after ten minutes without use, and when the server has begun another run. At one
// frame a second, since ten minutes pass.
func TestArmingEnds(t *testing.T) {
	a := &arms{}
	o := tui.Options{Look: shell.Options{FPS: 1}, Session: session.Options{Inject: firing.Options{Arming: a}}}
	told(t, 80, 24, o, func(x *terminal, _ *tuitest.Feed, injector *feedInjector) {
		x.Press("/", "o", "n", "c", "e", "enter")
		x.See("quiet:once")
		x.Press("!")
		x.See("ARMED ")
		x.Wait(arming.Lasts + time.Second)
		x.See("nothing was fired for 10 minutes")
		x.See("read-only, ! arms")
		x.Press("!")
		x.See("ARMED ")
		a.Meet(model.Server{Link: model.Live, RunID: "one"})
		x.See("ARMED 9:")
		a.Meet(model.Server{Link: model.Live, RunID: "two"})
		x.See("started anew")
		x.Press("space", "enter")
		if len(injector.Orders()) != 0 {
			t.Error("after the arming had ended something was fired")
		}
	})
}

// TestProductionAsksForTheName: without the key's name and a reason nothing is fired.
func TestProductionAsksForTheName(t *testing.T) {
	for _, size := range [][2]int{{140, 42}, {80, 24}, {60, 20}} {
		armable(t, size[0], size[1], &arms{Production: []string{"it has replicas (2)"}}, func(x *terminal, injector *feedInjector) {
			x.Press("!")
			x.See("ARMED PROD")
			x.Wait(10 * time.Second)
			x.Press("space")
			x.See("it has replicas (2)")
			x.Press("enter")
			x.See("type the key's name")
			x.Press("t", "w", "i", "c", "e", "enter")
			x.See("type the key's name")
			for range 5 {
				x.Press("backspace")
			}
			x.Press("o", "n", "c", "e", "enter")
			x.See("type why")
			x.Press("tab", "w", "h", "y")
			if len(injector.Orders()) != 0 {
				t.Error("an order without its name or reason was carried out")
			}
			x.Wait(model.TicketLasts)
			x.Press("enter")
			x.See("expired")
			if len(injector.Orders()) != 0 {
				t.Error("an expired ticket was carried out")
			}
			x.Press("esc", "space", "o", "n", "c", "e", "tab", "w", "h", "y", "enter")
			x.Wait(time.Second)
			if orders := injector.Orders(); len(orders) != 1 || orders[0].Named != "once" || orders[0].Reason != "why" {
				t.Errorf("fired %+v", orders)
			}
		})
	}
}

// TestATicketIsNew: one that is asked for as soon as there are rows is as old as it is, and not as
// the beginning of time.
func TestATicketIsNew(t *testing.T) {
	told(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Arming: &arms{}}}}, func(x *terminal, _ *tuitest.Feed,
		injector *feedInjector) {
		send := func(keys ...string) { // without a pause between them
			for _, key := range keys {
				x.Send(tuitest.Key(key))
			}
		}
		send("/", "o", "n", "c", "e", "enter", "!")
		x.See("ARMED")
		send("space", "enter")
		x.Wait(time.Second)
		for _, o := range injector.Orders() {
			if age := time.Since(o.Ticket.Issued); age > 5*time.Second {
				t.Errorf("the ticket was issued %v ago", age)
			}
		}
		if n := len(injector.Orders()); n != 1 {
			t.Errorf("%d orders, want 1", n)
		}
	})
}

// TestForecastBesideADecision: where 80x24 leaves one row for both, neither is drawn over the other.
func TestForecastBesideADecision(t *testing.T) {
	armable(t, 80, 24, &arms{}, func(x *terminal, _ *feedInjector) {
		x.Press("!")
		x.See("ARMED ")
		x.Press("space")
		x.See("reason ")
		x.Press("enter")
		x.See("cost 1 ")
		for line := range strings.Lines(x.Screen()) {
			if strings.Contains(line, "cost 1 ") &&
				!regexp.MustCompile(`one → admitted, \d+ left +\d\d:\d\d:\d\d\.\d`).MatchString(line) {
				t.Errorf("the forecast is cut: %q", line)
			}
		}
	})
}

// arms is what stands before a server of others, on the clock of the test. The zero value can
// be armed. It is safe for concurrent use.
type arms struct {
	RunID      string   // of the server that it is armed for
	Production []string // why the server counts as one of production

	mu    sync.Mutex
	state arming.State
}

// Arming implements firing.Arming.
func (a *arms) Arming() arming.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state.Status(time.Now())
	s.Production = a.Production
	return s
}

// Arm implements firing.Arming.
func (a *arms) Arm(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Arm(time.Now(), arming.Server{RunID: a.RunID})
	return nil
}

// Disarm implements firing.Arming.
func (a *arms) Disarm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Disarm()
}

// Meet implements firing.Arming.
func (a *arms) Meet(s model.Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Link == model.Live && s.RunID != "" {
		a.state.Meet(arming.Server{RunID: s.RunID})
	}
}

// Preview implements firing.Arming.
func (a *arms) Preview(_ context.Context, s model.Order) ([]string, error) {
	return []string{"EVALSHA 0123456789 1 " + s.Key}, nil
}

// Path implements firing.Arming.
func (a *arms) Path(model.Order) string { return "the limiter's own script" }

// Keys implements firing.Arming.
func (a *arms) Keys(s model.Order, _ limiter.Instant) []string { return []string{s.Key} }

// changer keeps what was ordered.
type changer struct {
	mu     sync.Mutex
	orders []model.Order
}

// Change is for firing.Options.
func (c *changer) Change(_ context.Context, s model.Order) (model.Changed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.orders = append(c.orders, s)
	return model.Changed{Action: "abc-1", Units: 3}, nil
}

func (c *changer) ordered() []model.Order {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]model.Order(nil), c.orders...)
}

// backer keeps what was taken back.
type backer struct {
	mu   sync.Mutex
	back []model.TakeBack
}

// TakeBack is for firing.Options.
func (b *backer) TakeBack(_ context.Context, t model.TakeBack) (model.TakenBack, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.back = append(b.back, t)
	return model.TakenBack{Restored: []string{t.Key}}, nil
}

func (b *backer) taken() []model.TakeBack {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]model.TakeBack(nil), b.back...)
}

// TestTakingBack: a change that was made is listed, its ticket asks for the name of the key on
// production and for the reason, and what was taken back is listed no more.
func TestTakingBack(t *testing.T) {
	for _, size := range [][2]int{{140, 42}, {80, 24}, {60, 20}} {
		b := &backer{}
		o := tui.Options{Session: session.Options{Inject: firing.Options{Arming: &arms{Production: []string{"it has replicas (2)"}},
			TakeBack: b.TakeBack,
			Change:   (&changer{}).Change}}}
		told(t, size[0], size[1], o, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
			x.Press("U")
			x.See("Nothing was fired or changed from here yet")
			x.Press("!")
			x.See("ARMED ")
			name := func() {
				for _, r := range "+4915112345678" {
					x.Press(string(r))
				}
				x.Press("tab", "w", "h", "y", "enter")
			}
			x.Press("home", "$", "enter")
			x.See("do it")
			name()
			x.See("gave 3 units")
			x.Press("U")
			x.See("undo ")
			x.Press("enter")
			x.See("take back")
			x.Press("enter") // without the name
			x.See("type the key's name")
			if list := b.taken(); len(list) != 0 {
				t.Fatalf("unconfirmed keys took back %+v", list)
			}
			name()
			x.See("taken back, 1 key as")
			if list := b.taken(); len(list) != 1 || list[0].Action != "abc-1" || list[0].Reason != "why" ||
				list[0].Named != "+4915112345678" {
				t.Errorf("taken back %+v", list)
			}
			x.Press("U")
			x.See("Nothing was fired or changed from here yet")
		})
	}
}

// TestGivingRoom: not armed, the lines of redis-cli are copied; armed, a ticket says how the key
// stands and will stand, and nothing is sent before it was confirmed.
func TestGivingRoom(t *testing.T) {
	for _, size := range [][2]int{{140, 42}, {80, 24}, {60, 20}} {
		c := &changer{}
		o := tui.Options{Session: session.Options{Inject: firing.Options{Arming: &arms{}, Change: c.Change}}}
		told(t, size[0], size[1], o, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
			x.Press("$")
			x.See("copies redis-cli")
			x.Press("down", "enter")
			x.See("Copied: the redis-cli lines")
			x.Press("!")
			x.See("ARMED ")
			x.Press("$")
			x.Gone("copies redis-cli")
			x.See("give 20 more")
			x.See("unblock")
			x.Press("enter")
			x.See("used, room for")
			x.See("do it")
			x.Press("$", "space", "esc") // they are text of the reason
			x.Gone("do it")
			if orders := c.ordered(); len(orders) != 0 {
				t.Fatalf("unconfirmed keys changed %+v", orders)
			}
			x.Press("$", "f", "r", "e", "e", "space", "n", "o", "w", "enter")
			x.See("do it")
			x.Press("w", "h", "y", "enter")
			x.See("free now")
			x.Press("$", "down", "up", "enter", "enter")
			x.See("gave 3 units")
			orders := c.ordered()
			if len(orders) != 2 || orders[0].Change.Kind != model.Free || orders[0].Reason != "why" || orders[0].Ticket == nil ||
				orders[1].Change.Units != model.UsualGift {
				t.Errorf("changed %+v", orders)
			}
		})
	}
}
