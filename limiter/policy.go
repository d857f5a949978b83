package limiter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ratescope/limiter/internal/given"
)

// OverLimit is a request that was denied, and all that is needed to try again.
type OverLimit struct {
	Limiter Limiter
	Key     string
	Limit   Limit
	Cost    int64
	Denied  Decision
}

// Policy is what becomes of a request that was denied: Drop, Reject, Throttle, Queue, or
// several with Or. Blocking a key for a while is not among them, because it has to hold
// for all processes: see WithBlock.
type Policy interface {
	// Handle settles a denied request: by its admission in the end, by the decision as it
	// is, or by an error. Errors that mean "denied" are ErrLimited.
	Handle(ctx context.Context, o OverLimit) (Decision, error)
}

var errNoPolicy = fmt.Errorf("%w: there is no policy: use Drop() to leave it at the decision", ErrBadRequest)

// Apply decides about a request and lets the policy settle it when it is denied.
func Apply(ctx context.Context, l Limiter, p Policy, key string, limit Limit, n int64) (Decision, error) {
	if given.Absent(l) {
		return Decision{}, errNoLimiter
	}
	if given.Absent(p) {
		return Decision{}, errNoPolicy
	}
	if line, ok := p.(interface{ busy(string) bool }); ok && n > 0 && line.busy(key) {
		d, err := l.Peek(ctx, key, limit, n) // queued requests come first
		if err != nil {
			return d, err
		}
		d.Allowed = false
		return p.Handle(ctx, OverLimit{Limiter: l, Key: key, Limit: limit, Cost: n, Denied: d})
	}
	d, err := l.AllowN(ctx, key, limit, n)
	if err != nil || d.Allowed {
		return d, err
	}
	return p.Handle(ctx, OverLimit{Limiter: l, Key: key, Limit: limit, Cost: n, Denied: d})
}

// Drop leaves it at the decision: the caller looks at Allowed.
func Drop() Policy { return drop{} }

type drop struct{}

func (drop) Handle(_ context.Context, o OverLimit) (Decision, error) { return o.Denied, nil }

// Reject turns a denied request into a *LimitedError.
func Reject() Policy { return reject{} }

type reject struct{}

func (reject) Handle(_ context.Context, o OverLimit) (Decision, error) {
	return o.Denied, &LimitedError{Key: o.Key, Decision: o.Denied}
}

// Throttle waits until the request is admitted, for most at the longest and never beyond
// the context. It gives up at once, with a *LimitedError, when that would not be enough.
func Throttle(most time.Duration) Policy { return throttle(most) }

type throttle time.Duration

func (t throttle) Handle(ctx context.Context, o OverLimit) (Decision, error) {
	bounded, cancel := context.WithTimeout(ctx, time.Duration(t))
	defer cancel()
	d, err := o.wait(bounded, o.Denied)
	return d, o.late(ctx, bounded, err)
}

// late makes a denial of the error with which a policy's own time ended: no store has failed, and a caller who
// lets requests pass where one does shall not let this one pass. It asks the clock for the end, because an error
// at the deadline may come before the context knows of it.
func (o OverLimit) late(ctx, bounded context.Context, err error) error {
	if end, _ := bounded.Deadline(); err == nil || given.Now().Before(end) || ctx.Err() != nil || errors.Is(err, ErrLimited) {
		return err
	}
	return errors.Join(&LimitedError{Key: o.Key, Decision: o.Denied}, err)
}

// Or tries one policy after another until one admits. The last one has the last word, as
// in Or(queue, Reject()).
func Or(policies ...Policy) Policy { return anyOf(policies) }

type anyOf []Policy

func (e anyOf) Handle(ctx context.Context, o OverLimit) (d Decision, err error) {
	d = o.Denied
	for _, p := range e {
		if given.Absent(p) {
			return o.Denied, errNoPolicy
		}
		o.Denied = d
		if d, err = p.Handle(ctx, o); err == nil && d.Allowed || err != nil && !errors.Is(err, ErrLimited) {
			return d, err
		}
	}
	return d, err
}

func (e anyOf) busy(key string) bool {
	return slices.ContainsFunc(e, func(p Policy) bool {
		line, ok := p.(interface{ busy(string) bool })
		return ok && !given.Absent(p) && line.busy(key)
	})
}

// Queue queues denied requests by key, first in, first out: each is tried again when it is the
// first, and new ones go to the end. The length of a queue and the age of a request are
// bounded. A request waits in the goroutine of its caller, so no goroutine is left behind.
// Only the requests of this process are in order. Queues are told apart by key, so limiters
// that use the same keys need a Queue each.
type Queue struct {
	length int
	age    time.Duration
	mu     sync.Mutex
	lines  map[string][]chan struct{} // requests that wait, by key; the first is tried next
}

// NewQueue returns a queue of at most length requests a key, none of which waits longer
// than age.
func NewQueue(length int, age time.Duration) (*Queue, error) {
	if length < 1 || age <= 0 {
		return nil, fmt.Errorf("%w: a queue of %d requests for %v holds no request: use a length of 1 or more and an age above 0",
			ErrBadRequest, length, age)
	}
	return &Queue{length: length, age: age, lines: map[string][]chan struct{}{}}, nil
}

// Handle implements Policy. A request that grew too old returns a *LimitedError joined with
// context.DeadlineExceeded.
func (q *Queue) Handle(ctx context.Context, o OverLimit) (Decision, error) {
	if o.Denied.RetryAfter == Never {
		return o.Denied, &LimitedError{Key: o.Key, Decision: o.Denied}
	}
	turn, ok := q.join(o.Key)
	if !ok {
		return o.Denied, errors.Join(&LimitedError{Key: o.Key, Decision: o.Denied}, ErrQueueFull)
	}
	defer q.leave(o.Key, turn)
	bounded, cancel := context.WithTimeout(ctx, q.age)
	defer cancel()
	select {
	case <-turn:
	case <-bounded.Done():
		return o.Denied, o.late(ctx, bounded, bounded.Err())
	}
	d, err := Wait(bounded, o.Limiter, o.Key, o.Limit, o.Cost)
	return d, o.late(ctx, bounded, err)
}

// Len returns how many requests of a key wait.
func (q *Queue) Len(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines[key])
}

func (q *Queue) busy(key string) bool { return q.Len(key) > 0 }

// join adds a request at the end; the channel closes when it is the first.
func (q *Queue) join(key string) (chan struct{}, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.lines[key]
	if len(line) >= q.length {
		return nil, false
	}
	turn := make(chan struct{})
	if len(line) == 0 {
		close(turn)
	}
	q.lines[key] = append(line, turn)
	return turn, true
}

func (q *Queue) leave(key string, turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.lines[key], turn)
	line := slices.Delete(q.lines[key], at, at+1)
	if q.lines[key] = line; len(line) == 0 {
		delete(q.lines, key)
	} else if at == 0 {
		close(line[0])
	}
}

// LimitedError is a denied request as an error. errors.Is tells ErrLimited.
type LimitedError struct {
	Key      string
	Decision Decision
}

// Error is one sentence with the key quoted.
func (e *LimitedError) Error() string {
	d := e.Decision
	head := fmt.Sprintf("key %q is over its limit of %d in %v", e.Key, d.Limit.Count, d.Limit.Window)
	if d.RetryAfter == Never {
		return head + ": a request of this cost can never be admitted"
	}
	return fmt.Sprintf("%s: try again in %v", head, d.RetryAfter)
}

// Is makes errors.Is(err, ErrLimited) true.
func (e *LimitedError) Is(target error) bool { return target == ErrLimited }

var errNoLimiter = fmt.Errorf("%w: there is no limiter: make one with NewMemory or redisstore.New", ErrBadRequest)

// Wait asks until the request is admitted, and sleeps in between for as long as the
// limiter says. It returns at once, with a *LimitedError, when no wait can help or when
// the context would be over before the next try; it does not wait in vain. When
// there are other callers, a wait may have to be repeated; see Queue for an order among them.
//
// The wait is one on the limiter's clock, where WithClock gave it one; the context's deadline
// is one on this machine's.
func Wait(ctx context.Context, l Limiter, key string, limit Limit, n int64) (Decision, error) {
	if given.Absent(l) {
		return Decision{}, errNoLimiter
	}
	d, err := l.AllowN(ctx, key, limit, n)
	if err != nil || d.Allowed {
		return d, err
	}
	return OverLimit{Limiter: l, Key: key, Limit: limit, Cost: n}.wait(ctx, d)
}

// wait sleeps as long as the denied decision d says, asks again, and so on.
func (o OverLimit) wait(ctx context.Context, d Decision) (Decision, error) {
	for {
		if d.RetryAfter == Never {
			return d, &LimitedError{Key: o.Key, Decision: d}
		}
		if end, bounded := ctx.Deadline(); bounded && given.Now().Add(d.RetryAfter).After(end) {
			return d, errors.Join(&LimitedError{Key: o.Key, Decision: d}, context.DeadlineExceeded)
		}
		if err := sleepOn(ctx, o.Limiter, d.RetryAfter); err != nil {
			return d, err
		}
		var err error
		if d, err = o.Limiter.AllowN(ctx, o.Key, o.Limit, o.Cost); err != nil || d.Allowed {
			return d, err
		}
	}
}

// sleepOn waits for d on the clock of the limiter, or of the one that it wraps, or else on
// this machine's.
func sleepOn(ctx context.Context, l Limiter, d time.Duration) error {
	if s, ok := find[interface {
		Sleep(ctx context.Context, d time.Duration) error
	}](l); ok {
		return s.Sleep(ctx, d)
	}
	return given.Sleep(ctx, d)
}
