package demo

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/internal/backoff"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// actor plays a persona: it decides about the past in arithmetic and about the present
// through the real limiter.
type actor struct {
	persona
	rng     *rand.Rand
	limiter *redisstore.Store
	next    limiter.Instant
	cost    int64
}

// demoSeed makes the demo the same every time, but for where the clock stands.
const demoSeed = 0x7261746573636f70

// hire makes actors of the cast, without those whose algorithm cannot run yet.
func hire(c redisstore.Client) []*actor {
	var actors []*actor
	for i, p := range cast() {
		l, err := redisstore.New(c, p.algorithm, redisstore.WithDenials(), redisstore.WithPrefix(""), redisstore.WithBatches(0))
		if err != nil {
			continue
		}
		actors = append(actors, &actor{persona: p, limiter: l, rng: rand.New(rand.NewPCG(demoSeed, uint64(i)))})
	}
	return actors
}

// castRules says how the demo's keys are limited.
func castRules() []config.Rule {
	var list []config.Rule
	for _, p := range cast() {
		list = append(list, config.Rule{Match: config.LiteralGlob(p.key), Algorithm: p.algorithm, Limit: p.limit, LimitKnown: true,
			Window: p.limit.Window})
	}
	return list
}

// advance moves on to the next request.
func (a *actor) advance() {
	next, cost := a.arrive(a.rng, a.next)
	a.next, a.cost = max(next, a.next+1), cost
}

// perform sends the requests of the present until ctx ends, and says so of each.
func perform(ctx context.Context, actors []*actor, sent func(key string)) {
	const late = 2 * time.Second // after a sleep of the machine nothing is made up for
	for {
		first := actors[0]
		for _, a := range actors[1:] {
			if a.next < first.next {
				first = a
			}
		}
		now := limiter.InstantOf(time.Now())
		if err := backoff.Sleep(ctx, first.next.Sub(now)); err != nil {
			return
		}
		if now.Sub(first.next) < late {
			// An error is the server closing or ctx ending; no caller waits for the answer.
			_, _ = first.limiter.AllowN(ctx, first.key, first.limit, first.cost)
			sent(first.key)
		}
		first.advance()
	}
}

var _ redisstore.Client = (*redis.Client)(nil)
