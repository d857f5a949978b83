package limiter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ratescope/limiter/internal/absent"
)

// ErrAway means that a Breaker did not ask its limiter, because the store behind it did not
// answer a moment ago. Nothing was charged.
var ErrAway = errors.New("the store of the limiter is away")

// Several is a Limiter that also decides about several limits on one key in one call, as
// Memory and redisstore.Store do.
type Several interface {
	Limiter
	AllowAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error)
}

// BreakerConfig sets up a Breaker.
type BreakerConfig struct {
	Limiter Limiter // asked while its store answers
	// Timeout bounds each call of Limiter; 0 does not. A redisstore.Store keeps to it even
	// while its server does not answer.
	Timeout time.Duration
	// Failures in a row after which the store counts as away; 5 when 0. Below 0 it never does.
	Failures int
	// Probe is how long an away store is not asked; 1 s when 0. Then one request asks it, and
	// the others go on without it until that one is answered.
	Probe time.Duration
	// Fallback decides where Limiter could not, as a Memory of this process does; the error is
	// returned when nil. It starts with nothing charged, and what it charges stays with it.
	Fallback Limiter
	// Processes that share the limits: Fallback takes this part of each, and 1 at least. 1 when 0.
	Processes int64
	// OnError gets each error of Limiter that counts as a failure, with the context of its
	// caller; OnChange gets whether the store is away from now on, with the error that said so.
	// Neither may block.
	OnError  func(context.Context, error)
	OnChange func(away bool, err error)
}

// BreakerCounts is what a Breaker has done so far.
type BreakerCounts struct {
	Asked    int64 // calls of the limiter, probes among them
	Failed   int64 // of those, failed or too late
	Skipped  int64 // calls that were not made because the store was away
	FellBack int64 // decisions of the fallback
	Opened   int64 // how often the store went away
}

// Breaker is a Limiter in front of another one whose store may be away: it bounds how long a
// call takes, stops asking a store that does not answer, asks it again now and then, and
// meanwhile lets another limiter decide. It may be used by many goroutines.
//
// An answer that refuses, such as ErrWrongType or ErrBadRequest, is no failure, and neither is
// a call whose own context ended: a client cannot open a breaker with strange keys or by
// hanging up.
type Breaker struct {
	BreakerConfig
	system systemClock

	mu       sync.Mutex
	row      int     // failures in a row
	away     bool    // the store is not asked
	probeAt  Instant // from then on one request asks
	probing  bool
	asked    atomic.Int64
	failed   atomic.Int64
	skipped  atomic.Int64
	fellBack atomic.Int64
	opened   atomic.Int64
}

// NewBreaker checks the configuration. A fallback has to decide about several limits where the
// limiter does.
func NewBreaker(c BreakerConfig) (*Breaker, error) {
	switch {
	case absent.Value(c.Limiter):
		return nil, fmt.Errorf("%w: the breaker has no limiter: set BreakerConfig.Limiter", ErrBadRequest)
	case c.Fallback != nil && absent.Value(c.Fallback):
		return nil, fmt.Errorf("%w: the fallback is a nil %T: leave it out, or make one", ErrBadRequest, c.Fallback)
	case c.Timeout < 0 || c.Probe < 0 || c.Processes < 0:
		return nil, fmt.Errorf("%w: Timeout %v, Probe %v and Processes %d: use 0 or more", ErrBadRequest, c.Timeout, c.Probe, c.Processes)
	}
	if c.Failures == 0 {
		c.Failures = 5
	}
	if c.Probe == 0 {
		c.Probe = time.Second
	}
	return &Breaker{BreakerConfig: c, system: newSystemClock()}, nil
}

// Away reports whether the store is not asked at the moment.
func (b *Breaker) Away() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.away
}

// Counts returns what was done so far.
func (b *Breaker) Counts() BreakerCounts {
	return BreakerCounts{b.asked.Load(), b.failed.Load(), b.skipped.Load(), b.fellBack.Load(), b.opened.Load()}
}

// Unwrap returns the limiter behind the breaker.
func (b *Breaker) Unwrap() Limiter { return b.Limiter }

// AllowN implements Limiter.
func (b *Breaker) AllowN(ctx context.Context, key string, limit Limit, n int64) (d Decision, err error) {
	err = b.ask(ctx, func(ctx context.Context) (err error) { d, err = b.Limiter.AllowN(ctx, key, limit, n); return })
	if b.fallsBack(ctx, err) {
		return b.Fallback.AllowN(ctx, key, b.part(limit), n)
	}
	return d, err
}

// Peek implements Limiter.
func (b *Breaker) Peek(ctx context.Context, key string, limit Limit, n int64) (d Decision, err error) {
	err = b.ask(ctx, func(ctx context.Context) (err error) { d, err = b.Limiter.Peek(ctx, key, limit, n); return })
	if b.fallsBack(ctx, err) {
		return b.Fallback.Peek(ctx, key, b.part(limit), n)
	}
	return d, err
}

// Reset implements Limiter. It resets the fallback too.
func (b *Breaker) Reset(ctx context.Context, key string, limit Limit) error {
	err := b.ask(ctx, func(ctx context.Context) error { return b.Limiter.Reset(ctx, key, limit) })
	if b.Fallback != nil {
		err = errors.Join(err, b.Fallback.Reset(ctx, key, b.part(limit)))
	}
	return err
}

// AllowAll implements Several, where the limiter does: else it returns ErrNotOnStore.
func (b *Breaker) AllowAll(ctx context.Context, key string, n int64, limits ...Limit) (all []Decision, err error) {
	first, ok := b.several(b.Limiter)
	if !ok {
		return nil, fmt.Errorf("%w: a %T decides about one limit at a time", ErrNotOnStore, b.Limiter)
	}
	err = b.ask(ctx, func(ctx context.Context) (err error) { all, err = first.AllowAll(ctx, key, n, limits...); return })
	second, ok := b.several(b.Fallback)
	if !ok || !b.fallsBack(ctx, err) {
		return all, err
	}
	parts := make([]Limit, len(limits))
	for i, l := range limits {
		parts[i] = b.part(l)
	}
	return second.AllowAll(ctx, key, n, parts...)
}

func (b *Breaker) several(l Limiter) (Several, bool) {
	s, ok := l.(Several)
	return s, ok
}

// part is the share of this process in a limit.
func (b *Breaker) part(l Limit) Limit {
	if b.Processes > 1 && l.Count > 0 {
		l.Count = max(l.Count/b.Processes, 1)
		l.Burst = min(l.Burst, l.Count)
	}
	return l
}

// fallsBack reports whether the fallback decides, and counts it.
func (b *Breaker) fallsBack(ctx context.Context, err error) bool {
	if b.Fallback == nil || err == nil || !errors.Is(err, ErrAway) && !storeFailed(ctx, err) {
		return false
	}
	b.fellBack.Add(1)
	return true
}

// storeFailed reports whether an error says that the store does not answer as it should, and
// not that this request cannot be decided about or that its caller has gone.
func storeFailed(ctx context.Context, err error) bool {
	for _, answer := range []error{ErrBadRequest, ErrWrongType, ErrNotOnStore, ErrLimited} {
		if errors.Is(err, answer) {
			return false
		}
	}
	return err != nil && (ctx == nil || ctx.Err() == nil)
}

// ask makes one call, within the timeout, unless the store is away.
func (b *Breaker) ask(ctx context.Context, call func(context.Context) error) error {
	if b.Limiter == nil {
		return fmt.Errorf("%w: the Breaker is the zero value: make it with NewBreaker", ErrBadRequest)
	}
	probe, ok := b.admit()
	if !ok {
		b.skipped.Add(1)
		return ErrAway
	}
	b.asked.Add(1)
	settled := false
	defer func() {
		if !settled && probe { // the call panicked
			b.mu.Lock()
			b.probing = false
			b.mu.Unlock()
		}
	}()
	err := b.within(ctx, call)
	settled = true
	b.settle(ctx, probe, err)
	return err
}

// within bounds the context of a call.
func (b *Breaker) within(ctx context.Context, call func(context.Context) error) error {
	if b.Timeout <= 0 || ctx == nil {
		return call(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	return call(bounded)
}

// admit reports whether the store is to decide, and whether that is a probe.
func (b *Breaker) admit() (probe, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.away {
		return false, true
	}
	if b.probing || b.system.now() < b.probeAt {
		return false, false
	}
	b.probing = true
	return true, true
}

// settle takes the outcome of a call.
func (b *Breaker) settle(ctx context.Context, probe bool, err error) {
	failed := storeFailed(ctx, err)
	gone := err != nil && !failed && ctx != nil && ctx.Err() != nil // says nothing about the store
	changed := false
	b.mu.Lock()
	if probe {
		b.probing = false
	}
	switch {
	case failed:
		b.row++
		if probe || !b.away && b.Failures > 0 && b.row >= b.Failures {
			changed = !b.away
			b.away, b.probeAt = true, b.system.now().Add(b.Probe)
		}
	case !gone:
		changed = b.away && probe
		if b.row = 0; probe {
			b.away = false
		}
	}
	away := b.away
	b.mu.Unlock()
	if failed {
		b.failed.Add(1)
		if b.OnError != nil {
			b.OnError(ctx, err)
		}
	}
	if changed && away {
		b.opened.Add(1)
	}
	if changed && b.OnChange != nil {
		b.OnChange(away, err)
	}
}
