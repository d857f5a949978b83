package demo

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// seed writes what the charges of an actor, played one after another through the real limiter,
// would have left on the server, into a pipeline. The limiters are Lua, of which the embedded
// server runs some thousand a second, so that to play them took longer than all else before
// the first frame. A test holds it to what the limiters write.
func (a *actor) seed(ctx context.Context, pipe redis.Pipeliner, charges []charge) error {
	if len(charges) == 0 {
		return nil
	}
	w, last := a.limit.Window, charges[len(charges)-1].at
	lives := last.Add(w)
	switch a.algorithm {
	case limiter.FixedWindow, limiter.SlidingWindow:
		for _, c := range charges {
			start := c.at.Floor(w)
			name := layout.Counter(a.algorithm, a.key, layout.Layout{}, start)
			pipe.Set(ctx, name, c.cost, 0)
			if a.algorithm == limiter.SlidingWindow {
				start = c.at.Add(w)
			}
			expire(ctx, pipe, name, start.Add(w))
		}
		return nil
	case limiter.SlidingLog:
		for _, c := range charges {
			if c.cost != 1 {
				return fmt.Errorf("%s costs %d: a log of the demo has requests of 1", a.key, c.cost)
			}
			pipe.ZAdd(ctx, a.key, redis.Z{Score: float64(c.at), Member: strconv.FormatInt(int64(c.at), 10)})
		}
	case limiter.StreamCounter:
		total := int64(0)
		for _, c := range charges {
			total += c.cost
			id := fmt.Sprintf("%d-%d%015d", c.at.Millis(), c.at%1000+1, total)
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: a.key, ID: id, Values: []any{"count", c.cost, "total", total}})
		}
	default:
		s := limiter.State{Algorithm: a.algorithm}
		for _, c := range charges {
			s.Take(c.at, a.limit, limiter.Convention{}, c.cost)
		}
		a.seedMoment(ctx, pipe, &s)
		burst := max(a.limit.Burst, 1)
		lives = last.Add(w*time.Duration(burst)/time.Duration(a.limit.Count) + time.Millisecond)
	}
	expire(ctx, pipe, a.key, lives)
	return nil
}

// seedMoment writes the state of an algorithm that keeps an instant.
func (a *actor) seedMoment(ctx context.Context, pipe redis.Pipeliner, s *limiter.State) {
	moment := func(at limiter.Instant) string {
		if s.Part > 0 {
			return fmt.Sprintf("%d:%d:%d", at, s.Part, s.Parts)
		}
		return strconv.FormatInt(int64(at), 10)
	}
	switch a.algorithm {
	case limiter.GCRA:
		pipe.Set(ctx, a.key, moment(s.TAT), 0)
	case limiter.TokenBucket:
		pipe.HSet(ctx, a.key, "tokens", int64(s.Level), "at", moment(s.Filled))
	case limiter.LeakyBucket:
		pipe.HSet(ctx, a.key, "level", int64(s.Level), "at", moment(s.Filled))
	}
}

// expire lets a key go at an instant, in whole milliseconds as the limiters do.
func expire(ctx context.Context, pipe redis.Pipeliner, key string, at limiter.Instant) {
	pipe.PExpireAt(ctx, key, at.Add(999*time.Microsecond).Time())
}
