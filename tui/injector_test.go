package tui_test

import (
	"context"
	"sync"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/tuitest"
)

// feedInjector fires at the keys of a feed, at the pace that is asked for. It is safe for
// concurrent use.
type feedInjector struct {
	feed   *tuitest.Feed
	refuse error // why nothing may be fired; nil: it is armed

	mu     sync.Mutex
	orders []model.Order
}

// Armed implements firing.Injector.
func (i *feedInjector) Armed() error { return i.refuse }

// Orders returns what was ordered so far, oldest first.
func (i *feedInjector) Orders() []model.Order {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]model.Order(nil), i.orders...)
}

// Fire implements firing.Injector.
func (i *feedInjector) Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error) {
	i.mu.Lock()
	i.orders = append(i.orders, s)
	i.mu.Unlock()
	var tally model.Outcomes
	if err := s.Check(); err != nil {
		return tally, err
	}
	gap := func(n int) time.Duration { // after the request n
		switch at := s.Shape.At; {
		case n+1 < len(at):
			return at[n+1] - at[n]
		case s.Rate > 0:
			return time.Duration(float64(time.Second) / s.Rate)
		}
		return 0
	}
	for n := 0; s.N == 0 || n < s.N; n++ {
		if s.Hold != nil && s.Hold(ctx) != nil {
			return tally, nil
		}
		fired, err := i.feed.FireAt(limiter.InstantOf(time.Now()), s.Key, s.Cost)
		if err != nil {
			return tally, err
		}
		fired.Order = s.ID
		tally.Add(fired.Outcome)
		report(fired)
		select {
		case <-ctx.Done():
			return tally, nil
		case <-time.After(gap(n)):
		}
	}
	return tally, nil
}
