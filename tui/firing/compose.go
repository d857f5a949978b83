package firing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/tui/shell"
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
	return o.app.Open(p)
}

// FireText orders the requests of text, in the form of model.ParseOrder, at the selected key. It
// returns nil and shows an error if text is no order.
func (c *composer) FireText(text string) tea.Cmd {
	o := c.orders
	order, phase, err := model.ParseOrder(text)
	if err != nil {
		return o.app.Warn("Nothing is fired: " + err.Error() + ".")
	}
	k := o.keys.Live().Key(o.keys.Selected())
	if phase >= 0 && k != nil {
		window := k.Reading.Target.Window
		if window <= 0 {
			return o.app.Warn("Nothing is fired: the window of the key is not known, so that it has no phase.")
		}
		order.Shape.Wait = model.Lead(o.keys.LiveAt(), window, phase)
	}
	if order.Shape.Kind == model.Recorded {
		if c.recorded == nil || k == nil {
			return o.app.Warn("Nothing is fired: no recording can be read here.")
		}
		return c.read(o.app.Context(), order, k.Reading.Key)
	}
	if order.Rate > 0 && order.N == 0 {
		if r := o.atRate(); r != nil {
			return o.app.Warn("A rate is being fired already: x stops it.")
		}
		if order.Shape.Kind == model.Even {
			o.PerSecond = order.Rate
		}
	}
	return o.Fire(order)
}

// plan is a request that is going to be fired.
type plan struct {
	id   int64
	key  string
	at   limiter.Instant // on the server's clock
	stop chan struct{}   // closed when it is taken back
}

// plans holds the requests that are to be fired at a later instant.
type plans struct {
	app  *shell.App
	keys Keys
	list []plan
	last int64 // the number of the newest plan
}

// plannedMsg says that the instant of a plan has come.
type plannedMsg struct{ id int64 }

// FireAt fires one request at the selected key at a future instant, at which it becomes an order
// like any other. The stop key cancels it before.
func (o *Orders) FireAt(at limiter.Instant) tea.Cmd {
	k := o.keys.Live().Key(o.keys.Selected())
	switch why := o.CanFire(); {
	case k == nil:
		return nil
	case why != "":
		return o.app.Warn(why)
	case o.keys.Paused():
		return o.app.Warn("The picture is paused, and what is to come is not shown: p goes on.")
	}
	if _, err := k.Reading.Aim(); err != nil {
		return o.app.Warn("Nothing is fired at " + o.name(k.Reading.Key) + ": " + err.Error() + ".")
	}
	return o.plans.add(k.Reading.Key, at)
}

// add plans a request at a key, and returns the command that waits for its instant.
func (l *plans) add(key string, at limiter.Instant) tea.Cmd {
	if len(l.list) >= mostPlans {
		return l.app.Warn(fmt.Sprintf("%d requests wait for their moment already: x takes them back.", len(l.list)))
	}
	l.last++
	p := plan{l.last, key, at, make(chan struct{})}
	l.list = append(l.list, p)
	l.MarkPlans()
	wait := max(at.Sub(l.keys.LiveAt()), 0)
	l.app.Say("One request is fired in " + format.Span(wait) + "; x takes it back.")
	ctx := l.app.Context()
	return func() tea.Msg {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-p.stop:
		case <-timer.C:
			return plannedMsg{p.id}
		}
		return nil
	}
}

// mostPlans bounds the number of plans.
const mostPlans = 20

// take removes and returns a plan whose instant has come; ok is false if it was canceled.
func (l *plans) take(id int64) (p plan, ok bool) {
	i := slices.IndexFunc(l.list, func(p plan) bool { return p.id == id })
	if i < 0 {
		return plan{}, false
	}
	p = l.list[i]
	l.list = slices.Delete(l.list, i, i+1)
	l.MarkPlans()
	return p, true
}

// firePlan fires a plan whose instant has come, if its key is still selected.
func (o *Orders) firePlan(id int64) tea.Cmd {
	p, ok := o.plans.take(id)
	if !ok {
		return nil
	}
	if p.key != o.keys.Selected() {
		return o.app.Warn("Nothing was fired at " + o.name(p.key) + ": another key is selected now.")
	}
	return o.Fire(model.Order{N: 1})
}

// drop cancels all plans.
func (l *plans) drop() {
	for _, p := range l.list {
		close(p.stop)
	}
	l.list = nil
	l.MarkPlans()
}

// MarkPlans marks on the timeline what will be fired at the selected key; it is called when
// another key is selected.
func (l *plans) MarkPlans() {
	own := collect.Only(l.list, func(p plan) bool { return p.key == l.keys.Selected() })
	l.keys.ShowPlans(collect.Map(own, func(p plan) limiter.Instant { return p.at }))
}
