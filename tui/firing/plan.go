package firing

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/format"
)

// plan is a request that is going to be fired.
type plan struct {
	id   int64
	key  string
	at   limiter.Instant // on the server's clock
	stop chan struct{}   // closed when it is taken back
}

// plannedMsg says that the moment of a plan has come.
type plannedMsg struct{ id int64 }

// FireAt fires one request at the selected key at an instant that is still to come. It goes the
// way of every other order when its moment has come; the stop key takes it back.
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
	if len(o.plans) >= mostPlans {
		o.app.Warn(fmt.Sprintf("%d requests wait for their moment already: x takes them back.", len(o.plans)))
		return nil
	}
	o.planned++
	p := plan{o.planned, k.Reading.Key, at, make(chan struct{})}
	o.plans = append(o.plans, p)
	o.MarkPlans()
	wait := max(at.Sub(o.keys.LiveAt()), 0)
	o.app.Say("One request is fired in " + format.Span(wait) + "; x takes it back.")
	ctx := o.app.Context()
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

// mostPlans is how many requests may wait for their moment.
const mostPlans = 20

// carryOut fires a plan whose moment has come, if its key is still the selected one.
func (o *Orders) carryOut(id int64) tea.Cmd {
	i := slices.IndexFunc(o.plans, func(p plan) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	p := o.plans[i]
	o.plans = slices.Delete(o.plans, i, i+1)
	o.MarkPlans()
	if p.key != o.keys.Selected() {
		o.app.Warn("Nothing was fired at " + o.name(p.key) + ": another key is selected now.")
		return nil
	}
	return o.Fire(model.Order{N: 1})
}

// dropPlans takes back what waits for its moment.
func (o *Orders) dropPlans() {
	for _, p := range o.plans {
		close(p.stop)
	}
	o.plans = nil
	o.MarkPlans()
}

// MarkPlans marks on the timeline what will be fired at the selected key; it is called when
// another key is selected.
func (o *Orders) MarkPlans() {
	var list []limiter.Instant
	for _, p := range o.plans {
		if p.key == o.keys.Selected() {
			list = append(list, p.at)
		}
	}
	o.keys.ShowPlans(list)
}
