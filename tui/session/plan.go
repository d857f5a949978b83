package session

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
func (s *Session) FireAt(at limiter.Instant) tea.Cmd {
	k := s.board.Key(s.selected)
	switch why := s.CanFire(); {
	case k == nil:
		return nil
	case why != "":
		s.Warn(why)
		return nil
	case s.frozen != nil:
		s.Warn("The picture is paused, and what is to come is not shown: p goes on.")
		return nil
	}
	if _, err := k.Reading.Aim(); err != nil {
		s.Warn("Nothing is fired at " + s.Name(k.Reading.Key) + ": " + err.Error() + ".")
		return nil
	}
	if len(s.plans) >= mostPlans {
		s.Warn(fmt.Sprintf("%d requests wait for their moment already: x takes them back.", len(s.plans)))
		return nil
	}
	s.planned++
	p := plan{s.planned, k.Reading.Key, at, make(chan struct{})}
	s.plans = append(s.plans, p)
	s.showPlans()
	wait := max(at.Sub(s.now), 0)
	s.Say("One request is fired in " + format.Span(wait) + "; x takes it back.")
	ctx := s.Context()
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
func (s *Session) carryOut(id int64) tea.Cmd {
	i := slices.IndexFunc(s.plans, func(p plan) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	p := s.plans[i]
	s.plans = slices.Delete(s.plans, i, i+1)
	s.showPlans()
	if p.key != s.selected {
		s.Warn("Nothing was fired at " + s.Name(p.key) + ": another key is selected now.")
		return nil
	}
	return s.Fire(model.Order{N: 1})
}

// dropPlans takes back what waits for its moment.
func (s *Session) dropPlans() {
	for _, p := range s.plans {
		close(p.stop)
	}
	s.plans = nil
	s.showPlans()
}

// showPlans marks on the timeline what is going to be fired at the selected key.
func (s *Session) showPlans() {
	var list []limiter.Instant
	for _, p := range s.plans {
		if p.key == s.selected {
			list = append(list, p.at)
		}
	}
	s.Time.Plan(list)
	s.Redraw()
}
