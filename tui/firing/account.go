package firing

import (
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/tui/shell"
)

// account holds the outcomes of the requests that were fired from here.
type account struct {
	app       *shell.App
	inbox     *inbox
	decisions []Decision // newest last
	outcomes  model.Outcomes
}

// Decision is a line of the list of decisions.
type Decision struct {
	model.Fired
	N int // consecutive decisions that differ only in their instant
}

// keepDecisions bounds the list of decisions.
const keepDecisions = 200

// Decisions returns the outcomes of the latest requests fired from here, oldest first. The caller
// must not change it.
func (a *account) Decisions() []Decision { return a.decisions }

// Outcomes returns how many requests were fired from here, by outcome.
func (a *account) Outcomes() model.Outcomes { return a.outcomes }

// add adds the outcome of a request.
func (a *account) add(f model.Fired) {
	a.outcomes.Add(f.Outcome)
	if n := len(a.decisions); n > 0 && alike(&a.decisions[n-1].Fired, &f) {
		a.decisions[n-1] = Decision{f, a.decisions[n-1].N + 1}
		return
	}
	a.decisions = append(a.decisions, Decision{f, 1})
	if n := len(a.decisions); n > keepDecisions {
		a.decisions = slices.Delete(a.decisions, 0, n-keepDecisions)
	}
}

// alike says whether two decisions can share a line.
func alike(x, y *model.Fired) bool {
	return x.Order == y.Order && x.Outcome == y.Outcome && x.Outcome == model.Denied && x.Cost == y.Cost
}

// inbox collects the reports of injectors until the screen takes them. A single command waits for
// it, however many requests are under way.
type inbox struct {
	mu    sync.Mutex
	fired []model.Fired
	ended []ended
	wake  chan struct{} // holds one token when there is something to take
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

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

// Gather is how long reports are collected before they are shown. At high rates every report would
// otherwise cause a message and a frame.
const Gather = 40 * time.Millisecond

// Wait returns the command that waits until injectors have something to report.
func (a *account) Wait() tea.Cmd {
	ctx, b := a.app.Context(), a.inbox
	return func() tea.Msg {
		select {
		case <-ctx.Done():
			return nil
		case <-b.wake:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(Gather):
		}
		return b.take()
	}
}

// take returns the reports since the previous call.
func (b *inbox) take() firedMsg {
	b.mu.Lock()
	defer b.mu.Unlock()
	msg := firedMsg{b.fired, b.ended}
	b.fired, b.ended = nil, nil
	select {
	case <-b.wake:
	default:
	}
	return msg
}

// TakeFired returns the message with all reports so far.
func (a *account) TakeFired() tea.Msg { return a.inbox.take() }

// FiredMsg returns the message that arrives when requests fired from here were decided.
func FiredMsg(f ...model.Fired) tea.Msg { return firedMsg{fired: f} }
