package session

import (
	"context"
	"slices"
	"sync"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
)

// firing is what is being fired and what became of it.
type firing struct {
	burst     int
	perSecond float64
	orders    map[int64]*runningOrder
	lastOrder int64
	results   *inbox
	decisions []Decision // newest last
	outcomes  model.Outcomes
	plans     []plan // what waits for its moment
	planned   int64  // the number of the newest plan
}

func newFiring() firing {
	return firing{burst: 10, perSecond: 5, orders: map[int64]*runningOrder{}, results: &inbox{wake: make(chan struct{}, 1)}}
}

// runningOrder is an order that is being carried out.
type runningOrder struct {
	model.Order
	cancel  context.CancelFunc
	stopped bool // by the person, or by the end of the arming
}

// stop ends the shot.
func (r *runningOrder) stop() {
	r.stopped = true
	r.cancel()
}

// Decision is a line of the list of decisions.
type Decision struct {
	model.Fired
	N int // how many in a row were alike but for their instant
}

// keepDecisions bounds the list of decisions.
const keepDecisions = 200

// Decisions returns what became of the requests fired from here, oldest first. It must not
// be changed.
func (s *Session) Decisions() []Decision { return s.decisions }

// Outcomes returns how many requests were fired from here, by outcome.
func (s *Session) Outcomes() model.Outcomes { return s.outcomes }

// Burst returns how many requests a burst fires.
func (s *Session) Burst() int { return s.burst }

// PerSecond returns the rate at which requests are fired.
func (s *Session) PerSecond() float64 { return s.perSecond }

// Firing returns how many shots are under way.
func (s *Session) Firing() int { return len(s.orders) }

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

func (s *Session) nextFired() tea.Cmd {
	ctx, b := s.Context(), s.results
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
func (s *Session) CanFire() string {
	if s.Injector == nil {
		return "Nothing can be fired at this source."
	}
	switch st := s.Armament(); {
	case st.Refused != nil:
		return st.Refused.Error()
	case !st.Armed:
		return "Firing is not armed: press ! to arm it."
	}
	if s.group != "" {
		return s.group + " is a group: enter opens it; select one of its keys to fire at."
	}
	return ""
}

// Fire orders a shot at the selected key. What may be fired is the injector's to say. At a server
// of others nothing is sent before its ticket was confirmed.
func (s *Session) Fire(order model.Order) tea.Cmd { return s.fireThen(order, s.launch) }

// fireThen is Fire with what is to be done once nothing stands in the way.
func (s *Session) fireThen(order model.Order, then func(model.Order) tea.Cmd) tea.Cmd {
	k := s.board.Key(s.selected)
	switch why := s.CanFire(); {
	case k == nil:
		s.Warn("There is no key to fire at yet.")
		return nil
	case why != "":
		s.Warn(why)
		return nil
	case s.selectionMoved():
		return nil
	}
	target, err := k.Reading.Aim()
	if err != nil {
		s.Warn("Nothing was fired at " + s.Name(k.Reading.Key) + ": " + err.Error() + ".")
		return nil
	}
	order.Key, order.Target, order.Cost = k.Reading.Key, target, max(order.Cost, 1)
	if s.Arming != nil {
		s.issue(order, k, then)
		return nil
	}
	return then(order)
}

// launch begins a shot that nothing stands in the way of.
func (s *Session) launch(order model.Order) tea.Cmd {
	s.lastOrder++
	order.ID = s.lastOrder
	ctx, cancel := context.WithCancel(s.Context())
	s.orders[order.ID] = &runningOrder{Order: order, cancel: cancel}
	return func() tea.Msg {
		defer cancel()
		tally, err := s.Injector.Fire(ctx, order, func(f model.Fired) {
			f.Order = order.ID
			s.results.put([]model.Fired{f}, nil)
		})
		s.results.put(nil, []ended{{order.ID, tally, err}})
		return nil
	}
}

// record takes in what was fired.
func (s *Session) record(msg firedMsg) {
	s.Redraw()
	for _, f := range msg.fired {
		s.board.Mark(f)
		s.outcomes.Add(f.Outcome)
		if n := len(s.decisions); n > 0 && alike(&s.decisions[n-1].Fired, &f) {
			s.decisions[n-1] = Decision{f, s.decisions[n-1].N + 1}
			continue
		}
		s.decisions = append(s.decisions, Decision{f, 1})
	}
	if n := len(s.decisions); n > keepDecisions {
		s.decisions = slices.Delete(s.decisions, 0, n-keepDecisions)
	}
	for _, e := range msg.ended {
		if r := s.orders[e.id]; r != nil && r.Ticket != nil && e.err == nil && !r.stopped {
			s.Say(reported(r.Ticket, e.outcomes))
		}
		delete(s.orders, e.id)
		if e.err != nil && s.Context().Err() == nil && e.err != context.Canceled {
			s.Warn(e.err.Error())
		}
	}
}

// alike says whether two decisions can share a line.
func alike(x, y *model.Fired) bool {
	return x.Order == y.Order && x.Outcome == y.Outcome && x.Outcome == model.Denied && x.Cost == y.Cost
}

// Rate returns the running shot that has a rate, or nil.
func (s *Session) Rate() *model.Order {
	if r := s.runningRate(); r != nil {
		return &r.Order
	}
	return nil
}

func (s *Session) runningRate() *runningOrder {
	for _, r := range s.orders {
		if r.Rate > 0 {
			return r
		}
	}
	return nil
}

// ToggleRate starts firing at a rate, or stops it.
func (s *Session) ToggleRate() tea.Cmd {
	if r := s.runningRate(); r != nil {
		r.stop()
		return nil
	}
	return s.Fire(model.Order{Rate: s.perSecond})
}

func (s *Session) ceaseFire() {
	s.dropPlans()
	for _, r := range s.orders {
		r.stop()
	}
}

// bursts and rates are the steps that + and - go through.
var (
	bursts = []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
	rates  = []float64{0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
)

// Adjust raises or lowers the rate while one runs, else the burst; in a replay the speed. A
// running rate is stopped and started anew at the new one.
func (s *Session) Adjust(up bool) tea.Cmd {
	if p := s.Player; p != nil {
		p.Faster(up)
		s.now = p.Now(s.local)
		s.Say("Speed: " + speedText(p.Playback(s.local).Speed) + ".")
		return nil
	}
	r := s.runningRate()
	if r == nil {
		s.burst = step(bursts, s.burst, up)
		return nil
	}
	next := step(rates, s.perSecond, up)
	if next == s.perSecond {
		return nil
	}
	replace := func(order model.Order) tea.Cmd {
		s.perSecond = next
		r.stop()
		r.Rate = 0 // it is ending: the next one is the rate now
		return s.launch(order)
	}
	if !up { // less is fired than was confirmed
		order := r.Order
		order.Rate = next
		if t := r.Ticket; t != nil {
			lower := *t
			lower.Order.Rate, lower.Issued = next, s.App.Now()
			order.Ticket = &lower
		}
		return replace(order)
	}
	return s.fireThen(model.Order{Rate: next}, replace)
}

// step returns the neighbour of v in a rising list.
func step[T int | float64](list []T, v T, up bool) T {
	i, _ := slices.BinarySearch(list, v)
	if up {
		i++
	} else {
		i--
	}
	return list[min(max(i, 0), len(list)-1)]
}

// TakeFired returns what injectors have reported so far as the message that brings it.
func (s *Session) TakeFired() tea.Msg {
	s.results.put(nil, nil)
	return s.nextFired()()
}
