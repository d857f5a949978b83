package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
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
	args := []any{verbTake, s.plan.reset.sha(), len(keys)}
	for _, k := range keys {
		args = append(args, k.name)
	}
	for _, k := range keys {
		args = append(args, k.kind)
	}
	args = append(args, len(charges))
	text, err := s.server.run(ctx, newDecisionCmd(ctx, s.plan.reset, args), subject{key: keys[0].name}, resets)
	if err != nil {
		return err
	}
	at, err := strconv.Atoi(text)
	switch {
	case err != nil || at < 0 || at > len(keys):
		return fmt.Errorf("the script that resets %s answered %q", s.plan.algorithm, text)
	case at > 0:
		return s.server.otherState(ctx, keys[at-1])
	}
	return nil
}

// now returns the present instant by the clock of the decisions about a key, by its name on the server: that
// of its node, to which a cluster sends scripts and not TIME.
func (s *server) now(ctx context.Context, name string) (limiter.Instant, error) {
	if s.plan.clock != nil {
		return s.plan.clock(), nil
	}
	cmd := redis.NewStringSliceCmd(ctx, "eval", "return redis.call('TIME')", 1, name)
	if err := s.client.Process(ctx, cmd); err != nil {
		return 0, failure(err)
	}
	parts := cmd.Val()
	if len(parts) == 2 {
		seconds, err1 := strconv.ParseInt(parts[0], 10, 64)
		us, err2 := strconv.ParseInt(parts[1], 10, 64)
		if err1 == nil && err2 == nil {
			return limiter.Instant(seconds*1_000_000 + us), nil
		}
	}
	return 0, fmt.Errorf("the server answered TIME with %q", parts)
}
