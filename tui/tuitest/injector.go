package tuitest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
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

// Key returns the message of a key by its name.
func Key(name string) tea.KeyPressMsg {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp,
		"down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace}
	if code, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: []rune(letter)[0], Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}
