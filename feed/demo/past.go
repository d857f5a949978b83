package demo

import (
	"context"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/feed/track"
	"ratescope/limiter"
	"ratescope/model"
)

// charge is a request that was admitted.
type charge struct {
	actor *actor
	at    limiter.Instant
	cost  int64
}

// live plays the past up to now: three windows, of which the first only fills the key.
// What is returned is what the server must be given so that it stands where the past
// has ended.
func (a *actor) live(now limiter.Instant) (*track.Past, []charge) {
	w := a.limit.Window
	p := &track.Past{From: now.Floor(w).Add(-w)}
	state := limiter.State{Algorithm: a.algorithm}
	a.next = p.From.Add(-w)
	a.advance()
	step := w / model.BinsPerWindow
	level := p.From.Add(step)
	var charges []charge
	for ; a.next < now; a.advance() {
		for ; level <= a.next; level = level.Add(step) {
			note(p, &state, a.limit, level, step)
		}
		d := state.Take(a.next, a.limit, limiter.Convention{}, a.cost)
		if d.Allowed {
			charges = append(charges, charge{a, a.next, a.cost})
		}
		if a.next >= p.From {
			p.Arrivals = append(p.Arrivals, model.Arrival{At: a.next, N: a.cost, Denied: !d.Allowed})
			if !d.Allowed {
				p.Denied = append(p.Denied, limiter.Entry{At: a.next, Count: a.cost})
			}
		}
	}
	for ; level <= now; level = level.Add(step) {
		note(p, &state, a.limit, level, step)
	}
	return p, a.remaining(p, charges, now)
}

// note adds to the trace of p how much was used at an instant.
func note(p *track.Past, s *limiter.State, l limiter.Limit, at limiter.Instant, step time.Duration) {
	p.Trace = append(p.Trace, model.Level{Since: at.Add(-step), At: at, Used: s.Peek(at, l, limiter.Convention{}, 0).Used})
}

// remaining returns the charges that still matter to the key. What a log has let go is
// left to the past; counters need their sums alone.
func (a *actor) remaining(p *track.Past, charges []charge, now limiter.Instant) []charge {
	w := a.limit.Window
	switch a.algorithm {
	case limiter.FixedWindow, limiter.SlidingWindow:
		for _, c := range charges {
			if c.at >= p.From && c.at < p.From.Add(w) {
				p.Previous += c.cost
			}
		}
		// A window's sum is charged at the instant of its last request: the limiter admitted
		// that one on top of all the others, so it admits them together then.
		sums := make(map[limiter.Instant]charge)
		for _, c := range charges {
			start := c.at.Floor(w)
			sums[start] = charge{a, c.at, sums[start].cost + c.cost}
		}
		var out []charge
		for _, start := range [...]limiter.Instant{now.Floor(w).Add(-w), now.Floor(w)} {
			if c := sums[start]; c.cost > 0 && (a.algorithm == limiter.SlidingWindow || start.Add(w) > now) {
				out = append(out, c)
			}
		}
		return out
	}
	live := now.Add(-w)
	var out []charge
	for _, c := range charges {
		switch {
		case c.at > live:
			out = append(out, c)
		case c.at >= p.From:
			p.Log = append(p.Log, limiter.Entry{At: c.at, Count: c.cost})
		}
	}
	return out
}

// prepare puts the past of all actors on the server: only what still counts, for requests
// that were denied changed nothing, and old ones have left.
func prepare(ctx context.Context, m *miniredis.Miniredis, c *redis.Client, actors []*actor, now limiter.Instant) (map[string]*track.Past,
	error) {
	m.ClockTTL(true)
	pasts := make(map[string]*track.Past, len(actors))
	pipe := c.Pipeline()
	for _, a := range actors {
		p, charges := a.live(now)
		pasts[a.key] = p
		if err := a.seed(ctx, pipe, charges); err != nil {
			return nil, err
		}
	}
	_, err := pipe.Exec(ctx)
	return pasts, err
}
