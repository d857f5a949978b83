// Package firing fires requests from the screen: it says what may be fired and why not, asks for
// a ticket where the server is not the user's own, runs bursts and rates, and lists what became of
// every request. What is sent, and the audit file, are the Injector's; see feed/fire. It is a
// package of its own so that the way from a key press to a request can be read in one place.
package firing

import (
	"context"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/format"
	"ratescope/tui/shell"
)

// Injector fires synthetic requests. It decides alone what may be fired.
type Injector interface {
	// Armed returns nil when firing is allowed, else a sentence that says why not and
	// how to allow it.
	Armed() error
	// Fire blocks until the order is done or ctx ends, and reports every request.
	Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error)
}

// Keys are what can be fired at: the keys on the board, of which one is selected.
type Keys interface {
	Live() *model.Board          // the board that goes on collecting behind a pause
	LiveAt() limiter.Instant     // its instant, on the server's clock
	Paused() bool                // whether the picture stands still
	Selected() string            // Reading.Key; "" none
	Group() string               // the group under the cursor; "" it is on the selected key
	SelectionMoved() bool        // whether the selected key went away; says so once, on the screen too
	ShowPlans([]limiter.Instant) // marks on the timeline when requests will be fired at the selected key
}

// Options says what Orders fire with.
type Options struct {
	Injector Injector                // nil: nothing can be fired
	Arming   Arming                  // nil: what can be fired is fired at once
	Changer  Changer                 // nil: keys cannot be changed
	Back     TakerBack               // nil: nothing can be taken back
	Recorded Recorded                // nil: no recording can be fired
	Name     func(key string) string // writes a key as the terminal may show it
	Mask     bool                    // the middle of key names is hidden
}

// Orders are the requests that are fired from the screen: what is being fired, what waits for
// its moment, and what became of it. Make one with New. Not safe for concurrent use: everything
// but the commands that it returns runs on Bubble Tea's goroutine.
type Orders struct {
	app  *shell.App
	keys Keys

	injector  Injector
	arming    Arming
	changer   Changer
	takerBack TakerBack
	name      func(key string) string
	mask      bool
	wasArmed  bool // at the last tick

	burst     int
	perSecond float64 // of the rate that r starts
	composer  composer
	orders    map[int64]*runningOrder
	lastOrder int64 // the number of the newest order
	results   *inbox
	decisions []Decision // newest last
	outcomes  model.Outcomes
	plans     []plan   // what waits for its moment
	planned   int64    // the number of the newest plan
	actions   []action // what can be taken back, newest last
}

// New returns no orders yet. They are fired at keys, and their sentences appear in app.
func New(app *shell.App, keys Keys, o Options) *Orders {
	return &Orders{
		app: app, keys: keys, injector: o.Injector, arming: o.Arming, changer: o.Changer, takerBack: o.Back, name: o.Name, mask: o.Mask,
		composer: composer{text: suggested[0], recorded: o.Recorded}, burst: 10, perSecond: 5, orders: map[int64]*runningOrder{}, results: &inbox{wake: make(chan struct{}, 1)},
	}
}

// Update takes in what injectors and arming report; other messages do nothing.
func (o *Orders) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case firedMsg:
		o.record(msg)
		return o.Wait()
	case plannedMsg:
		return o.carryOut(msg.id)
	case armedMsg:
		o.arm(msg)
	case changedMsg:
		o.changed(msg)
	case previewedMsg:
		msg.d.previewed(msg)
		o.app.Redraw()
	case takenBackMsg:
		o.takenBack(msg)
	case recordedMsg:
		return o.fireRecorded(msg)
	}
	return nil
}

// runningOrder is an order that is being carried out.
type runningOrder struct {
	model.Order
	cancel  context.CancelFunc
	gate    gate
	sent    int    // requests whose fate is known
	stopped bool   // by the person, or by the end of the arming
	audit   string // the id of the action; "" before its first request was answered
	at      string // the key that its requests went to: a copy, where it is fired at one
}

// stop ends the order.
func (r *runningOrder) stop() {
	r.stopped = true
	r.cancel()
}

// paced reports whether the requests of an order come at a pace, and not as fast as the answers.
func (r *runningOrder) paced() bool { return r.Rate > 0 || r.Shape.Kind == model.Recorded }

// Decision is a line of the list of decisions.
type Decision struct {
	model.Fired
	N int // how many in a row were alike but for their instant
}

// keepDecisions bounds the list of decisions.
const keepDecisions = 200

// Decisions returns what became of the requests fired from here, oldest first. It must not
// be changed.
func (o *Orders) Decisions() []Decision { return o.decisions }

// Outcomes returns how many requests were fired from here, by outcome.
func (o *Orders) Outcomes() model.Outcomes { return o.outcomes }

// Burst returns how many requests a burst fires.
func (o *Orders) Burst() int { return o.burst }

// PerSecond returns the rate at which requests are fired.
func (o *Orders) PerSecond() float64 { return o.perSecond }

// Firing returns how many orders are under way.
func (o *Orders) Firing() int { return len(o.orders) }

// inbox gathers what injectors report until the screen takes it: one command waits on it,
// however many requests are under way.
type inbox struct {
	mu    sync.Mutex
	fired []model.Fired
	ended []ended
	wake  chan struct{} // holds one token when there is something to take
}

type ended struct {
	id       int64
	outcomes model.Outcomes
	err      error
}

// firedMsg is what came in since the one before.
type firedMsg struct {
	fired []model.Fired
	ended []ended
}

func (b *inbox) put(f []model.Fired, e []ended) {
	b.mu.Lock()
	b.fired = append(b.fired, f...)
	b.ended = append(b.ended, e...)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Wait returns the command that waits until injectors have something to report.
func (o *Orders) Wait() tea.Cmd {
	ctx, b := o.app.Context(), o.results
	return func() tea.Msg {
		select {
		case <-ctx.Done():
			return nil
		case <-b.wake:
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		msg := firedMsg{b.fired, b.ended}
		b.fired, b.ended = nil, nil
		return msg
	}
}

// CanFire says why nothing can be fired at all; "" when it can.
func (o *Orders) CanFire() string {
	if o.injector == nil {
		return "Nothing can be fired at this source."
	}
	switch st := o.Armament(); {
	case st.Refused != nil:
		return st.Refused.Error()
	case !st.Armed:
		return "Firing is not armed: press ! to arm it."
	}
	if o.keys.Group() != "" {
		return o.keys.Group() + " is a group: enter opens it; select one of its keys to fire at."
	}
	return ""
}

// Fire orders requests at the selected key. What may be fired is the injector's to say. At a server
// of others nothing is sent before its ticket was confirmed.
func (o *Orders) Fire(order model.Order) tea.Cmd { return o.fireThen(order, o.launch) }

// fireThen checks that an order can be fired at the selected key and completes it, then does what
// then says, after its ticket was confirmed where there is one.
func (o *Orders) fireThen(order model.Order, then func(model.Order) tea.Cmd) tea.Cmd {
	k := o.keys.Live().Key(o.keys.Selected())
	switch why := o.CanFire(); {
	case k == nil:
		o.app.Warn("There is no key to fire at yet.")
		return nil
	case why != "":
		o.app.Warn(why)
		return nil
	case o.keys.SelectionMoved():
		return nil
	}
	target, err := k.Reading.Aim()
	if order.Change.Kind != model.NoChange {
		target, err = k.Reading.AimChange(order.Change)
	}
	if err != nil {
		o.app.Warn(nothing(order) + o.name(k.Reading.Key) + ": " + err.Error() + ".")
		return nil
	}
	order.Key, order.Target, order.Cost = k.Reading.Key, target, max(order.Cost, 1)
	if o.arming != nil {
		return o.issue(order, k, then)
	}
	return then(order)
}

// nothing begins the sentence that says why an order is not carried out.
func nothing(order model.Order) string {
	if order.Change.Kind != model.NoChange {
		return "Nothing was changed at "
	}
	return "Nothing was fired at "
}

// launch begins an order that nothing stands in the way of.
func (o *Orders) launch(order model.Order) tea.Cmd {
	o.lastOrder++
	order.ID = o.lastOrder
	ctx, cancel := context.WithCancel(o.app.Context())
	r := &runningOrder{cancel: cancel}
	order.Hold = r.gate.wait
	r.Order = order
	o.orders[order.ID] = r
	return func() tea.Msg {
		defer cancel()
		tally, err := o.injector.Fire(ctx, order, func(f model.Fired) {
			f.Order = order.ID
			o.results.put([]model.Fired{f}, nil)
		})
		o.results.put(nil, []ended{{order.ID, tally, err}})
		return nil
	}
}

// record takes in what was fired.
func (o *Orders) record(msg firedMsg) {
	o.app.Redraw()
	for _, f := range msg.fired {
		o.keys.Live().Mark(f)
		if r := o.orders[f.Order]; r != nil {
			r.sent++
			if id, _, ok := strings.Cut(f.Audit, "."); ok {
				r.audit, r.at = id, f.Key
			}
		}
		o.outcomes.Add(f.Outcome)
		if n := len(o.decisions); n > 0 && alike(&o.decisions[n-1].Fired, &f) {
			o.decisions[n-1] = Decision{f, o.decisions[n-1].N + 1}
			continue
		}
		o.decisions = append(o.decisions, Decision{f, 1})
	}
	if n := len(o.decisions); n > keepDecisions {
		o.decisions = slices.Delete(o.decisions, 0, n-keepDecisions)
	}
	for _, e := range msg.ended {
		if r := o.orders[e.id]; r != nil {
			o.ended(r, e.outcomes)
		}
		if r := o.orders[e.id]; r != nil && r.Ticket != nil && e.err == nil && !r.stopped {
			o.app.Say(reported(r.Ticket, e.outcomes))
		}
		delete(o.orders, e.id)
		if e.err != nil && o.app.Context().Err() == nil && e.err != context.Canceled {
			o.app.Warn(e.err.Error())
		}
	}
}

// alike says whether two decisions can share a line.
func alike(x, y *model.Fired) bool {
	return x.Order == y.Order && x.Outcome == y.Outcome && x.Outcome == model.Denied && x.Cost == y.Cost
}

// Rate returns the running order that has a pace, or nil.
func (o *Orders) Rate() *model.Order {
	if r := o.runningRate(); r != nil {
		return &r.Order
	}
	return nil
}

func (o *Orders) runningRate() *runningOrder {
	for _, r := range o.orders {
		if !r.stopped && r.paced() {
			return r
		}
	}
	return nil
}

// ToggleRate starts firing at a rate, or stops it.
func (o *Orders) ToggleRate() tea.Cmd {
	if r := o.runningRate(); r != nil {
		r.stop()
		return nil
	}
	return o.Fire(model.Order{Rate: o.perSecond})
}

// Stop ends everything that is being fired, and takes back what waits for its moment.
func (o *Orders) Stop() {
	o.dropPlans()
	for _, r := range o.orders {
		r.stop()
	}
}

// FiringText says what is being fired and how to stop it, in at most so many columns: "" when
// nothing is, and whatever the screen is it can be read.
func (o *Orders) FiringText(columns int) string {
	if len(o.orders) == 0 {
		return ""
	}
	what, key := "firing", ""
	if s := o.runningRate(); s != nil {
		what, key = o.UnderWay(&s.Order), s.Key
	} else if len(o.orders) == 1 {
		for _, s := range o.orders {
			what, key = o.UnderWay(&s.Order), s.Key
		}
	}
	const stops = " · x stops"
	if room := columns - safetext.Width(" "+what+" at "+stops+" "); key != "" && room >= 8 {
		return " " + what + " at " + safetext.Shorten(o.name(key), room, safetext.Ellipsis) + stops + " "
	}
	return format.First(columns, " "+what+stops+" ", " "+what+" ", "firing")
}

// TakeFired returns what injectors have reported so far as the message that brings it.
func (o *Orders) TakeFired() tea.Msg {
	o.results.put(nil, nil)
	return o.Wait()()
}

// FiredMsg returns the message that arrives when requests fired from here were decided.
func FiredMsg(f ...model.Fired) tea.Msg { return firedMsg{fired: f} }
