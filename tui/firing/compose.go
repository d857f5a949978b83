package firing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/shell"
)

// suggested lists examples of orders, in the form of model.ParseOrder.
var suggested = []string{
	"60 5/s", "60 5/s poisson", "60 5/s poisson cost:2", "100 2/s ramp:50/s:30s", "5/s on-off:2s:8s", "20 phase:0.9", "20 scratch",
}

// Recorded returns when requests came at a key in a recording, counted from its first one.
type Recorded func(ctx context.Context, file, key string) ([]time.Duration, error)

// read returns the command that reads the recording of an order at a key.
func (o *Orders) read(order model.Order, key string) tea.Cmd {
	ctx := o.app.Context()
	return func() tea.Msg {
		at, err := o.options.Recorded(ctx, order.Shape.From, key)
		order.Shape.At, order.N = at, len(at)
		return shell.Then(func() tea.Cmd { return o.fireRecorded(order, key, err) })
	}
}

// fireRecorded orders the requests of a recording that was read.
func (o *Orders) fireRecorded(order model.Order, key string, err error) tea.Cmd {
	switch err = cmp.Or(err, order.Check()); {
	case err != nil:
		return o.app.Warn("Nothing is fired: " + err.Error() + ".")
	case key != o.keys.Selected():
		return o.app.Warn("Nothing is fired: another key is selected than the one whose recording was read.")
	}
	return o.Fire(order)
}

// Compose asks for an order with its number, rate, shape, cost and phase.
func (o *Orders) Compose() tea.Cmd {
	p := o.app.NewPrompt("fire ", o.typed, "N rate shape cost:N phase:P scratch · shapes: poisson ramp:50/s:30s on-off:2s:8s from:FILE",
		nil, func(text string, kept bool) tea.Cmd {
			if !kept || strings.TrimSpace(text) == "" {
				return nil
			}
			o.typed = text
			return o.FireText(text)
		}, nil)
	p.Suggest(suggested)
	return o.app.Open(p)
}

// FireText orders the requests of text, in the form of model.ParseOrder, at the selected key. It
// returns nil and shows an error if text is no order.
func (o *Orders) FireText(text string) tea.Cmd {
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
		if o.options.Recorded == nil || k == nil {
			return o.app.Warn("Nothing is fired: no recording can be read here.")
		}
		return o.read(order, k.Reading.Key)
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
	key  string
	at   limiter.Instant    // on the server's clock
	drop context.CancelFunc // ends what waits for it
}

// mostPlans bounds the number of plans.
const mostPlans = 20

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
	if len(o.plans) >= mostPlans {
		return o.app.Warn(fmt.Sprintf("%d requests wait for their moment already: x takes them back.", len(o.plans)))
	}
	ctx, drop := context.WithCancel(o.app.Context())
	p := &plan{k.Reading.Key, at, drop}
	o.plans = append(o.plans, p)
	o.MarkPlans()
	wait := max(at.Sub(o.keys.LiveAt()), 0)
	o.app.Say("One request is fired in " + format.Span(wait) + "; x takes it back.")
	return func() tea.Msg {
		defer drop()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
			return shell.Then(func() tea.Cmd { return o.firePlan(p) })
		}
	}
}

// firePlan fires a plan whose instant has come, unless it was taken back, if its key is still selected.
func (o *Orders) firePlan(p *plan) tea.Cmd {
	i := slices.Index(o.plans, p)
	if i < 0 {
		return nil
	}
	o.plans = slices.Delete(o.plans, i, i+1)
	o.MarkPlans()
	if p.key != o.keys.Selected() {
		return o.app.Warn("Nothing was fired at " + o.name(p.key) + ": another key is selected now.")
	}
	return o.Fire(model.Order{N: 1})
}

// MarkPlans marks on the timeline what will be fired at the selected key; it is called when
// another key is selected.
func (o *Orders) MarkPlans() {
	own := collect.Only(o.plans, func(p *plan) bool { return p.key == o.keys.Selected() })
	o.keys.ShowPlans(collect.Map(own, func(p *plan) limiter.Instant { return p.at }))
}

// underWay holds the orders that are being carried out.
type underWay struct {
	app     *shell.App
	name    func(key string) string
	running map[int64]*runningOrder
	last    int64 // the number of the newest order
}

// runningOrder is an order that is being carried out.
type runningOrder struct {
	model.Order
	cancel  context.CancelFunc
	gate    gate
	sent    int    // requests whose outcome is known
	stopped bool   // the user, or the end of the arming, has stopped it
	audit   string // the id of the action; "" before its first request was answered
	at      string // the key that its requests went to, which may be a scratch copy
}

// stop ends the order.
func (r *runningOrder) stop() {
	r.stopped = true
	r.cancel()
}

// begin adds an order, with a new number and a gate; cancel ends it.
func (u *underWay) begin(order model.Order, cancel context.CancelFunc) model.Order {
	u.last++
	order.ID = u.last
	r := &runningOrder{cancel: cancel, gate: gate{open: make(chan struct{}, 1)}}
	r.gate.open <- struct{}{}
	order.Hold = r.gate.wait
	r.Order = order
	u.running[order.ID] = r
	return order
}

// stop ends all orders.
func (u *underWay) stop() {
	for _, r := range u.running {
		r.stop()
	}
}

// Firing returns how many orders are under way.
func (u *underWay) Firing() int { return len(u.running) }

// Rate returns the running order that has a pace, or nil.
func (u *underWay) Rate() *model.Order {
	if r := u.atRate(); r != nil {
		return &r.Order
	}
	return nil
}

// atRate returns the running order that has a pace, or nil.
func (u *underWay) atRate() *runningOrder {
	for _, r := range u.running {
		if !r.stopped && (r.Rate > 0 || r.Shape.Kind == model.Recorded) {
			return r
		}
	}
	return nil
}

// FiringText describes the running orders and how to stop them, in at most so many columns; "" if
// there are none.
func (u *underWay) FiringText(columns int) string {
	if len(u.running) == 0 {
		return ""
	}
	what, key, one := "firing", "", u.atRate()
	for _, r := range u.running {
		if one == r || one == nil && len(u.running) == 1 {
			what, key = u.UnderWay(&r.Order), r.Key
		}
	}
	const stops = " · x stops"
	if room := columns - safetext.Width(" "+what+" at "+stops+" "); key != "" && room >= 8 {
		return " " + what + " at " + safetext.Shorten(u.name(key), room, safetext.Ellipsis) + stops + " "
	}
	return format.First(columns, " "+what+stops+" ", " "+what+" ", "firing")
}

// Hold pauses all running orders, or continues them if all are paused. Requests that were due
// meanwhile are sent later, not faster.
func (u *underWay) Hold() {
	if len(u.running) == 0 {
		u.app.Warn("Nothing is being fired: r fires at a rate.")
		return
	}
	shut := !u.Held()
	for _, r := range u.running {
		r.gate.set(shut)
	}
	u.app.Say(collect.If(shut, "Firing is paused: ; goes on, x stops.", "Firing goes on."))
}

// Held reports whether everything that is being fired is paused.
func (u *underWay) Held() bool {
	for _, r := range u.running {
		if !r.gate.shut {
			return false
		}
	}
	return len(u.running) > 0
}

// UnderWay describes a running order in a few words: its rate and shape or its number, and whether
// it is paused.
func (u *underWay) UnderWay(order *model.Order) string {
	verb := collect.If(u.Held(), "paused, ", "firing ")
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

// gate holds the requests of an order while it is paused. Requests may wait at it concurrently.
type gate struct {
	open chan struct{} // with room for one; it holds one while the gate is open
	shut bool
}

// wait returns when the gate is open, or with the reason of ctx.
func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.open:
		g.open <- struct{}{}
	case <-ctx.Done():
	}
	return ctx.Err()
}

// set shuts or opens the gate.
func (g *gate) set(shut bool) {
	switch {
	case shut == g.shut:
	case shut:
		<-g.open
	default:
		g.open <- struct{}{}
	}
	g.shut = shut
}

// bursts and rates are the steps of + and -.
var (
	bursts = []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
	rates  = []float64{0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
)

// Adjust raises or lowers the pace of the running order or, if there is none, the size of a burst. The
// running order is stopped and the rest of it is started again. A higher pace than the one confirmed
// needs another ticket.
func (o *Orders) Adjust(up bool) tea.Cmd {
	r := o.atRate()
	if r == nil {
		o.Burst = step(bursts, o.Burst, up)
		return nil
	}
	left, changed := r.atNextPace(up)
	switch {
	case !changed:
		return nil
	case up && r.Key != o.keys.Selected():
		return o.app.Warn("The rate is fired at " + o.name(r.Key) + ": select that to raise it.")
	}
	replace := func(order model.Order) tea.Cmd {
		if left.Shape.Kind == model.Even {
			o.PerSecond = left.Rate
		}
		r.stop()
		return o.launch(order)
	}
	if up {
		return o.fireThen(model.Order{Rate: left.Rate, N: left.N, Cost: left.Cost, Shape: left.Shape, Scratch: left.Scratch}, replace)
	}
	if t := r.Ticket; t != nil { // less is fired than was confirmed
		lower := *t
		lower.Order.Rate, lower.Order.N, lower.Order.Shape, lower.Issued = left.Rate, left.N, left.Shape, o.app.Now()
		left.Ticket = &lower
	}
	return replace(left)
}

// atNextPace returns the rest of an order at the next pace above or below: the next step of a rate, and
// twice or half the pace of a ramp or a recording. changed is false if no pace within the bounds is
// left.
func (r *runningOrder) atNextPace(up bool) (left model.Order, changed bool) {
	factor := collect.If(up, 2, 0.5)
	if k := r.Shape.Kind; k == model.Ramp || k == model.Recorded {
		left = r.Rest(r.sent, factor)
		return left, left.Fastest() <= model.MaxRate && !(k == model.Ramp && up && r.Shape.To >= model.MaxRate)
	}
	next := step(rates, r.Rate, up)
	left = r.Rest(r.sent, next/r.Rate)
	left.Rate = next
	return left, next != r.Rate
}

// step returns the next element above or below v in an ascending list.
func step[T int | float64](list []T, v T, up bool) T {
	i, _ := slices.BinarySearch(list, v)
	if up {
		i++
	} else {
		i--
	}
	return list[min(max(i, 0), len(list)-1)]
}
