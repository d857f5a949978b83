package limiter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"ratescope/limiter/internal/given"
)

// Combine sums up the decisions of several limits: it is admitted when all of them
// admit, and its wait is the longest of theirs. Used and Remaining are those of the limit
// with the least room.
func Combine(all []Decision) Decision {
	if len(all) == 0 {
		return Decision{}
	}
	sum := all[0]
	for _, d := range all[1:] {
		allowed, reset := sum.Allowed && d.Allowed, max(sum.ResetAfter, d.ResetAfter)
		retry := max(sum.RetryAfter, d.RetryAfter)
		if d.Remaining < sum.Remaining {
			sum = d
		}
		sum.Allowed, sum.RetryAfter, sum.ResetAfter = allowed, retry, reset
	}
	return sum
}

// KeyLimit is a limit on a key: one of several about which a store decides together.
type KeyLimit struct {
	Key   string
	Limit Limit
}

// OnKey returns limits with different windows on one key, as 10 a second and 300 a minute, for
// AllowKeys.
func OnKey(key string, limits ...Limit) []KeyLimit {
	parts := make([]KeyLimit, len(limits))
	for i, l := range limits {
		parts[i] = KeyLimit{key, l}
	}
	return parts
}

// Several is a Limiter that also decides about several limits in one call, as Memory and
// redisstore.Store do.
type Several interface {
	Limiter
	// AllowKeys decides about a request of cost n under limits on one key or on several, as of 100
	// a minute for an address and 1,000 an hour for a user. It is charged to all of them when
	// every decision is allowed, and else to none. These limits have states of their own for each
	// key and window, which all calls of AllowKeys share, and calls of AllowN do not.
	AllowKeys(ctx context.Context, n int64, parts ...KeyLimit) ([]Decision, error)
}

// CheckKeys says what is wrong with a request under several limits before a store decides
// about it, as Check does for one.
func (a Algorithm) CheckKeys(ctx context.Context, c Convention, n int64, parts []KeyLimit) error {
	if len(parts) == 0 || len(parts) > MaxLimits {
		return fmt.Errorf("%w: %d limits at once: use 1 to %d", ErrBadRequest, len(parts), MaxLimits)
	}
	for i, p := range parts {
		for _, other := range parts[:i] {
			if other.Key == p.Key && other.Limit.Window == p.Limit.Window {
				return fmt.Errorf("%w: two limits of a key have the window %v: keep the smaller one", ErrBadRequest, p.Limit.Window)
			}
		}
	}
	if c.Block > 0 {
		return fmt.Errorf("%w: a block belongs to one limit: use one limiter for it and another for the rest", ErrBadRequest)
	}
	for _, p := range parts {
		if err := a.Check(ctx, c, p.Key, p.Limit, n); err != nil {
			return err
		}
	}
	return nil
}

// checkLimits is Breaker.CheckLimits for a limiter and each that it wraps.
func checkLimits(l Limiter, together bool, parts ...KeyLimit) error {
	if given.Absent(l) {
		return errNoLimiter
	}
	for inner := l; together; {
		if _, ok := inner.(Several); !ok {
			return fmt.Errorf("%w: a %T decides about one limit at a time: use a Memory or a redisstore.Store", ErrNotOnStore, inner)
		}
		wrapper, wraps := inner.(interface{ Unwrap() Limiter })
		if !wraps {
			break
		}
		inner = wrapper.Unwrap()
	}
	for _, p := range parts {
		if err := p.Limit.Validate(); err != nil {
			return err
		}
	}
	if s, ok := find[interface {
		CheckLimits(together bool, parts ...KeyLimit) error
	}](l); ok {
		return s.CheckLimits(together, parts...)
	}
	return nil
}

// CheckLimits says whether the Memory can decide about limits, as that of a Breaker does.
func (m *Memory) CheckLimits(together bool, parts ...KeyLimit) error {
	if m == nil {
		return errNoLimiter
	}
	if together {
		return m.algorithm.CheckKeys(context.Background(), m.convention, 0, parts)
	}
	for _, p := range parts {
		if err := m.algorithm.Check(context.Background(), m.convention, p.Key, p.Limit, 0); err != nil {
			return err
		}
	}
	return nil
}

// AllowKeys implements Several.
func (m *Memory) AllowKeys(ctx context.Context, n int64, parts ...KeyLimit) ([]Decision, error) {
	return m.each(ctx, n, parts, func(all []Decision, held []heldPart) {
		allowed := n > 0
		for i, p := range held {
			p.shard.peek(&all[i], &p.request, p.state)
			allowed = allowed && all[i].Allowed
		}
		if !allowed {
			return
		}
		// From the longest window to the shortest: where a Memory is full, a key of a short window is
		// evicted for one of a longer, and not the one that was just put.
		slices.SortStableFunc(held, func(a, b heldPart) int { return cmp.Compare(b.request.w, a.request.w) })
		for _, p := range held {
			all[p.at] = Decision{At: p.request.now, Limit: p.request.limit, Cost: n}
			p.shard.allow(&all[p.at], &p.request, p.state)
		}
	})
}

// heldPart is one of several limits, and where its state is.
type heldPart struct {
	at      int // its place in the call
	request request
	shard   *shard
	state   string // the name of its state
}

// PeekKeys says what AllowKeys would answer.
func (m *Memory) PeekKeys(ctx context.Context, n int64, parts ...KeyLimit) ([]Decision, error) {
	return m.each(ctx, n, parts, func(all []Decision, held []heldPart) {
		for i, p := range held {
			p.shard.peek(&all[i], &p.request, p.state)
		}
	})
}

// RefundKeys gives back n units that AllowKeys admitted, in every limit.
func (m *Memory) RefundKeys(ctx context.Context, n int64, parts ...KeyLimit) ([]Decision, error) {
	return m.each(ctx, n, parts, func(all []Decision, held []heldPart) {
		for i, p := range held {
			p.shard.refund(&p.request, p.state)
			p.request.n, all[i].Cost = 0, 0
			p.shard.peek(&all[i], &p.request, p.state)
		}
	})
}

// ResetKeys makes keys as new for limits that AllowKeys was asked about.
func (m *Memory) ResetKeys(ctx context.Context, parts ...KeyLimit) error {
	_, err := m.each(ctx, 0, parts, func(_ []Decision, held []heldPart) {
		for _, p := range held {
			delete(p.shard.keys, p.state)
		}
	})
	return err
}

// each does something about several limits at once, while it holds the locks of all shards that
// their keys are in. The state of each limit is in the shard of its key.
func (m *Memory) each(ctx context.Context, n int64, parts []KeyLimit, do func([]Decision, []heldPart)) ([]Decision, error) {
	if m == nil {
		return nil, errNoLimiter
	}
	if err := m.algorithm.CheckKeys(ctx, m.convention, n, parts); err != nil {
		return nil, err
	}
	now := m.now()
	all, held := make([]Decision, len(parts)), make([]heldPart, len(parts))
	var locked [shardCount]bool
	for i, p := range parts {
		h := &held[i]
		at := m.place(p.Key)
		h.at, h.shard, locked[at], h.state = i, &m.shards[at], true, p.Key+"\x00"+strconv.FormatInt(p.Limit.micros(), 36)
		h.request.fill(&all[i], now, p.Limit, &m.convention, n, m.algorithm)
	}
	for i := range m.shards { // always in this order, so that two calls do not wait for each other
		if locked[i] {
			m.shards[i].mu.Lock()
			defer m.shards[i].mu.Unlock()
		}
	}
	do(all, held)
	return all, nil
}
