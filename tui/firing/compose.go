package firing

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
)

// suggested lists examples of orders, in the form of model.ParseOrder.
var suggested = []string{
	"60 5/s", "60 5/s poisson", "60 5/s poisson cost:2", "100 2/s ramp:50/s:30s", "5/s on-off:2s:8s", "20 phase:0.9", "20 scratch",
}

// Recorded returns when requests came at a key in a recording, counted from its first one.
type Recorded func(ctx context.Context, file, key string) ([]time.Duration, error)

// composer makes orders of typed text.
type composer struct {
	orders   *Orders
	text     string   // the last one
	recorded Recorded // nil: no recording can be fired
}

// recordedMsg delivers an order to fire a recording, after the recording was read.
type recordedMsg struct {
	order model.Order
	key   string
	err   error
}

// read returns the command that reads the recording of an order at a key.
func (c *composer) read(ctx context.Context, order model.Order, key string) tea.Cmd {
	recorded := c.recorded
	return func() (msg tea.Msg) {
		at, err := recorded(ctx, order.Shape.From, key)
		order.Shape.At, order.N, order.Rate = at, len(at), 0
		return recordedMsg{order, key, err}
	}
}

// fireRecorded orders the requests of a recording.
func (c *composer) fireRecorded(msg recordedMsg) tea.Cmd {
	o := c.orders
	switch {
	case msg.err != nil:
		o.app.Warn("Nothing is fired: " + msg.err.Error() + ".")
	case msg.key != o.keys.Selected():
		o.app.Warn("Nothing is fired: another key is selected than the one whose recording was read.")
	case msg.order.Fastest() > model.MaxRate:
		o.app.Warn(fmt.Sprintf("Nothing is fired: the recording has %d requests within a second, more than the %d that are sent at most.",
			msg.order.Fastest(), model.MaxRate))
	default:
		return o.Fire(msg.order)
	}
	return nil
}

// Compose asks for an order with its number, rate, shape, cost and phase.
func (c *composer) Compose() tea.Cmd {
	o := c.orders
	p := o.app.NewPrompt("fire ", c.text, "N rate shape cost:N phase:P scratch · shapes: poisson ramp:50/s:30s on-off:2s:8s from:FILE",
		func(string) {},
		func(text string, kept bool) tea.Cmd {
			if !kept || strings.TrimSpace(text) == "" {
				return nil
			}
			c.text = text
			return c.FireText(text)
		}, nil)
	p.Suggest(suggested)
	o.app.Open(p)
	return nil
}

// FireText orders the requests of text, in the form of model.ParseOrder, at the selected key. It
// returns nil and shows an error if text is no order.
func (c *composer) FireText(text string) tea.Cmd {
	o := c.orders
	order, phase, err := model.ParseOrder(text)
	if err != nil {
		o.app.Warn("Nothing is fired: " + err.Error() + ".")
		return nil
	}
	k := o.keys.Live().Key(o.keys.Selected())
	if phase >= 0 && k != nil {
		window := k.Reading.Target.Window
		if window <= 0 {
			o.app.Warn("Nothing is fired: the window of the key is not known, so that it has no phase.")
			return nil
		}
		order.Shape.Wait = model.Lead(o.keys.LiveAt(), window, phase)
	}
	if order.Shape.Kind == model.Recorded {
		if c.recorded == nil || k == nil {
			o.app.Warn("Nothing is fired: no recording can be read here.")
			return nil
		}
		return c.read(o.app.Context(), order, k.Reading.Key)
	}
	if order.Rate > 0 && order.N == 0 {
		if r := o.atRate(); r != nil {
			o.app.Warn("A rate is being fired already: x stops it.")
			return nil
		}
		if order.Shape.Kind == model.Even {
			o.perSecond = order.Rate
		}
	}
	return o.Fire(order)
}
