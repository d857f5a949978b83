package tuitest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
)

// Injector fires at the keys of a Feed, at the pace that is asked for. It is safe for
// concurrent use.
type Injector struct {
	Feed   *Feed
	Refuse error // why nothing may be fired; nil: it is armed

	mu     sync.Mutex
	orders []model.Order
}

// Armed implements firing.Injector.
func (i *Injector) Armed() error { return i.Refuse }

// Orders returns what was ordered so far, oldest first.
func (i *Injector) Orders() []model.Order {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]model.Order(nil), i.orders...)
}

// Fire implements firing.Injector.
func (i *Injector) Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error) {
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
		fired, err := i.Feed.FireAt(limiter.InstantOf(time.Now()), s.Key, s.Cost)
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

// FireAt makes one request at an instant, which is not before that of the last batch.
func (f *Feed) FireAt(now limiter.Instant, name string, cost int64) (model.Fired, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.keys {
		if k.Name != name {
			continue
		}
		d := k.state.Take(now, k.Limit, limiter.Convention{}, cost)
		fired := model.Fired{Key: name, Cost: cost, At: now, Decision: d, Latency: 120 * time.Microsecond}
		if !d.Allowed {
			fired.Outcome = model.Denied
			k.denied = append(k.denied, limiter.Entry{At: now, Count: cost})
		}
		k.fired = append(k.fired, model.Arrival{At: now, N: cost, Denied: !d.Allowed})
		return fired, nil
	}
	return model.Fired{}, fmt.Errorf("there is no key %q", name)
}

// Arming is what stands before a server of others, on the clock of the test. The zero value can
// be armed. It is safe for concurrent use.
type Arming struct {
	RunID      string   // of the server that it is armed for
	Production []string // why the server counts as one of production

	mu    sync.Mutex
	state arming.State
}

// Arming implements firing.Arming.
func (a *Arming) Arming() arming.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state.Status(time.Now())
	s.Production = a.Production
	return s
}

// Arm implements firing.Arming.
func (a *Arming) Arm(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Arm(time.Now(), arming.Server{RunID: a.RunID})
	return nil
}

// Disarm implements firing.Arming.
func (a *Arming) Disarm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Disarm()
}

// Meet implements firing.Arming.
func (a *Arming) Meet(s model.Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Link == model.Live && s.RunID != "" {
		a.state.Meet(arming.Server{RunID: s.RunID})
	}
}

// Preview implements firing.Arming.
func (a *Arming) Preview(_ context.Context, s model.Order) ([]string, error) {
	return []string{"EVALSHA 0123456789 1 " + s.Key}, nil
}

// Path implements firing.Arming.
func (a *Arming) Path(model.Order) string { return "the limiter's own script" }

// Keys implements firing.Arming.
func (a *Arming) Keys(s model.Order, _ limiter.Instant) []string { return []string{s.Key} }
