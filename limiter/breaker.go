package limiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ratescope/limiter/internal/given"
)

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
	// caller; OnChange gets whether the store, or the node of it that the error names, is away from
	// now on, with the error that said so. Of a node that a failover replaced no return is told; Away
	// forgets it after ten Probes. Neither may block.
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
// meanwhile lets another limiter decide. Of a store on several nodes, as a redisstore.Store on a
// cluster, only the nodes that do not answer are left alone. It may be used by many goroutines.
//
// An answer that refuses, such as ErrWrongType or ErrBadRequest, is no failure, and neither is
// a call whose own context ended: a client cannot open a breaker with strange keys or by
// hanging up.
type Breaker struct {
	config BreakerConfig
	nodeOf func(key string) string // nil where the store is one
	system systemClock

	mu       sync.Mutex
	whole    circuit    // of a store that is one
	only     []*circuit // whole alone
	nodes    map[string]*circuit
	asked    atomic.Int64
	failed   atomic.Int64
	skipped  atomic.Int64
	fellBack atomic.Int64
	opened   atomic.Int64
}

// circuit is what a Breaker knows about one node of a store; Breaker.mu guards it.
type circuit struct {
	node    string
	row     int     // failures in a row
	away    bool    // the node is not asked
	probeAt Instant // from then on one request asks
	probing bool
}

// nodeSeen is how many probes an away node may be due before it counts as removed from the store.
const nodeSeen = 10

// NewBreaker checks the configuration. A fallback has to decide about several limits where the
// limiter does.
func NewBreaker(c BreakerConfig) (*Breaker, error) {
	switch {
	case given.Absent(c.Limiter):
		return nil, fmt.Errorf("%w: the breaker has no limiter: set BreakerConfig.Limiter", ErrBadRequest)
	case c.Fallback != nil && given.Absent(c.Fallback):
		return nil, fmt.Errorf("%w: the fallback is a nil %T: leave it out, or make one", ErrBadRequest, c.Fallback)
	case c.Timeout < 0 || c.Probe < 0 || c.Processes < 0:
		return nil, fmt.Errorf("%w: Timeout %v, Probe %v and Processes %d: use 0 or more", ErrBadRequest, c.Timeout, c.Probe, c.Processes)
	}
	c.Failures = cmp.Or(c.Failures, 5)
	c.Probe = cmp.Or(c.Probe, time.Second)
	b := &Breaker{config: c, system: newSystemClock(), nodes: make(map[string]*circuit)}
	b.only = []*circuit{&b.whole}
	if s, ok := find[interface{ Node(key string) string }](c.Limiter); ok {
		b.nodeOf = s.Node
	}
	return b, nil
}

// CheckLimits says whether the limiter and the fallback can decide about limits, before the first
// request: one by one with AllowN, or together with AllowKeys. Its errors are ErrBadRequest and
// ErrNotOnStore. A limiter that has no method CheckLimits takes every valid limit.
func (b *Breaker) CheckLimits(together bool, parts ...KeyLimit) error {
	if err := checkLimits(b.config.Limiter, together, parts...); err != nil || b.config.Fallback == nil {
		return err
	}
	return checkLimits(b.config.Fallback, together, b.ownParts(parts)...)
}

// Away reports whether the store, or a node of it, is not asked at the moment.
func (b *Breaker) Away() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	away := b.whole.away
	for name, c := range b.nodes {
		if c.away && b.system.now() > c.probeAt.Add(nodeSeen*b.config.Probe) {
			delete(b.nodes, name)
		}
		away = away || b.nodes[name] != nil && c.away
	}
	return away
}

// circuits returns those of the nodes that decide about some limits, each once.
func (b *Breaker) circuits(parts ...KeyLimit) []*circuit {
	if b.nodeOf == nil {
		return b.only
	}
	all := make([]*circuit, 0, 1)
	for _, p := range parts {
		name := b.nodeOf(p.Key)
		b.mu.Lock()
		c := b.nodes[name]
		if c == nil {
			c = &circuit{node: name}
			b.nodes[name] = c
		}
		b.mu.Unlock()
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// Counts returns what was done so far.
func (b *Breaker) Counts() BreakerCounts {
	return BreakerCounts{b.asked.Load(), b.failed.Load(), b.skipped.Load(), b.fellBack.Load(), b.opened.Load()}
}

// Unwrap returns the limiter behind the breaker.
func (b *Breaker) Unwrap() Limiter { return b.config.Limiter }

// AllowN implements Limiter.
func (b *Breaker) AllowN(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	return b.one(ctx, key, limit, n, Limiter.AllowN)
}

// Peek implements Limiter.
func (b *Breaker) Peek(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	return b.one(ctx, key, limit, n, Limiter.Peek)
}

// one asks for a decision about one limit, with a method of Limiter.
func (b *Breaker) one(ctx context.Context, key string, limit Limit, n int64,
	verb func(Limiter, context.Context, string, Limit, int64) (Decision, error)) (d Decision, err error) {
	err = b.ask(ctx, b.circuits(KeyLimit{Key: key}), func(ctx context.Context) (err error) {
		d, err = verb(b.config.Limiter, ctx, key, limit, n)
		return err
	})
	if b.fallsBack(ctx, err) {
		return verb(b.config.Fallback, ctx, key, b.part(limit), n)
	}
	return d, err
}

// Reset implements Limiter. It resets the fallback too.
func (b *Breaker) Reset(ctx context.Context, key string, limit Limit) error {
	err := b.ask(ctx, b.circuits(KeyLimit{Key: key}), func(ctx context.Context) error { return b.config.Limiter.Reset(ctx, key, limit) })
	if b.config.Fallback != nil {
		err = errors.Join(err, b.config.Fallback.Reset(ctx, key, b.part(limit)))
	}
	return err
}

// AllowKeys implements Several, where the limiter does: else it returns ErrNotOnStore.
func (b *Breaker) AllowKeys(ctx context.Context, n int64, parts ...KeyLimit) (all []Decision, err error) {
	first, ok := b.config.Limiter.(Several)
	if !ok {
		return nil, fmt.Errorf("%w: a %T decides about one limit at a time", ErrNotOnStore, b.config.Limiter)
	}
	err = b.ask(ctx, b.circuits(parts...), func(ctx context.Context) (err error) { all, err = first.AllowKeys(ctx, n, parts...); return })
	second, ok := b.config.Fallback.(Several)
	if !ok || !b.fallsBack(ctx, err) {
		return all, err
	}
	return second.AllowKeys(ctx, n, b.ownParts(parts)...)
}

// ownParts returns the share of this process in each of several limits.
func (b *Breaker) ownParts(parts []KeyLimit) []KeyLimit {
	own := make([]KeyLimit, len(parts))
	for i, p := range parts {
		own[i] = KeyLimit{p.Key, b.part(p.Limit)}
	}
	return own
}

// part is the share of this process in a limit.
func (b *Breaker) part(l Limit) Limit {
	if b.config.Processes > 1 && l.Count > 0 {
		l.Count = max(l.Count/b.config.Processes, 1)
		l.Burst = max(l.Burst/b.config.Processes, min(l.Burst, 1))
	}
	return l
}

// fallsBack reports whether the fallback decides, and counts it.
func (b *Breaker) fallsBack(ctx context.Context, err error) bool {
	if b.config.Fallback == nil || err == nil || !errors.Is(err, ErrAway) && !storeFailed(ctx, err) {
		return false
	}
	b.fellBack.Add(1)
	return true
}

// storeFailed reports whether an error says that the store does not answer as it should, and
// not that this request cannot be decided about or that its caller has gone.
func storeFailed(ctx context.Context, err error) bool {
	answered := errors.Is(err, ErrBadRequest) || errors.Is(err, ErrWrongType) || errors.Is(err, ErrNotOnStore) || errors.Is(err, ErrLimited)
	return err != nil && !answered && (ctx == nil || ctx.Err() == nil)
}

// ask makes one call to some nodes, within the timeout, unless one of them is away.
func (b *Breaker) ask(ctx context.Context, nodes []*circuit, call func(context.Context) error) error {
	if b.config.Limiter == nil {
		return fmt.Errorf("%w: the Breaker is the zero value: make it with NewBreaker", ErrBadRequest)
	}
	probes, ok := b.admit(nodes)
	if !ok {
		b.skipped.Add(1)
		return ErrAway
	}
	b.asked.Add(1)
	settled := false
	defer func() {
		if !settled && len(probes) > 0 { // the call panicked
			b.mu.Lock()
			for _, c := range probes {
				c.probing = false
			}
			b.mu.Unlock()
		}
	}()
	err := b.within(ctx, call)
	settled = true
	failed := storeFailed(ctx, err)
	if failed {
		b.failed.Add(1)
		if b.config.OnError != nil {
			b.config.OnError(ctx, err)
		}
	}
	for _, c := range nodes {
		b.settle(ctx, c, slices.Contains(probes, c), err, failed && (len(nodes) == 1 || c.node == nodeOfError(err)))
	}
	return err
}

// nodeOfError returns the node that an error of a call to several is about.
func nodeOfError(err error) string {
	var at interface{ Node() string }
	if errors.As(err, &at) {
		return at.Node()
	}
	return ""
}

func (b *Breaker) within(ctx context.Context, call func(context.Context) error) error {
	if b.config.Timeout <= 0 || ctx == nil {
		return call(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, b.config.Timeout)
	defer cancel()
	return call(bounded)
}

// admit reports whether all nodes are to decide, and for which of them that is a probe.
func (b *Breaker) admit(nodes []*circuit) (probes []*circuit, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range nodes {
		if c.away && (c.probing || b.system.now() < c.probeAt) {
			return nil, false
		}
	}
	for _, c := range nodes {
		if c.away {
			c.probing = true
			probes = append(probes, c)
		}
	}
	return probes, true
}

// settle takes the outcome of a call to a node. A call that failed elsewhere, or whose caller has
// gone, says nothing about it.
func (b *Breaker) settle(ctx context.Context, c *circuit, probe bool, err error, failed bool) {
	changed := false
	b.mu.Lock()
	if probe {
		c.probing = false
	}
	switch {
	case failed:
		c.row++
		if probe || !c.away && b.config.Failures > 0 && c.row >= b.config.Failures {
			changed = !c.away
			c.away, c.probeAt = true, b.system.now().Add(b.config.Probe)
		}
	case err == nil || !storeFailed(ctx, err) && (ctx == nil || ctx.Err() == nil):
		changed = c.away && probe
		if c.row = 0; probe {
			c.away = false
		}
	}
	away := c.away
	b.mu.Unlock()
	if !changed {
		return
	}
	if away {
		b.opened.Add(1)
	}
	if b.config.OnChange != nil {
		if c.node != "" && err != nil {
			err = fmt.Errorf("node %s: %w", c.node, err)
		}
		b.config.OnChange(away, err)
	}
}

// find returns the first of a limiter and those that it wraps that is a T.
func find[T any](l Limiter) (found T, ok bool) {
	for l != nil {
		if found, ok = l.(T); ok {
			return found, true
		}
		wrapper, wraps := l.(interface{ Unwrap() Limiter })
		if !wraps {
			break
		}
		l = wrapper.Unwrap()
	}
	return found, false
}
