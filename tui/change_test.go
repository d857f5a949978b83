package tui_test

import (
	"context"
	"sync"
	"testing"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// changer keeps what was ordered.
type changer struct {
	mu     sync.Mutex
	orders []model.Order
}

// Change implements tui.Changer.
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

// TestGivingRoom: not armed, the lines of redis-cli are copied; armed, a ticket says how the key
// stands and will stand, and nothing is sent before it was confirmed.
func TestGivingRoom(t *testing.T) {
	for _, size := range [][2]int{{140, 42}, {80, 24}, {60, 20}} {
		c := &changer{}
		told(t, size[0], size[1], tui.Options{Arming: &tuitest.Arming{}, Changer: c}, func(x *tuitest.Terminal, _ *tuitest.Feed, _ *tuitest.Injector) {
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
			if len(orders) != 2 || orders[0].Change.Kind != model.Free || orders[0].Reason != "why" || orders[0].Ticket == nil || orders[1].Change.Units != model.UsualGift {
				t.Errorf("changed %+v", orders)
			}
		})
	}
}
