package record_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// refresh is the time between two batches of a crowd.
const refresh = 200 * time.Millisecond

// crowdBegin is the instant of the first batch of a crowd.
const crowdBegin limiter.Instant = 1_795_000_000_000_000

// crowd makes the batches of very many limiters on virtual time, as a source would have read them from a
// server, for benchmarks and tests of what an hour of them takes. Make one with newCrowd. It is not safe for
// concurrent use.
//
// The keys are of every algorithm in turn, and a few of them have most of the traffic, by Zipf's law. As
// by feed/watch, a key of which there is news is read at every refresh and a quiet one less and less
// often; expiries are told in milliseconds and at every fourth reading of a quiet key; denials are not
// recorded.
type crowd struct {
	now    limiter.Instant
	perTen float64 // requests between two batches
	random *rand.Rand
	zipf   *rand.Zipf // nil: all keys have the same traffic
	keys   []*member  // by name
	came   []limiter.Instant
}

// member is one limiter and how it is read.
type member struct {
	name   string
	target model.Target
	typ    string
	state  limiter.State
	log    []limiter.Entry // shared with readings: appended to, and never written again
	expiry limiter.Instant
	fresh  []model.Arrival

	read  limiter.Instant // the latest reading; 0 none
	due   limiter.Instant
	quiet int
	looks int
	ttl   time.Duration
}

// crowdKinds are the algorithms and their limits.
var crowdKinds = [...]struct {
	how   limiter.Algorithm
	typ   string
	limit limiter.Limit
}{
	{limiter.SlidingLog, "zset", limiter.Limit{Count: 100, Window: time.Minute}},
	{limiter.FixedWindow, "string", limiter.Limit{Count: 60, Window: time.Minute}},
	{limiter.SlidingWindow, "string", limiter.Limit{Count: 1000, Window: time.Minute}},
	{limiter.GCRA, "string", limiter.Limit{Count: 60, Window: time.Minute}},
	{limiter.StreamCounter, "stream", limiter.Limit{Count: 100, Window: time.Minute}},
	{limiter.TokenBucket, "hash", limiter.Limit{Count: 100, Window: time.Minute}},
}

// newCrowd returns so many keys with so many requests a second together. With busy all keys have the
// same share of them; otherwise the first has the most.
func newCrowd(keys int, perSecond float64, busy bool) *crowd {
	c := &crowd{now: crowdBegin, perTen: perSecond * refresh.Seconds(), random: rand.New(rand.NewPCG(uint64(keys), 7))}
	if !busy {
		c.zipf = rand.NewZipf(c.random, 1.1, 20, uint64(keys-1))
	}
	for i := range keys {
		kind := crowdKinds[i%len(crowdKinds)]
		c.keys = append(c.keys, &member{
			name: fmt.Sprintf("rl:user:%05d", i), typ: kind.typ, state: limiter.State{Algorithm: kind.how},
			target: model.Target{
				Algorithm: kind.how, Limit: kind.limit, LimitKnown: true, Window: kind.limit.Window,
				Library: model.OwnLibrary, Evidence: model.Known, LimitFrom: model.LimitOfRule,
			},
		})
	}
	return c
}

// next returns the batch of the next refresh.
func (c *crowd) next() model.Batch {
	begin := c.now
	c.now = c.now.Add(refresh + time.Duration(c.random.IntN(2000))*time.Microsecond)
	c.traffic(begin)
	b := model.Batch{
		At: c.now, Local: c.now.Time().Add(641 * time.Microsecond),
		Server: model.Server{Target: "redis://prod-eu-1:6379/0", Role: "master", Version: "7.0.15", Link: model.Live,
			RTT: time.Duration(200+c.random.IntN(150)) * time.Microsecond, Offset: 10_731, RunID: "a"},
		Sweep: model.Sweep{Patterns: []string{"rl:*"}, Passes: 1, Matched: len(c.keys), Keys: int64(len(c.keys))},
	}
	at := c.now - limiter.Instant(c.random.IntN(4000))
	for i, k := range c.keys {
		if i%256 == 255 { // a round trip later
			at = min(at+1200, c.now)
		}
		if k.due <= c.now {
			b.Readings = append(b.Readings, k.look(at))
		}
	}
	b.Cost = model.Cost{Commands: int64(2 * len(b.Readings)), Server: time.Duration(4*len(b.Readings)) * time.Microsecond,
		Over: c.now.Sub(begin)}
	if n := int64(refresh / time.Microsecond); int64(c.now)/(3*n) != int64(begin)/(3*n) {
		b.HotKeys = c.hot(&b)
	}
	if int64(c.now)/2_000_000 != int64(begin)/2_000_000 {
		b.Health = c.health()
	}
	return b
}

// traffic makes the requests since the batch before.
func (c *crowd) traffic(begin limiter.Instant) {
	n := int(c.perTen)
	if c.random.Float64() < c.perTen-float64(n) {
		n++
	}
	c.came = c.came[:0]
	for range n {
		c.came = append(c.came, begin+1+limiter.Instant(c.random.Int64N(int64(c.now-begin)-5000)))
	}
	slices.Sort(c.came)
	for _, at := range c.came {
		i := c.random.IntN(len(c.keys))
		if c.zipf != nil {
			i = int(c.zipf.Uint64())
		}
		c.keys[i].request(at)
	}
}

// request decides about a request, and remembers it when it is admitted.
func (k *member) request(at limiter.Instant) {
	limit := k.target.Limit
	switch k.target.Algorithm {
	case limiter.SlidingLog, limiter.StreamCounter:
		from, _ := slices.BinarySearchFunc(k.log, at.Add(-limit.Window)+1,
			func(e limiter.Entry, at limiter.Instant) int { return cmp.Compare(e.At, at) })
		if int64(len(k.log)-from) >= limit.Count {
			return
		}
		if n := len(k.log); n > 0 && k.log[n-1].At >= at {
			at = k.log[n-1].At + 1
		}
		k.log = append(k.log, limiter.Entry{At: at, Count: 1})
		k.expiry = at.Add(limit.Window)
	default:
		if !k.state.Take(at, limit, limiter.Convention{}, 1).Allowed {
			return
		}
		switch k.target.Algorithm {
		case limiter.GCRA:
			k.expiry = k.state.TAT
		case limiter.TokenBucket:
			k.expiry = k.state.Filled.Add(limit.Window)
		case limiter.FixedWindow:
			k.expiry = k.state.Start.Add(limit.Window)
		default:
			k.expiry = at.Add(2 * limit.Window)
		}
	}
	bin := func(at limiter.Instant) int64 { return int64(at) * model.BinsPerWindow / limit.Window.Microseconds() }
	if n := len(k.fresh); n > 0 && bin(k.fresh[n-1].At) == bin(at) {
		k.fresh[n-1].At = at
		k.fresh[n-1].N++
		return
	}
	k.fresh = append(k.fresh, model.Arrival{At: at, N: 1})
}

// look reads the key, and plans when it is read next.
func (k *member) look(at limiter.Instant) model.Reading {
	if n := len(k.log); n > 0 {
		at = max(at, k.log[n-1].At)
	}
	at = max(at, k.read+1)
	r := model.Reading{Key: k.name, Type: k.typ, At: at, Target: k.target, Since: k.read, Arrivals: k.fresh, PreviousKnown: true,
		Pattern: "rl:user:*"}
	r.State = k.state
	switch k.target.Algorithm {
	case limiter.SlidingLog, limiter.StreamCounter:
		oldest := at.Floor(k.target.Window).Add(-k.target.Window)
		for len(k.log) > 0 && k.log[0].At < oldest {
			k.log = k.log[1:]
		}
		r.State.Log, r.ExactKnown = k.log[:len(k.log):len(k.log)], true
		if r.State.Log == nil {
			r.State.Log = []limiter.Entry{}
		}
	case limiter.FixedWindow, limiter.SlidingWindow:
		start := at.Floor(k.target.Window)
		r.State.Start, r.State.PreviousStart = start, start.Add(-k.target.Window)
		switch was := k.state.Start; {
		case was == start:
		case was == start.Add(-k.target.Window):
			r.State.Previous, r.State.Current = k.state.Current, 0
		default:
			r.State.Previous, r.State.Current = 0, 0
		}
	}
	if r.State.Log == nil && len(k.fresh) > 0 { // a value tells how many came, and not when
		one := model.Arrival{At: at}
		for _, a := range k.fresh {
			one.N += a.N
		}
		r.Arrivals = []model.Arrival{one}
	}
	if k.looks++; len(k.fresh) > 0 || k.looks%4 == 0 || k.read == 0 {
		k.ttl = max(time.Duration(k.expiry/1000-at/1000), 1) * time.Millisecond
	}
	r.TTL = k.ttl
	k.quiet = min(k.quiet+1, 6)
	wait := time.Duration(k.quiet) * 500 * time.Millisecond
	if len(k.fresh) > 0 {
		k.quiet, wait = 0, 0
	}
	k.read, k.due, k.fresh = at, at.Add(min(wait, 3*time.Second)), nil
	return r
}

// hot returns a ranking, as notifications give it.
func (c *crowd) hot(b *model.Batch) *model.HotKeys {
	h := &model.HotKeys{At: b.At, Writes: model.Measure{Known: true, V: 400 + 20*c.random.Float64()}, Missed: model.Measure{Known: true},
		Sources: []string{"writes, heard 90 % of the time"}}
	for i := range min(64, len(c.keys)) {
		v := 10 / (1 + float64(i)/8) * (0.95 + 0.1*c.random.Float64())
		h.Keys = append(h.Keys, model.HotKey{Key: c.keys[i].name, Writes: model.Measure{Known: true, V: v}, WritesBy: v / 8})
	}
	return h
}

// health returns a look at the server.
func (c *crowd) health() *model.Health {
	m := func(v float64) model.Measure { return model.Measure{Known: true, V: v * (1 + 0.1*c.random.Float64())} }
	h := &model.Health{At: c.now, Over: 2 * time.Second, Ops: m(3000), CPU: m(0.05), MemoryUsed: m(3e6), Keys: m(1000), Clients: m(10),
		NetIn: m(1e5), NetOut: m(1e5), Policy: "noeviction"}
	for _, name := range []string{"evalsha", "mget", "xrange", "zcount", "zrangebyscore", "incr", "pexpire", "time", "scan", "zadd"} {
		h.Commands = append(h.Commands, model.CommandStat{Name: name, Calls: m(300).V, Mean: time.Duration(m(5000).V), P99: 18_047,
			Total: int64(m(1e6).V)})
	}
	return h
}
