// Package demo is a Redis in process with traffic of its own: personas that can be told
// apart on screen send requests through the real limiters, and a past is behind each of
// them before the first batch.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/fire"
	"ratescope/feed/track"
	"ratescope/feed/watch"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/lab"
	"ratescope/model/naming"
)

// Embedded is a Redis in process with demo traffic, and the source that watches it. The
// traffic flows while Run does.
type Embedded struct {
	server   *miniredis.Miniredis
	endpoint *connect.Endpoint
	traffic  *redis.Client // writes the demo
	watch    *watch.Watch
	actors   []*actor
	pasts    map[string]*track.Past // filled when Run begins
	expected []*actor               // watched from the first batch on

	injectors []*fire.Injector
}

// New starts the server, empty; Run puts two windows of past behind every key
// before its first batch, so that the screen need not wait for them. Rules of o hold for
// keys that the demo does not know; its URLs are not looked at.
func New(o watch.Options) (*Embedded, error) {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		return nil, fmt.Errorf("the embedded Redis cannot listen on this machine: %w", err)
	}
	e := &Embedded{server: m}
	e.endpoint = connect.Local(m.Addr(), "embedded Redis")
	e.endpoint.Trace = o.Trace
	e.traffic = redis.NewClient(&redis.Options{Addr: m.Addr(), Protocol: 2, MaxRetries: -1, PoolSize: 2, DisableIdentity: true})
	e.actors = hire(e.traffic)
	e.pasts = make(map[string]*track.Past)
	o.Rules = slices.Concat(collect.Map(cast(), func(p persona) config.Rule {
		return config.Rule{Match: naming.Escape(p.key), Algorithm: p.algorithm, Limit: p.limit, LimitKnown: true, Window: p.limit.Window}
	}), o.Rules)
	expected := len(o.Keys) == 0 // else only these keys are to be shown
	if expected && len(o.Watch) == 0 {
		o.Watch = []string{"*"}
	}
	e.watch = watch.New(o, e.endpoint, e.pasts)
	e.expected = collect.Only(e.actors, func(a *actor) bool {
		return expected && slices.ContainsFunc(o.Watch, func(p string) bool { return config.MatchGlob(p, a.key) })
	})
	return e, nil
}

// Run implements Source.
func (e *Embedded) Run(ctx context.Context, emit func(model.Batch)) error {
	if len(e.pasts) == 0 { // the first run
		pasts, err := prepare(ctx, e.server, e.traffic, e.actors, limiter.InstantOf(time.Now()))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("the demo cannot be prepared: %w", err)
		}
		maps.Copy(e.pasts, pasts)
		for _, a := range e.expected {
			e.watch.Expect(a.find())
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	traffic, ctx := goroutine.NewGroup(ctx)
	traffic.Go(func() { perform(ctx, e.actors, e.watch.Announce) })
	err := e.watch.Run(ctx, emit)
	cancel()
	return cmp.Or(traffic.Wait(), err)
}

// Focus implements Focuser.
func (e *Embedded) Focus(keys []string) { e.watch.Focus(keys) }

// Injector returns what fires at the embedded server. It is always armed, without an end: nothing
// of others is there.
func (e *Embedded) Injector(o fire.Options) *fire.Injector {
	o.Armed, o.ByHand, o.Denials, o.Sent = true, false, true, e.watch.Written
	i := fire.New(e.endpoint, o, func() time.Duration { return 0 })
	e.injectors = append(e.injectors, i)
	return i
}

// Close ends the server. It is to be called after Run has returned.
func (e *Embedded) Close() error {
	err := errors.Join(fire.Close(e.injectors), e.watch.Close(), e.traffic.Close())
	// Miniredis.Close forgets its server before the connections of that have ended, and an INFO that
	// is still being carried out would panic. Therefore they end first, those that block too.
	e.server.CtxCancel()
	e.server.Server().Close()
	e.server.Close()
	return err
}

// live plays the past up to now: three windows, of which the first only fills the key.
// What is returned is what the server must be given so that it stands where the past
// has ended.
func (a *actor) live(now limiter.Instant) (p *track.Past, charges []lab.Arrival) {
	w := a.limit.Window
	p = &track.Past{From: now.Floor(w).Add(-w)}
	a.next = p.From.Add(-w)
	var came []lab.Arrival
	for a.advance(); a.next < now; a.advance() {
		came = append(came, lab.Arrival{At: a.next, Cost: a.cost})
	}
	run := a.decided(came, now)
	step := w / model.BinsPerWindow
	for i, used := range run.Levels(0, p.From+1, step, int(now.Sub(p.From)/step)) {
		since := p.From.Add(time.Duration(i) * step)
		p.Trace = append(p.Trace, model.Level{Since: since, At: since.Add(step), Used: used})
	}
	kept := map[limiter.Algorithm]limiter.Instant{limiter.FixedWindow: now.Floor(w) - 1, limiter.SlidingWindow: p.From - 1}
	from, counters := kept[a.algorithm]
	if !counters {
		from = now.Add(-w) // what a log has let go is left to the past
	}
	for i := range run.Decided() {
		c, v := run.Arrival(i)
		if c.At < p.From {
			continue
		}
		p.Arrivals = append(p.Arrivals, model.Arrival{At: c.At, N: c.Cost, Denied: !v.Allowed(0)})
		if v.Allowed(0) && c.At > from {
			charges = append(charges, c)
		}
	}
	return p, charges
}

// decided lets the actor's limiter decide about requests up to an instant, in arithmetic. The limiters are Lua, of which
// the embedded server runs some thousand a second, so that to play them took longer than all else before the first frame.
func (a *actor) decided(list []lab.Arrival, until limiter.Instant) *lab.Run {
	run := lab.NewRun(lab.Setup{Candidates: []lab.Candidate{{Algorithm: a.algorithm}}, Limit: a.limit,
		Zero: until.Floor(a.limit.Window).Add(-2 * a.limit.Window)}, lab.NewWorkload(lab.Given(list)))
	run.AdvanceTo(until)
	return run
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
		for _, words := range a.decided(charges, now).Ask(0, 1).Held(a.key) {
			pipe.Do(ctx, collect.Map(words, func(word string) any { return word })...)
		}
	}
	_, err := pipe.Exec(ctx)
	return pasts, err
}

// persona is one key of the demo: how it is limited, and when its client
// sends requests.
type persona struct {
	key       string
	algorithm limiter.Algorithm
	limit     limiter.Limit
	arrive    arrivals
}

// arrivals says when the next request comes after one at prev, and what it costs.
type arrivals func(rng *rand.Rand, prev limiter.Instant) (next limiter.Instant, cost int64)

// cast is the demo. The behaviours can be told apart on screen. Together they are about ten requests a
// second: each is some Lua in an interpreter that is slower than a server's, and moves a row. The most
// pressing keys, of which the first is selected, have windows of half a minute and more, so that the
// timeline moves no more than a few times a second.
func cast() []persona {
	per := func(n int64, w time.Duration) limiter.Limit { return limiter.Limit{Count: n, Window: w} }
	return []persona{
		{"api:search:alice", limiter.SlidingWindow, per(30, 30*time.Second), steady(0.85)},
		{"api:search:bob", limiter.SlidingWindow, per(20, 20*time.Second), bursts(6, 5*time.Second)},
		{"export:csv:acme", limiter.FixedWindow, per(12, 10*time.Second), edges(10*time.Second, 12)},
		{"login:otp:+4915112345678", limiter.SlidingLog, per(5, 30*time.Second), poisson(0.3)},
		{"scrape:ip:203.0.113.7", limiter.SlidingLog, per(30, 30*time.Second), poisson(1.8)},
		{"upload:photos:marek", limiter.StreamCounter, per(80, 20*time.Second), costly(0.6, 8)},
		{"mail:send:newsletter", limiter.StreamCounter, per(40, time.Minute), ramp(time.Minute, 0.1, 1.4)},
		{"webhook:shop:4711", limiter.SlidingLog, per(14, 15*time.Second), shifts(18*time.Second, 24*time.Second, 0.9)},
		{"payment:card:visa", limiter.StreamCounter, per(8, 8*time.Second), pairs(2600 * time.Millisecond)},
		{"suggest:web:eu", limiter.FixedWindow, per(12, 10*time.Second), steady(0.95)},
		{"graphql:tenant:größe", limiter.SlidingWindow, per(46, time.Minute), tide(40*time.Second, 0.2, 1.2)},
		{"report:cron:nightly", limiter.FixedWindow, per(10, 30*time.Second), clockwork(4 * time.Second)},
		{"chat:room:42", limiter.GCRA, limiter.Limit{Count: 10, Window: 10 * time.Second, Burst: 5}, bursts(5, 4500*time.Millisecond)},
		{"push:device:9f3c", limiter.TokenBucket, limiter.Limit{Count: 15, Window: 30 * time.Second, Burst: 8},
			shifts(10*time.Second, 12*time.Second, 1.4)},
		{"video:encode:queue", limiter.LeakyBucket, limiter.Limit{Count: 12, Window: 12 * time.Second, Burst: 6},
			ramp(25*time.Second, 0.2, 2)},
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// steady keeps a rate with a little jitter.
func steady(rate float64) arrivals {
	return func(rng *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		return prev.Add(seconds((0.7 + 0.6*rng.Float64()) / rate)), 1
	}
}

// poisson is what many independent clients together look like.
func poisson(rate float64) arrivals {
	return func(rng *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		return prev.Add(seconds(rng.ExpFloat64() / rate)), 1
	}
}

// bursts sends about n requests within half a second, and then nothing for about a rest.
func bursts(n int, rest time.Duration) arrivals {
	left := n
	return func(rng *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		if left--; left > 0 {
			return prev.Add(seconds(0.5 / float64(n) * 2 * rng.Float64())), 1
		}
		left = n/2 + rng.IntN(n)
		return prev.Add(seconds(rest.Seconds() * (0.6 + 0.8*rng.Float64()))), 1
	}
}

// edges knows where the clock-aligned windows end: n requests in the last half second
// of each third window, and n more in the first half second of the next.
func edges(w time.Duration, n int) arrivals {
	return func(rng *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		next := prev.Add(seconds(1 / float64(n+1)))
		cycle := 3 * w
		for _, turn := range [...]limiter.Instant{prev.Floor(cycle), prev.Floor(cycle).Add(cycle)} {
			from, to := turn.Add(-500*time.Millisecond), turn.Add(500*time.Millisecond)
			if next < from {
				return from.Add(time.Duration(rng.IntN(10)) * time.Millisecond), 1
			}
			if next < to {
				return next, 1
			}
		}
		return next, 1
	}
}

// costly sends requests of different weight.
func costly(rate float64, most int64) arrivals {
	even := steady(rate)
	return func(rng *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		next, _ := even(rng, prev)
		return next, 1 + rng.Int64N(most)
	}
}

// ramp grows from one rate to another in a period, and begins anew.
func ramp(period time.Duration, from, to float64) arrivals {
	return func(rng *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		done := prev.Sub(prev.Floor(period)).Seconds() / period.Seconds()
		rate := from + (to-from)*done*done
		return prev.Add(min(seconds((0.8+0.4*rng.Float64())/rate), 2*time.Second)), 1
	}
}

// tide is a rate that swells and ebbs.
func tide(period time.Duration, low, high float64) arrivals {
	return func(rng *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		phase := 2 * math.Pi * prev.Sub(prev.Floor(period)).Seconds() / period.Seconds()
		rate := low + (high-low)*(1-math.Cos(phase))/2
		return prev.Add(min(seconds(rng.ExpFloat64()/rate), 3*time.Second)), 1
	}
}

// shifts works at a rate for a while and then falls silent.
func shifts(work, rest time.Duration, rate float64) arrivals {
	return func(rng *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		next := prev.Add(seconds(rng.ExpFloat64() / rate))
		cycle := work + rest
		if start := next.Floor(cycle); next.Sub(start) > work {
			next = start.Add(cycle + time.Duration(rng.IntN(400))*time.Millisecond)
		}
		return next, 1
	}
}

// pairs sends two requests shortly after each other.
func pairs(gap time.Duration) arrivals {
	second := false
	return func(rng *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		if second = !second; second {
			return prev.Add(120 * time.Millisecond), 1
		}
		return prev.Add(gap + time.Duration(rng.IntN(200))*time.Millisecond), 1
	}
}

// clockwork sends one request at every multiple of the period.
func clockwork(period time.Duration) arrivals {
	return func(_ *rand.Rand, prev limiter.Instant) (limiter.Instant, int64) {
		return prev.Floor(period).Add(period), 1
	}
}

// find is what discovery would make of the persona's key if it were there.
func (p persona) find() decode.Found {
	f := map[limiter.Algorithm]decode.Found{
		limiter.FixedWindow:   {Kind: decode.Counter, Unit: time.Millisecond},
		limiter.SlidingWindow: {Kind: decode.Counter, Unit: time.Millisecond},
		limiter.SlidingLog:    {Kind: decode.Log},
		limiter.StreamCounter: {Kind: decode.Stream},
		limiter.GCRA:          {Kind: decode.TAT},
		limiter.TokenBucket:   {Kind: decode.Bucket, Field: "tokens"},
		limiter.LeakyBucket:   {Kind: decode.Bucket, Field: "level"},
	}[p.algorithm]
	if f.Kind == decode.Counter {
		f.Own = p.algorithm
	}
	f.Key, f.Type, f.Name, f.Sure, f.Evidence, f.Library = p.key, "none", p.key, true, model.Known, model.OwnLibrary
	return f
}

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
		if err := goroutine.Sleep(ctx, first.next.Sub(now)); err != nil {
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
