package limiter

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// MaxTogether is how many limits can be decided about at once.
const MaxTogether = 16

// Together sums up the decisions of several limits: it is admitted when all of them
// admit, and its wait is the longest of theirs. Used and Remaining are those of the limit
// with the least room.
func Together(all []Decision) Decision {
	if len(all) == 0 {
		return Decision{}
	}
	sum := all[0]
	for _, d := range all[1:] {
		allowed, reset := sum.Allowed && d.Allowed, max(sum.ResetAfter, d.ResetAfter)
		retry := max(sum.RetryAfter, d.RetryAfter)
		if sum.RetryAfter == Never || d.RetryAfter == Never {
			retry = Never
		}
		if d.Remaining < sum.Remaining {
			sum = d
		}
		sum.Allowed, sum.RetryAfter, sum.ResetAfter = allowed, retry, reset
	}
	return sum
}

// checkTogether looks at what can be wrong with a set of limits.
func checkTogether(limits []Limit, c Convention) error {
	if len(limits) == 0 || len(limits) > MaxTogether {
		return fmt.Errorf("%w: %d limits on one key: use 1 to %d", ErrBadRequest, len(limits), MaxTogether)
	}
	seen := map[time.Duration]bool{}
	for _, l := range limits {
		if seen[l.Window] {
			return fmt.Errorf("%w: two limits have the window %v: keep the smaller one", ErrBadRequest, l.Window)
		}
		seen[l.Window] = true
	}
	if c.Block > 0 {
		return fmt.Errorf("%w: a block belongs to one limit: use one limiter for it and another for the rest", ErrBadRequest)
	}
	return nil
}

// partKey names what one of several limits keeps: after its window, so that limits with
// different windows do not share counters, and in the slot of the key.
func partKey(key string, l Limit) string {
	length, unit := l.micros(), "us"
	if length%1000 == 0 {
		length, unit = length/1000, "ms"
	}
	return keyBase(key) + ":" + strconv.FormatInt(length, 10) + unit
}

// AllowAll decides about a request of cost n under several limits with different windows,
// as in 10 a second and 300 a minute. It is charged in all of them when every decision is
// allowed, and in none otherwise. These limits have keys of their own, which they share
// with other calls of AllowAll, and not with AllowN.
func (m *Memory) AllowAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error) {
	return m.each(ctx, key, n, limits, func(s *shard, all []Decision, parts []asked) {
		allowed := n > 0
		for i, p := range parts {
			s.peek(&all[i], &p)
			allowed = allowed && all[i].Allowed
		}
		if !allowed {
			return
		}
		for i, p := range parts {
			all[i] = Decision{At: p.now, Limit: p.limit, Cost: n}
			s.allow(&all[i], &p)
		}
	})
}

// PeekAll says what AllowAll would answer.
func (m *Memory) PeekAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error) {
	return m.each(ctx, key, n, limits, func(s *shard, all []Decision, parts []asked) {
		for i, p := range parts {
			s.peek(&all[i], &p)
		}
	})
}

// RefundAll gives back n units that AllowAll admitted, in every limit.
func (m *Memory) RefundAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error) {
	return m.each(ctx, key, n, limits, func(s *shard, all []Decision, parts []asked) {
		for i, p := range parts {
			s.refund(&p)
			p.n, all[i].Cost = 0, 0
			s.peek(&all[i], &p)
		}
	})
}

// ResetAll makes the key as new for limits that AllowAll was asked about.
func (m *Memory) ResetAll(ctx context.Context, key string, limits ...Limit) error {
	_, err := m.each(ctx, key, 0, limits, func(s *shard, _ []Decision, parts []asked) {
		for _, p := range parts {
			s.drop(&p)
		}
	})
	return err
}

// each does something about several limits at once. Their cells are in the shard of the
// key that they belong to.
func (m *Memory) each(ctx context.Context, key string, n int64, limits []Limit, do func(*shard, []Decision, []asked)) ([]Decision, error) {
	if err := checkTogether(limits, m.convention); err != nil {
		return nil, err
	}
	now := m.now()
	all, parts := make([]Decision, len(limits)), make([]asked, len(limits))
	for i, l := range limits {
		if err := m.check(ctx, key, l, n); err != nil {
			return nil, err
		}
		parts[i].ask(&all[i], now, l, &m.convention, n, m.algorithm)
		m.shard(&parts[i], partKey(key, l))
	}
	s := m.shard(new(asked), key)
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s, all, parts)
	return all, nil
}

// AllowAll decides about a request of cost n under several limits with different windows,
// as in 10 a second and 300 a minute, in one script. It is charged in all of them when
// every decision is allowed, and in none otherwise. These limits have keys of their own,
// which they share with other calls of AllowAll, and not with AllowN.
func (r *Redis) AllowAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error) {
	if err := checkTogether(limits, r.convention); err != nil {
		return nil, err
	}
	if r.together == nil {
		return nil, fmt.Errorf("%w: this layout or alignment keeps one limit a key: use the library's own layout and clock-aligned windows", ErrNotOnStore)
	}
	args := []any{verbTake, r.together.sha, nil}
	boxes := make([]*boxed, len(limits))
	for i, l := range limits {
		b, err := r.check(ctx, key, l, n)
		if err != nil {
			return nil, err
		}
		if l.Count == 0 && r.algorithm.bursts() {
			return nil, fmt.Errorf("%w: a limit of 0 among several counts nothing in %s: leave it out", ErrBadRequest, r.algorithm)
		}
		boxes[i] = b
		args = append(args, r.mainKey(partKey(key, l)))
	}
	if r.denials {
		args = append(args, DeniedKey(key))
	}
	args[2] = len(args) - 3
	var now any = 0
	if r.clock != nil {
		now = int64(r.clock())
	}
	for _, b := range boxes {
		args = append(args, n, b.count, b.window, now)
		args = r.rateArgs(args, b, n, true)
	}
	if n == 0 {
		return r.PeekAll(ctx, key, 0, limits...)
	}
	text, err := r.run(ctx, newDecisionCmd(ctx, r.together, args), subject{key: key, others: limits}, chargesAll)
	if err != nil {
		return nil, err
	}
	return r.decodeAll(key, boxes, n, text)
}

// ResetAll makes the key as new for limits that AllowAll was asked about.
func (r *Redis) ResetAll(ctx context.Context, key string, limits ...Limit) error {
	if err := checkTogether(limits, r.convention); err != nil {
		return err
	}
	for _, l := range limits {
		if _, err := r.check(ctx, key, l, 0); err != nil {
			return err
		}
	}
	now, err := r.now(ctx)
	if err != nil {
		return err
	}
	names := []string{}
	for _, l := range limits {
		names = append(names, r.names(partKey(key, l), []int64{l.micros()}, now)...)
	}
	if r.denials {
		names = append(names, DeniedKey(key))
	}
	return r.unlink(ctx, names)
}

// PeekAll says what AllowAll would answer, one limit after another.
func (r *Redis) PeekAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error) {
	return r.each(ctx, key, limits, func(l Limit) (Decision, error) { return r.Peek(ctx, partKey(key, l), l, n) })
}

// RefundAll gives back n units that AllowAll admitted, in one limit after another; after an
// error those before it have got theirs back.
func (r *Redis) RefundAll(ctx context.Context, key string, n int64, limits ...Limit) ([]Decision, error) {
	return r.each(ctx, key, limits, func(l Limit) (Decision, error) { return r.Refund(ctx, partKey(key, l), l, n) })
}

func (r *Redis) each(ctx context.Context, key string, limits []Limit, do func(Limit) (Decision, error)) ([]Decision, error) {
	if err := checkAsked(ctx, key); err != nil {
		return nil, err
	}
	if err := checkTogether(limits, r.convention); err != nil {
		return nil, err
	}
	all := make([]Decision, len(limits))
	for i, l := range limits {
		var err error
		if all[i], err = do(l); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// decodeAll takes the answer apart. When not all were charged none was, and each limit
// says what it would have said alone.
func (r *Redis) decodeAll(key string, boxes []*boxed, n int64, text string) ([]Decision, error) {
	vals, err := numbers(nil, text)
	if err != nil {
		return nil, err
	}
	if len(vals) == 0 || len(vals)%len(boxes) != 0 {
		return nil, fmt.Errorf("the script for %d limits answered %d values", len(boxes), len(vals))
	}
	each := len(vals) / len(boxes)
	charged := vals[0] == 1
	all := make([]Decision, len(boxes))
	for i, b := range boxes {
		d, err := r.decodeValues(key, b, n, !charged, vals[i*each:(i+1)*each:(i+1)*each])
		if err != nil {
			return nil, err
		}
		all[i] = d
	}
	return all, nil
}
