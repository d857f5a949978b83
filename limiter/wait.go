package limiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratescope/limiter/internal/absent"
	"ratescope/limiter/internal/waiting"
)

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
	if absent.Value(l) {
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
		if end, bounded := ctx.Deadline(); bounded && wall().Add(d.RetryAfter).After(end) {
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
	return waiting.Sleep(ctx, d)
}
