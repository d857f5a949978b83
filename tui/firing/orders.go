// Package firing fires requests from the screen: it says why something cannot be fired, asks for the
// confirmation of a ticket unless the server is the embedded one, runs bursts and rates, and lists
// the outcomes of all requests. The Injector sends the requests and writes the audit file; see
// feed/fire. The package contains all steps from a key press to the Injector.
package firing

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/handoff"
	"ratescope/tui/shell"
)

// Injector fires synthetic requests, and decides which requests may be fired.
type Injector interface {
	// Armed returns nil when firing is allowed, else a sentence that says why not and
	// how to allow it.
	Armed() error
	// Fire blocks until the order is done or ctx ends, and reports every request.
	Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error)
}

// Keys gives access to the keys that can be fired at: those on the board, one of which is selected.
type Keys struct {
	Live           func() *model.Board     // the board that goes on collecting behind a pause
	LiveAt         func() limiter.Instant  // its instant, on the server's clock
	Paused         func() bool             // whether the picture stands still
	Age            func() time.Duration    // how long ago the instant on screen was
	Selected       func() string           // Reading.Key; "" none
	Group          func() string           // the group under the cursor; "" it is on the selected key
	Fired          func(model.Fired)       // marks a request that was fired on the board, and in the files that are kept
	SelectionMoved func() bool             // whether the selected key went away; says so once, on the screen too
	ShowPlans      func([]limiter.Instant) // marks on the timeline when requests will be fired at the selected key
}

// Options configures Orders.
type Options struct {
	Injector Injector // nil: nothing can be fired
	Refused  error    // why nothing can be fired, where Injector is nil; nil: the source takes no requests
	Arming   Arming   // nil: what can be fired is fired at once
	// Change changes a key: it frees it, gives units back, or blocks it. TakeBack takes an action back. Both decide what is allowed,
	// and write it to the audit file first; nil: keys cannot be changed, nothing can be taken back.
	Change   func(context.Context, model.Order) (model.Changed, error)
	TakeBack func(context.Context, model.TakeBack) (model.TakenBack, error)
	Recorded Recorded                // nil: no recording can be fired
	Name     func(key string) string // writes a key as the terminal may show it
	Mask     bool                    // the middle of key names is hidden
}

// Orders holds the requests that are fired from the screen: the running orders, the planned ones,
// and the outcomes. Use New to make one. It is not safe for concurrent use: everything except the
// commands that it returns runs on Bubble Tea's goroutine.
type Orders struct {
	*permission
	underWay

	app     *shell.App
	keys    Keys
	options Options

	inbox     *handoff.Latest[firedMsg] // reports of injectors that the screen has not taken yet
	Decisions []Decision                // outcomes of the latest requests fired from here, newest last; not to be changed
	Outcomes  model.Outcomes            // how many requests were fired from here, by outcome

	plans   []*plan
	actions []action // that can be taken back, newest last
	typed   string   // the last order that was typed

	Burst     int     // how many requests a burst fires
	PerSecond float64 // the rate at which requests are fired
}

// New returns Orders that fire at keys and show their messages in app.
func New(app *shell.App, keys Keys, o Options) *Orders {
	n := &Orders{app: app, keys: keys, options: o, inbox: handoff.New((*firedMsg).merge), typed: suggested[0], Burst: 10, PerSecond: 5}
	n.permission = &permission{app: app, injector: o.Injector, refused: cmp.Or(o.Refused, errNoInjector), arming: o.Arming, stop: n.Stop}
	n.underWay = underWay{app: app, name: o.Name, running: map[int64]*runningOrder{}}
	return n
}

// Update handles the reports of injectors, and ignores other messages.
func (o *Orders) Update(msg tea.Msg) tea.Cmd {
	if fired, ok := msg.(firedMsg); ok {
		o.record(fired)
		return o.Wait()
	}
	return nil
}

// past is how old the picture is from which on its forecast does not hold for a request that is fired now.
const past = 2 * time.Second

// CanFire returns why nothing can be fired at all; "" if firing is possible.
func (o *Orders) CanFire() string {
	switch st, age := o.Armament(), o.keys.Age(); {
	case st.Refused == errNoInjector:
		return "Nothing can be fired at this source."
	case st.Refused != nil:
		return st.Refused.Error()
	case !st.Armed:
		return "Firing is not armed: press ! to arm it."
	case age >= past:
		return "The screen shows what was " + format.Span(age) + " ago: esc leads to now, where requests are fired."
	case o.keys.Group() != "":
		return o.keys.Group() + " is a group: enter opens it; select one of its keys to fire at."
	}
	return ""
}

// Fire orders requests at the selected key, if the injector allows them. On any server but the
// embedded one, nothing is sent before the order's ticket is confirmed.
func (o *Orders) Fire(order model.Order) tea.Cmd { return o.fireThen(order, o.launch) }

// fireThen checks and completes an order at the selected key, and calls then, after the confirmation
// of a ticket if one is needed.
func (o *Orders) fireThen(order model.Order, then func(model.Order) tea.Cmd) tea.Cmd {
	k := o.keys.Live().Key(o.keys.Selected())
	switch why := o.CanFire(); {
	case k == nil:
		return o.app.Warn("There is no key to fire at yet.")
	case why != "":
		return o.app.Warn(why)
	case o.keys.SelectionMoved():
		return nil
	}
	target, err := k.Reading.Aim()
	if order.Change.Kind != model.NoChange {
		target, err = k.Reading.AimChange(order.Change)
	}
	if err != nil {
		return o.app.Warn(nothing(order) + o.name(k.Reading.Key) + ": " + err.Error() + ".")
	}
	order.Key, order.Target, order.Cost = k.Reading.Key, target, max(order.Cost, 1)
	if o.arming != nil {
		return o.issue(order, k, then)
	}
	return then(order)
}

// nothing returns the start of the sentence that says why an order is not carried out.
func nothing(order model.Order) string {
	return collect.If(order.Change.Kind != model.NoChange, "Nothing was changed at ", "Nothing was fired at ")
}

// launch starts an order that is checked and confirmed.
func (o *Orders) launch(order model.Order) tea.Cmd {
	ctx, cancel := context.WithCancel(o.app.Context())
	order = o.begin(order, cancel)
	return func() tea.Msg {
		defer cancel()
		tally, err := o.injector.Fire(ctx, order, func(f model.Fired) {
			f.Order = order.ID
			o.inbox.Put(firedMsg{fired: []model.Fired{f}})
		})
		o.inbox.Put(firedMsg{ended: []ended{{order.ID, tally, err}}})
		return nil
	}
}

// record adds the outcomes of fired requests.
func (o *Orders) record(msg firedMsg) {
	o.app.Redraw()
	for _, f := range msg.fired {
		o.keys.Fired(f)
		if r := o.running[f.Order]; r != nil {
			r.sent++
			if id, _, ok := strings.Cut(f.Audit, "."); ok {
				r.audit, r.at = id, f.Key
			}
		}
		o.add(f)
	}
	for _, e := range msg.ended {
		if r := o.running[e.id]; r != nil {
			o.ended(r, e.outcomes)
		}
		if r := o.running[e.id]; r != nil && r.Ticket != nil && e.err == nil && !r.stopped {
			o.app.Say(reported(r.Ticket, e.outcomes))
		}
		delete(o.running, e.id)
		if e.err != nil && o.app.Context().Err() == nil && e.err != context.Canceled {
			o.app.Warn(e.err.Error())
		}
	}
}

// ToggleRate starts firing at a rate, or stops it.
func (o *Orders) ToggleRate() tea.Cmd {
	if r := o.atRate(); r != nil {
		r.stop()
		return nil
	}
	return o.Fire(model.Order{Rate: o.PerSecond})
}

// Stop ends all running orders, and cancels the planned ones.
func (o *Orders) Stop() {
	for _, p := range o.plans {
		p.drop()
	}
	o.plans = nil
	o.MarkPlans()
	o.underWay.stop()
}

// Decision is a line of the list of decisions.
type Decision struct {
	model.Fired
	N int // consecutive decisions that differ only in their instant
}

// keepDecisions bounds the list of decisions.
const keepDecisions = 200

// add adds the outcome of a request.
func (o *Orders) add(f model.Fired) {
	o.Outcomes.Add(f.Outcome)
	if n := len(o.Decisions); n > 0 && alike(&o.Decisions[n-1].Fired, &f) {
		o.Decisions[n-1] = Decision{f, o.Decisions[n-1].N + 1}
		return
	}
	o.Decisions = append(o.Decisions, Decision{f, 1})
	o.Decisions = slices.Delete(o.Decisions, 0, max(len(o.Decisions)-keepDecisions, 0))
}

// alike says whether two decisions can share a line.
func alike(x, y *model.Fired) bool {
	return x.Order == y.Order && x.Outcome == y.Outcome && x.Outcome == model.Denied && x.Cost == y.Cost
}

// ended is the result of an order as a whole.
type ended struct {
	id       int64
	outcomes model.Outcomes
	err      error
}

// firedMsg delivers the reports since the previous one.
type firedMsg struct {
	fired []model.Fired
	ended []ended
}

// merge adds later reports.
func (m *firedMsg) merge(later firedMsg) {
	m.fired, m.ended = append(m.fired, later.fired...), append(m.ended, later.ended...)
}

// Gather is how long reports are collected before they are shown. At high rates every report would
// otherwise cause a message and a frame.
const Gather = 40 * time.Millisecond

// Wait returns the command that waits until injectors have something to report. A single one waits, however many requests are
// under way.
func (o *Orders) Wait() tea.Cmd {
	ctx, inbox := o.app.Context(), o.inbox
	return func() tea.Msg {
		msg, err := inbox.Take(ctx)
		if err != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(Gather):
		}
		later, _ := inbox.TryTake()
		msg.merge(later)
		return msg
	}
}

// TakeFired returns the message with all reports so far.
func (o *Orders) TakeFired() tea.Msg {
	msg, _ := o.inbox.TryTake()
	return msg
}

// FiredMsg returns the message that arrives when requests fired from here were decided.
func FiredMsg(f ...model.Fired) tea.Msg { return firedMsg{fired: f} }
