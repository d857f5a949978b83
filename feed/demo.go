package feed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// actor plays a persona: it decides about the past in arithmetic and about the present
// through the real limiter.
type actor struct {
	persona
	rng     *rand.Rand
	limiter *limiter.Redis
	next    limiter.Instant
	cost    int64
}

// demoSeed makes the demo the same every time, but for where the clock stands.
const demoSeed = 0x7261746573636f70

// hire makes actors of the cast, without those whose algorithm cannot run yet.
func hire(c limiter.Scripter) []*actor {
	var actors []*actor
	for i, p := range cast() {
		l, err := limiter.NewRedis(c, p.algorithm, limiter.WithDenials())
		if err != nil {
			continue
		}
		actors = append(actors, &actor{persona: p, limiter: l, rng: rand.New(rand.NewPCG(demoSeed, uint64(i)))})
	}
	return actors
}

// rules says how the demo's keys are limited.
func demoRules() []Rule {
	var rules []Rule
	for _, p := range cast() {
		rules = append(rules, Rule{Match: literal(p.key), Algorithm: p.algorithm, Limit: p.limit, LimitKnown: true, Window: p.limit.Window})
	}
	return rules
}

// advance moves on to the next request.
func (a *actor) advance() {
	next, cost := a.arrive(a.rng, a.next)
	a.next, a.cost = max(next, a.next+1), cost
}

// charge is a request that was admitted.
type charge struct {
	actor *actor
	at    limiter.Instant
	cost  int64
}

// live plays the past up to now: three windows, of which the first only fills the key.
// What is returned is what the server must be given so that it stands where the past
// has ended.
func (a *actor) live(now limiter.Instant) (*past, []charge) {
	w := a.limit.Window
	p := &past{from: now.Floor(w).Add(-w)}
	state := limiter.State{Algorithm: a.algorithm}
	a.next = p.from.Add(-w)
	a.advance()
	step := w / model.BinsPerWindow
	level := p.from.Add(step)
	var charges []charge
	for ; a.next < now; a.advance() {
		for ; level <= a.next; level = level.Add(step) {
			p.note(&state, a.limit, level, step)
		}
		d := state.Take(a.next, a.limit, limiter.Convention{}, a.cost)
		if d.Allowed {
			charges = append(charges, charge{a, a.next, a.cost})
		}
		if a.next >= p.from {
			p.arrivals = append(p.arrivals, model.Arrival{At: a.next, N: a.cost, Denied: !d.Allowed})
			if !d.Allowed {
				p.denied = append(p.denied, limiter.Entry{At: a.next, Count: a.cost})
			}
		}
	}
	for ; level <= now; level = level.Add(step) {
		p.note(&state, a.limit, level, step)
	}
	return p, a.remaining(p, charges, now)
}

// note adds to the trace how much was used at an instant.
func (p *past) note(s *limiter.State, l limiter.Limit, at limiter.Instant, step time.Duration) {
	p.trace = append(p.trace, model.Level{Since: at.Add(-step), At: at, Used: s.Peek(at, l, limiter.Convention{}, 0).Used})
}

// remaining returns the charges that still matter to the key. What a log has let go is
// left to the past; counters need their sums alone.
func (a *actor) remaining(p *past, charges []charge, now limiter.Instant) []charge {
	w := a.limit.Window
	switch a.algorithm {
	case limiter.FixedWindow, limiter.SlidingWindow:
		for _, c := range charges {
			if c.at >= p.from && c.at < p.from.Add(w) {
				p.previous += c.cost
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
		case c.at >= p.from:
			p.log = append(p.log, limiter.Entry{At: c.at, Count: c.cost})
		}
	}
	return out
}

// rehearse puts the past of all actors on the server, through the real limiters and on a
// clock that is moved for it, and leaves the server on the real clock.
//
// Only what still counts is played again: requests that were denied changed nothing, and
// old ones have left. So it is some hundred decisions, which take a small part of the
// time in which the first frame is due.
func rehearse(ctx context.Context, m *miniredis.Miniredis, actors []*actor, now limiter.Instant) (map[string]*past, error) {
	pasts := make(map[string]*past, len(actors))
	var charges []charge
	for _, a := range actors {
		p, c := a.live(now)
		pasts[a.key] = p
		charges = append(charges, c...)
	}
	slices.SortStableFunc(charges, func(a, b charge) int { return int(a.at - b.at) })
	if len(charges) > 0 {
		m.SetTime(charges[0].at.Time())
	}
	m.ClockTTL(true)
	for _, c := range charges {
		m.SetTime(c.at.Time())
		d, err := c.actor.limiter.AllowN(ctx, c.actor.key, c.actor.limit, c.cost)
		if err != nil {
			return nil, err
		}
		if !d.Allowed {
			return nil, fmt.Errorf("the past of %s does not fit: %d at %v were denied", c.actor.key, c.cost, c.at.Time())
		}
	}
	// From here on the server goes by this machine's clock. ClockTTL comes again because
	// expiries are counted from where it last saw the clock.
	m.SetTime(now.Time())
	m.ClockTTL(false)
	m.SetTime(time.Time{})
	m.ClockTTL(true)
	return pasts, nil
}

// perform sends the requests of the present until ctx ends.
func perform(ctx context.Context, actors []*actor) {
	const late = 2 * time.Second // after a sleep of the machine nothing is made up for
	for {
		first := actors[0]
		for _, a := range actors[1:] {
			if a.next < first.next {
				first = a
			}
		}
		now := limiter.InstantOf(time.Now())
		if err := sleep(ctx, first.next.Sub(now)); err != nil {
			return
		}
		if now.Sub(first.next) < late {
			// An error is the server closing or ctx ending; nobody waits for the answer.
			_, _ = first.limiter.AllowN(ctx, first.key, first.limit, first.cost)
		}
		first.advance()
	}
}

var _ limiter.Scripter = (*redis.Client)(nil)
