package firing

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/shell"
)

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
		o.app.Warn(why)
		return nil
	case o.keys.Paused():
		o.app.Warn("The picture is paused, and what is to come is not shown: p goes on.")
		return nil
	}
	if _, err := k.Reading.Aim(); err != nil {
		o.app.Warn("Nothing is fired at " + o.name(k.Reading.Key) + ": " + err.Error() + ".")
		return nil
	}
	return o.plans.add(k.Reading.Key, at)
}

// add plans a request at a key, and returns the command that waits for its instant.
func (l *plans) add(key string, at limiter.Instant) tea.Cmd {
	if len(l.list) >= mostPlans {
		l.app.Warn(fmt.Sprintf("%d requests wait for their moment already: x takes them back.", len(l.list)))
		return nil
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
		o.app.Warn("Nothing was fired at " + o.name(p.key) + ": another key is selected now.")
		return nil
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
	var at []limiter.Instant
	for _, p := range l.list {
		if p.key == l.keys.Selected() {
			at = append(at, p.at)
		}
	}
	l.keys.ShowPlans(at)
}
