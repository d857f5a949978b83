package limiter

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ratescope/limiter/internal/keyname"
)

// MaxLimits is how many limits can be decided about at once.
const MaxLimits = 16

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

// CheckAll says what is wrong with a request under several limits before a store decides
// about it, as Check does for one.
func CheckAll(ctx context.Context, a Algorithm, c Convention, key string, n int64, limits []Limit) error {
	if len(limits) == 0 || len(limits) > MaxLimits {
		return fmt.Errorf("%w: %d limits on one key: use 1 to %d", ErrBadRequest, len(limits), MaxLimits)
	}
	for i, l := range limits {
		for _, other := range limits[:i] {
			if other.Window == l.Window {
				return fmt.Errorf("%w: two limits have the window %v: keep the smaller one", ErrBadRequest, l.Window)
			}
		}
	}
	if c.Block > 0 {
		return fmt.Errorf("%w: a block belongs to one limit: use one limiter for it and another for the rest", ErrBadRequest)
	}
	for _, l := range limits {
		if err := Check(ctx, a, c, key, l, n); err != nil {
			return err
		}
	}
	return nil
}

// AllowAll decides about a request of cost n under several limits with different windows,
// as in 10 a second and 300 a minute. It is charged in all of them when every decision is
// allowed, and in none otherwise. These limits have keys of their own, which they share
// with other calls of AllowAll, and not with AllowN.
func (m *Memory) AllowAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error) {
	return m.each(ctx, key, n, limits, func(s *shard, all []Decision, parts []request) {
		allowed := n > 0
		for i, p := range parts {
			s.peek(&all[i], &p)
			allowed = allowed && all[i].Allowed
		}
		if !allowed {
			return
		}
		for _, i := range byWindow(parts) {
			p := parts[i]
			all[i] = Decision{At: p.now, Limit: p.limit, Cost: n}
			s.allow(&all[i], &p)
		}
	})
}

// byWindow lists requests from the longest window to the shortest: where a Memory is full, a
// key of a short window is evicted for one of a longer, and not the one that was just put.
func byWindow(parts []request) []int {
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[b].w, parts[a].w) })
	return order
}

// PeekAll says what AllowAll would answer.
func (m *Memory) PeekAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error) {
	return m.each(ctx, key, n, limits, func(s *shard, all []Decision, parts []request) {
		for i, p := range parts {
			s.peek(&all[i], &p)
		}
	})
}

// RefundAll gives back n units that AllowAll admitted, in every limit.
func (m *Memory) RefundAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error) {
	return m.each(ctx, key, n, limits, func(s *shard, all []Decision, parts []request) {
		for i, p := range parts {
			s.refund(&p)
			p.n, all[i].Cost = 0, 0
			s.peek(&all[i], &p)
		}
	})
}

// ResetAll makes the key as new for limits that AllowAll was asked about.
func (m *Memory) ResetAll(ctx context.Context, key string, limits ...Limit) error {
	_, err := m.each(ctx, key, 0, limits, func(s *shard, _ []Decision, parts []request) {
		for _, p := range parts {
			s.reset(&p)
		}
	})
	return err
}

// each does something about several limits at once. Their cells are in the shard of the
// key that they belong to.
func (m *Memory) each(ctx context.Context, key string, n int64, limits []Limit, do func(*shard, []Decision, []request)) ([]Decision, error) {
	if m == nil {
		return nil, errNoLimiter
	}
	if err := CheckAll(ctx, m.algorithm, m.convention, key, n, limits); err != nil {
		return nil, err
	}
	now := m.now()
	all, parts := make([]Decision, len(limits)), make([]request, len(limits))
	for i, l := range limits {
		parts[i].fill(&all[i], now, l, &m.convention, n, m.algorithm)
		m.shard(&parts[i], keyname.OfWindow(key, l.Window))
	}
	s := m.shard(new(request), key)
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s, all, parts)
	return all, nil
}
