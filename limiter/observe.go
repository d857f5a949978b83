package limiter

import (
	"context"
	"fmt"
	"time"

	"ratescope/limiter/internal/given"
)

// Event is one call of a limiter, as an Observer gets it.
type Event struct {
	Verb      string     // "allow", "peek", "reset", or "allow all"
	Key       string     // as the caller named it, the first of several: of too many values for a label of a metric
	Parts     []KeyLimit // what "allow all" was asked about
	Cost      int64
	Decisions []Decision // one a limit; none for a reset and after an error
	Err       error
	Took      time.Duration
}

// Outcome is a word for a label: "admitted", "denied", "error", "unknown" for an
// ErrUnknownOutcome, or "done" for a reset.
func (e Event) Outcome() string {
	switch {
	case e.Err != nil && isUnknown(e.Err):
		return "unknown"
	case e.Err != nil:
		return "error"
	case len(e.Decisions) == 0:
		return "done"
	case Combine(e.Decisions).Allowed:
		return "admitted"
	}
	return "denied"
}

// Observer takes note of calls, as for metrics and traces. Observe is called in the goroutine
// of each caller after its call, from many at once, and must not block.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// ObserverFunc is a function as an Observer.
type ObserverFunc func(ctx context.Context, e Event)

// Observe implements Observer.
func (f ObserverFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// Observe returns l with an observer of its calls. It decides about several limits where l
// does. Allocates one slice a call.
func Observe(l Limiter, o Observer) (Limiter, error) {
	if given.Absent(l) || given.Absent(o) {
		return nil, fmt.Errorf("%w: a limiter (%T) and an observer (%T) are needed, and one is nil", ErrBadRequest, l, o)
	}
	if s, ok := l.(Several); ok {
		return &observedSeveral{observed{l, o, newSystemClock()}, s}, nil
	}
	return &observed{l, o, newSystemClock()}, nil
}

type observed struct {
	limiter  Limiter
	observer Observer
	system   systemClock
}

// Unwrap returns the limiter that is observed.
func (o *observed) Unwrap() Limiter { return o.limiter }

func (o *observed) AllowN(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	start := o.system.now()
	d, err := o.limiter.AllowN(ctx, key, limit, n)
	o.tell(ctx, Event{Verb: "allow", Key: key, Cost: n, Decisions: []Decision{d}, Err: err}, start)
	return d, err
}

func (o *observed) Peek(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	start := o.system.now()
	d, err := o.limiter.Peek(ctx, key, limit, n)
	o.tell(ctx, Event{Verb: "peek", Key: key, Cost: n, Decisions: []Decision{d}, Err: err}, start)
	return d, err
}

func (o *observed) Reset(ctx context.Context, key string, limit Limit) error {
	start := o.system.now()
	err := o.limiter.Reset(ctx, key, limit)
	o.tell(ctx, Event{Verb: "reset", Key: key, Err: err}, start)
	return err
}

// tell completes an event: what comes with an error is no decision.
func (o *observed) tell(ctx context.Context, e Event, start Instant) {
	if e.Err != nil {
		e.Decisions = nil
	}
	e.Took = o.system.now().Sub(start)
	o.observer.Observe(ctx, e)
}

type observedSeveral struct {
	observed
	several Several
}

func (o *observedSeveral) AllowKeys(ctx context.Context, n int64, parts ...KeyLimit) ([]Decision, error) {
	start := o.system.now()
	all, err := o.several.AllowKeys(ctx, n, parts...)
	e := Event{Verb: "allow all", Parts: parts, Cost: n, Decisions: all, Err: err}
	if len(parts) > 0 {
		e.Key = parts[0].Key
	}
	o.tell(ctx, e, start)
	return all, err
}
