package limiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratescope/limiter/internal/given"
)

// Event is one call of a limiter, as Observe tells it.
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
	case errors.Is(e.Err, ErrUnknownOutcome):
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

// Observe returns l with a function that takes note of its calls, as for metrics and traces. It is
// called in the goroutine of each caller after its call, from many at once, and must not block. What
// is returned decides about several limits where l does. Allocates one slice a call.
func Observe(l Limiter, tell func(ctx context.Context, e Event)) (Limiter, error) {
	if given.Absent(l) || tell == nil {
		return nil, fmt.Errorf("%w: a limiter (%T) and a function are needed, and one is nil", ErrBadRequest, l)
	}
	if s, ok := l.(Several); ok {
		return &observedSeveral{observed{l, tell, newSystemClock()}, s}, nil
	}
	return &observed{l, tell, newSystemClock()}, nil
}

type observed struct {
	limiter Limiter
	note    func(context.Context, Event)
	system  systemClock
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
	o.note(ctx, e)
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
