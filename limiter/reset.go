package limiter

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Reset implements Limiter. The counters of a window are named after its start, so it
// removes those of every window length that this Redis has been asked about, of the sixteen
// that it came to know last, and says ErrBadRequest when there was none; ResetLimit needs no such history.
// What AllowAll keeps is apart: see ResetAll.
func (r *Redis) Reset(ctx context.Context, key string) error {
	if err := checkAsked(ctx, key); err != nil {
		return err
	}
	lengths := r.windows.all()
	if r.mainKey(key) != key && len(lengths) == 0 {
		return fmt.Errorf("%w: which counters %q has follows from its window, and no request has named one yet: use ResetLimit", ErrBadRequest, key)
	}
	now, err := r.now(ctx)
	if err != nil {
		return err
	}
	return r.reset(ctx, key, lengths, now)
}

// ResetLimit makes the key as new for one limit.
func (r *Redis) ResetLimit(ctx context.Context, key string, limit Limit) error {
	if _, err := r.check(ctx, key, limit, 0); err != nil {
		return err
	}
	now, err := r.now(ctx)
	if err != nil {
		return err
	}
	return r.reset(ctx, key, []int64{limit.micros()}, now)
}

// ResetAt is ResetLimit for the windows around an instant of the caller's choice.
func (r *Redis) ResetAt(ctx context.Context, key string, limit Limit, now Instant) error {
	if _, err := r.check(ctx, key, limit, 0); err != nil {
		return err
	}
	return r.reset(ctx, key, []int64{limit.micros()}, now)
}

func (r *Redis) reset(ctx context.Context, key string, lengths []int64, now Instant) error {
	names := r.names(key, lengths, now)
	if r.denials {
		names = append(names, DeniedKey(key))
	}
	if r.convention.Block > 0 {
		names = append(names, BlockedKey(key))
	}
	if r.endsApart() {
		names = append(names, endsKey(key))
	}
	if r.tallies != nil {
		r.tallies.forget(key)
	}
	return r.unlink(ctx, names)
}

// names lists what holds the charges of a key: itself, or the counters of the windows
// around now, of which the next one is there when the clock jumped back.
func (r *Redis) names(key string, lengths []int64, now Instant) []string {
	if r.mainKey(key) == key {
		return []string{key}
	}
	var names []string
	for _, w := range lengths {
		for step := int64(-1); step <= 1; step++ {
			start := Instant(floorDiv(int64(now), w)*w + step*w)
			names = append(names, counterName(r.algorithm, key, r.layout, start))
		}
	}
	return names
}

func (r *Redis) unlink(ctx context.Context, names []string) error {
	args := []any{"unlink"}
	for _, name := range names {
		args = append(args, name)
	}
	return failure(r.client.Process(ctx, redis.NewIntCmd(ctx, args...)))
}

// now asks the clock that decisions are made on.
func (r *Redis) now(ctx context.Context) (Instant, error) {
	if r.clock != nil {
		return r.clock(), nil
	}
	cmd := redis.NewStringSliceCmd(ctx, "time")
	if err := r.client.Process(ctx, cmd); err != nil {
		return 0, failure(err)
	}
	parts := cmd.Val()
	if len(parts) == 2 {
		s, err1 := strconv.ParseInt(parts[0], 10, 64)
		us, err2 := strconv.ParseInt(parts[1], 10, 64)
		if err1 == nil && err2 == nil {
			return Instant(s*1_000_000 + us), nil
		}
	}
	return 0, fmt.Errorf("the server answered TIME with %q", parts)
}

// windowSet remembers the window lengths that were asked about, the latest sixteen.
// The zero value is empty and ready.
type windowSet struct {
	mu      sync.Mutex
	lengths []int64
}

func (s *windowSet) add(w int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.lengths, w) {
		return
	}
	if len(s.lengths) == 16 {
		s.lengths = slices.Delete(s.lengths, 0, 1)
	}
	s.lengths = append(s.lengths, w)
}

func (s *windowSet) all() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lengths)
}
