package tui_test

import (
	"context"
	"sync"
	"testing"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

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
