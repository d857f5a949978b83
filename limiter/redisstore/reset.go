package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// Reset implements limiter.Limiter. Of counters, which are named after their windows, it removes the
// current one, the previous and the next. It does not remove the keys of AllowKeys; see ResetKeys. If a
// key holds something else, it removes nothing, and the error is limiter.ErrWrongType.
func (s *Store) Reset(ctx context.Context, key string, limit limiter.Limit) error {
	if _, err := s.check(ctx, key, limit, 0); err != nil {
		return err
	}
	key = s.plan.named(key)
	now, err := s.server.now(ctx, key)
	if err != nil {
		return err
	}
	if s.sums != nil {
		s.sums.forget(key)
	}
	return s.remove(ctx, s.plan.keys(key, limit, now), s.plan.keysBeside(key))
}

// ResetKeys removes the states of limits of AllowKeys. Keys in different slots of a cluster are reset one
// after the other.
func (s *Store) ResetKeys(ctx context.Context, parts ...limiter.KeyLimit) error {
	all, err := s.checkKeys(ctx, 0, parts)
	if err != nil {
		return err
	}
	for _, group := range s.bySlot(all) {
		now, err := s.server.now(ctx, group[0].key)
		if err != nil {
			return err
		}
		var keys, beside []ownKey
		for i, p := range group {
			keys = append(keys, s.plan.keys(p.state, p.limit, now)...)
			if !slices.ContainsFunc(group[:i], func(other part) bool { return other.key == p.key }) {
				beside = append(beside, s.plan.keysBeside(p.key)...)
			}
		}
		if err := s.remove(ctx, keys, beside); err != nil {
			return err
		}
	}
	return nil
}

// ownKey is a key of a limiter on the server, and the type that it must have.
type ownKey struct{ name, kind, holds string }

// keysBeside returns the keys of a limiter that hold no charges.
func (s *plan) keysBeside(key string) []ownKey {
	var keys []ownKey
	if s.denials {
		keys = append(keys, ownKey{layout.DeniedKey(key), "stream", "the stream that denials are recorded in"})
	}
	if s.convention.Block > 0 {
		keys = append(keys, ownKey{layout.BlockedKey(key), "string", "the end of a block (a string)"})
	}
	if s.endsApart() {
		keys = append(keys, ownKey{layout.EndsKey(key), "string", "the end of a window (a string)"})
	}
	return keys
}

// keys returns the keys that hold charges of a limiter: the key itself, or the counters of the
// previous, the current and the next window. The next one exists after the clock was set back.
func (s *plan) keys(key string, limit limiter.Limit, now limiter.Instant) []ownKey {
	if !s.namedByWindow() {
		return []ownKey{{key, s.form.kind, s.form.holds}}
	}
	var keys []ownKey
	for step := time.Duration(-1); step <= 1; step++ {
		name := layout.Counter(s.algorithm, key, s.layout, now.Floor(limit.Window).Add(step*limit.Window))
		keys = append(keys, ownKey{name, s.form.kind, s.form.holds})
	}
	return keys
}

// remove unlinks keys that hold charges and keys beside them, or none if one holds something else.
func (s *Store) remove(ctx context.Context, charges, beside []ownKey) error {
	keys := append(charges, beside...)
	args := []any{verbTake, s.plan.scripts[resets].write().sha, len(keys)}
	for _, k := range keys {
		args = append(args, k.name)
	}
	for _, k := range keys {
		args = append(args, k.kind)
	}
	args = append(args, len(charges))
	text, err := s.server.run(ctx, newDecisionCmd(ctx, s.plan.scripts[resets], args), subject{key: keys[0].name}, resets)
	if err != nil {
		return err
	}
	at, err := strconv.Atoi(text)
	switch {
	case err != nil || at < 0 || at > len(keys):
		return fmt.Errorf("the script that resets %s answered %q", s.plan.algorithm, text)
	case at > 0:
		k := keys[at-1]
		return &WrongTypeError{Key: k.name, Type: s.server.typeOf(ctx, k.name), Want: k.holds}
	}
	return nil
}

// now returns the present instant by the clock of the decisions about a key, by its name on the server: that
// of its node, to which a cluster sends scripts and not TIME.
func (s *server) now(ctx context.Context, name string) (limiter.Instant, error) {
	if s.plan.clock != nil {
		return s.plan.clock(), nil
	}
	cmd := redis.NewIntCmd(ctx, "eval", "local t = redis.call('TIME') return t[1] * 1000000 + t[2]", 1, name)
	if err := s.client.Process(ctx, cmd); err != nil {
		return 0, failure(err)
	}
	return limiter.Instant(cmd.Val()), nil
}

// AllowKeys implements limiter.Several. On one server it is one script, and on a cluster too where all
// keys are in one slot: that is where they have the same hash tag, as all keys have under a prefix
// with one, WithPrefix("{api}:").
//
// Keys in different slots are decided about at the same time by a script each, and what was charged
// in one slot is refunded when another denies. That is not one step: a request that comes in
// between may be denied because of units that are refunded a moment later, and units whose refund
// failed stay charged until they leave the window. Never is more admitted than a limit, except that a refund
// takes the newest entry of a log: where that is a later request's, it counts from the refunded one's instant.
func (s *Store) AllowKeys(ctx context.Context, n int64, parts ...limiter.KeyLimit) ([]limiter.Decision, error) {
	if n == 0 {
		return s.PeekKeys(ctx, 0, parts...)
	}
	all, err := s.checkKeys(ctx, n, parts)
	if err != nil {
		return nil, err
	}
	groups := s.bySlot(all)
	if len(groups) == 1 {
		return s.allowTogether(ctx, n, all)
	}
	return s.reserve(ctx, n, groups, len(all))
}

// part is one of several limits: the name of its key on the server, and that of its state.
type part struct {
	*prepared
	at         int // its place in the call
	key, state string
}

// checkKeys validates a request under several limits before anything is sent.
func (s *Store) checkKeys(ctx context.Context, n int64, parts []limiter.KeyLimit) ([]part, error) {
	if !s.made() {
		return nil, errNotMade
	}
	if err := s.plan.algorithm.CheckKeys(ctx, s.plan.convention, n, parts); err != nil {
		return nil, err
	}
	if s.plan.scripts[chargesAll] == nil {
		return nil, fmt.Errorf("%w: this layout or alignment keeps one limit a key: use the library's own layout and clock-aligned windows",
			limiter.ErrNotOnStore)
	}
	all := make([]part, len(parts))
	for i, p := range parts {
		if p.Limit.Count == 0 && s.plan.algorithm.Bursts() {
			return nil, fmt.Errorf("%w: a limit of 0 among several counts nothing in %s: leave it out", limiter.ErrBadRequest, s.plan.algorithm)
		}
		known, err := s.check(ctx, p.Key, p.Limit, n)
		if err != nil {
			return nil, err
		}
		name := s.plan.named(p.Key)
		all[i] = part{known, i, name, layout.OfWindow(name, p.Limit.Window)}
	}
	return all, nil
}

// bySlot returns the parts that one script can decide about together.
func (s *Store) bySlot(all []part) (groups [][]part) {
	if s.nodes == nil {
		return [][]part{all}
	}
	for _, p := range all {
		i := slices.IndexFunc(groups, func(g []part) bool { return layout.Tag(g[0].key) == layout.Tag(p.key) })
		if i < 0 {
			groups, i = append(groups, nil), len(groups)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// allowTogether decides about parts in one slot, in one script.
func (s *Store) allowTogether(ctx context.Context, n int64, all []part) ([]limiter.Decision, error) {
	about := subject{key: all[0].key}
	text := s.plan.scripts[chargesAll]
	args := []any{verbTake, text.write().sha, nil}
	for _, p := range all {
		about.limits, about.states = append(about.limits, p.limit), append(about.states, p.state)
		args = append(args, s.plan.mainKey(p.state))
	}
	if !s.server.known.trust(about) {
		text = s.plan.careful[chargesAll]
		args[1] = text.write().sha
	}
	deniedAt := make(map[string]int, 1)
	for _, p := range all {
		if s.plan.denials && deniedAt[p.key] == 0 {
			args = append(args, layout.DeniedKey(p.key))
			deniedAt[p.key] = len(args) - 3
		}
	}
	args[2] = len(args) - 3
	var now any = 0
	if s.plan.clock != nil {
		now = int64(s.plan.clock())
	}
	for _, p := range all {
		args = append(args, n, p.count, p.window, now)
		args = s.plan.appendRate(args, p.prepared, n, true)
		if s.plan.denials {
			args = append(args, deniedAt[p.key])
		}
	}
	answer, err := s.server.run(ctx, newDecisionCmd(ctx, text, args), about, chargesAll)
	if err != nil {
		return nil, err
	}
	return s.decodeAll(ctx, about, all, n, answer)
}

// nodeError is the error of one of the nodes that a call went to.
type nodeError struct {
	error
	node string
}

// Node returns the address of the node.
func (e *nodeError) Node() string { return e.node }

// Unwrap returns the error itself.
func (e *nodeError) Unwrap() error { return e.error }

// reserve decides about parts in several slots, all at the same time, and refunds what was charged
// unless everything was.
func (s *Store) reserve(ctx context.Context, n int64, groups [][]part, total int) ([]limiter.Decision, error) {
	answers, failed := make([][]limiter.Decision, len(groups)), make([]error, len(groups))
	var wg sync.WaitGroup
	for i, g := range groups {
		wg.Go(func() {
			if answers[i], failed[i] = s.allowTogether(ctx, n, g); failed[i] != nil {
				failed[i] = &nodeError{failed[i], s.nodes.addr(g[0].key)}
			}
		})
	}
	wg.Wait()
	charged := true
	for i := range groups {
		charged = charged && failed[i] == nil && limiter.Combine(answers[i]).Allowed
	}
	if !charged {
		s.giveBack(ctx, n, groups, answers)
	}
	every := errors.Join(failed...)
	// Refusals are left out beside a node that gave no answer, for a breaker would take them for one of every node.
	failed = slices.DeleteFunc(failed, func(err error) bool {
		return errors.Is(err, limiter.ErrWrongType) || errors.Is(err, limiter.ErrNotOnStore)
	})
	if err := cmp.Or(errors.Join(failed...), every); err != nil {
		return nil, err
	}
	all := make([]limiter.Decision, total)
	for i, g := range groups {
		for j, p := range g {
			all[p.at] = answers[i][j]
		}
	}
	return all, nil
}

// giveBack refunds the groups that were charged, and puts what is charged after it into their
// decisions. Where the context ends first the refunds go on without the caller.
func (s *Store) giveBack(ctx context.Context, n int64, groups [][]part, answers [][]limiter.Decision) {
	type refund struct {
		group int
		after []limiter.Decision
	}
	back, open := make(chan refund, len(groups)), 0
	for i, g := range groups {
		if len(answers[i]) == 0 || !limiter.Combine(answers[i]).Allowed {
			continue
		}
		open++
		go func() {
			after, err := s.eachPart(context.WithoutCancel(ctx), n, g, refunds)
			if err != nil {
				after = nil
			}
			back <- refund{i, after}
		}()
	}
	for ; open > 0; open-- {
		select {
		case r := <-back:
			for j, d := range r.after {
				d.Cost = n
				answers[r.group][j] = d
			}
		case <-ctx.Done():
			return
		}
	}
}

// PeekKeys returns what AllowKeys would answer, without charging. It reads one limit after the other.
func (s *Store) PeekKeys(ctx context.Context, n int64, parts ...limiter.KeyLimit) ([]limiter.Decision, error) {
	all, err := s.checkKeys(ctx, n, parts)
	if err != nil {
		return nil, err
	}
	return s.eachPart(ctx, n, all, looks)
}

// RefundKeys refunds n units that AllowKeys charged, one limit after the other. After an error, the
// limits before it are refunded.
func (s *Store) RefundKeys(ctx context.Context, n int64, parts ...limiter.KeyLimit) ([]limiter.Decision, error) {
	if err := s.checkRefund(n); err != nil {
		return nil, err
	}
	all, err := s.checkKeys(ctx, n, parts)
	if err != nil {
		return nil, err
	}
	return s.eachPart(ctx, n, all, refunds)
}

func (s *Store) eachPart(ctx context.Context, n int64, parts []part, act action) (all []limiter.Decision, err error) {
	all = make([]limiter.Decision, len(parts))
	for i, p := range parts {
		if all[i], err = s.decideNamed(ctx, p.state, p.prepared, n, act); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// decodeAll decodes the reply about several limits. If the request was not charged, each decision is
// the one that its limit would give alone.
func (s *Store) decodeAll(ctx context.Context, about subject, parts []part, n int64, text string) ([]limiter.Decision, error) {
	vals, err := numbers(nil, text)
	if err != nil {
		return nil, err
	}
	if len(vals) > 0 && vals[0] < 0 {
		return nil, s.server.refusal(ctx, about, vals[0])
	}
	s.server.known.learn(about)
	if len(vals) == 0 || len(vals)%len(parts) != 0 {
		return nil, fmt.Errorf("the script for %d limits answered %d values", len(parts), len(vals))
	}
	each := len(vals) / len(parts)
	charged := vals[0] == replyAdmitted
	all := make([]limiter.Decision, len(parts))
	for i, p := range parts {
		d, err := s.plan.decodeNumbers(p.prepared, n, !charged, vals[i*each:(i+1)*each:(i+1)*each], nil)
		if err != nil {
			return nil, err
		}
		all[i] = d
	}
	return all, nil
}
