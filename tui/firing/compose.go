package firing

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/tui/format"
)

// suggested are orders to begin with, in the words that model.ParseOrder reads.
var suggested = []string{
	"60 5/s", "60 5/s poisson", "60 5/s poisson cost:2", "100 2/s ramp:50/s:30s", "5/s on-off:2s:8s", "20 phase:0.9", "20 scratch",
}

// Recorded returns when requests came at a key in a recording, counted from its first one.
type Recorded func(ctx context.Context, file, key string) ([]time.Duration, error)

// composer keeps what a person types as an order.
type composer struct {
	text     string   // the last one
	recorded Recorded // nil: no recording can be fired
}

// recordedMsg is an order to fire a recording, once that was read.
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

// fireRecorded orders the requests of a recording that was read.
func (o *Orders) fireRecorded(msg recordedMsg) tea.Cmd {
	switch {
	case msg.err != nil:
		o.app.Warn("Nothing is fired: " + msg.err.Error() + ".")
	case msg.key != o.keys.Selected():
		o.app.Warn("Nothing is fired: another key is selected than the one whose recording was read.")
	case msg.order.Fastest() > model.MaxRate:
		o.app.Warn(fmt.Sprintf("Nothing is fired: the recording has %d requests within a second, more than the %d that are sent at most.", msg.order.Fastest(), model.MaxRate))
	default:
		return o.Fire(msg.order)
	}
	return nil
}

// Compose lets a person type an order with its number, rate, shape, cost and phase.
func (o *Orders) Compose() tea.Cmd {
	p := o.app.NewPrompt("fire ", o.composer.text, "N rate shape cost:N phase:P scratch · shapes: poisson ramp:50/s:30s on-off:2s:8s from:FILE", func(string) {},
		func(text string, kept bool) tea.Cmd {
			if !kept || strings.TrimSpace(text) == "" {
				return nil
			}
			o.composer.text = text
			return o.FireText(text)
		}, nil)
	p.Suggest(suggested)
	o.app.Open(p)
	return nil
}

// FireText orders at the selected key what text says, as model.ParseOrder reads it; nil where that
// is no order, which the screen then says.
func (o *Orders) FireText(text string) tea.Cmd {
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
		if o.composer.recorded == nil || k == nil {
			o.app.Warn("Nothing is fired: no recording can be read here.")
			return nil
		}
		return o.composer.read(o.app.Context(), order, k.Reading.Key)
	}
	if order.Rate > 0 && order.N == 0 {
		if r := o.runningRate(); r != nil {
			o.app.Warn("A rate is being fired already: x stops it.")
			return nil
		}
		if order.Shape.Kind == model.Even {
			o.perSecond = order.Rate
		}
	}
	return o.Fire(order)
}

// gate lets requests through, or holds them while an order is paused. The zero gate is open. It is
// safe for concurrent use.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate opens; nil: it is open
}

// wait returns when the gate is open, or with the reason of ctx.
func (g *gate) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return ctx.Err()
		}
		select {
		case <-shut:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// set shuts or opens the gate.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut && g.shut == nil:
		g.shut = make(chan struct{})
	case !shut && g.shut != nil:
		close(g.shut)
		g.shut = nil
	}
}

// holding says whether the gate is shut.
func (g *gate) holding() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

// Hold pauses what is being fired, or lets it go on where all of it is paused. What was due
// meanwhile is not made up for.
func (o *Orders) Hold() {
	if len(o.orders) == 0 {
		o.app.Warn("Nothing is being fired: r fires at a rate.")
		return
	}
	shut := !o.Held()
	for _, r := range o.orders {
		r.gate.set(shut)
	}
	text := "Firing goes on."
	if shut {
		text = "Firing is paused: ; goes on, x stops."
	}
	o.app.Say(text)
}

// Held reports whether everything that is being fired is paused.
func (o *Orders) Held() bool {
	for _, r := range o.orders {
		if !r.gate.holding() {
			return false
		}
	}
	return len(o.orders) > 0
}

// UnderWay says in a few words what of an order is under way: its rate and shape or its number, and
// whether it is paused.
func (o *Orders) UnderWay(order *model.Order) string {
	verb := "firing "
	if o.Held() {
		verb = "paused, "
	}
	switch {
	case order.Rate > 0 && order.Shape.Kind == model.Even:
		return verb + format.PerSecond(order.Rate)
	case order.Shape.Kind == model.Recorded:
		return verb + "a recording"
	case order.Rate > 0:
		shape, _, _ := strings.Cut(order.Shape.String(), ":")
		return verb + format.PerSecond(order.Rate) + " " + shape
	}
	return verb + strconv.Itoa(order.N)
}
