// Package tuitest drives the screen in tests: a feed whose traffic is a function of its seed and of the time,
// the dashboard on a stage, and the messages of keys.
package tuitest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

const (
	Refresh   = 200 * time.Millisecond // how often a Feed has a batch
	lookEvery = 2 * time.Second        // how often it looks at its server's health
)

// Personality is one key of a Feed and its traffic.
type Personality struct {
	Name   string
	Limit  limiter.Limit
	How    limiter.Algorithm
	Rate   func(second float64, r *rand.Rand) int // requests in the refresh that ends then
	Unseen bool                                   // denials are not recorded
}

// Feed makes batches of keys that are limited in memory. It plays a server whose clock
// is this machine's. It is safe for concurrent use; its fields are to be set before.
type Feed struct {
	Start  time.Time
	Server model.Server
	People []Personality

	mu     sync.Mutex
	keys   []*key
	random *rand.Rand
	last   limiter.Instant // of the last batch while the link was up; 0 before the first
	lost   time.Time       // since when the link is down; zero while it is up
	err    string
}

type key struct {
	Personality
	state  limiter.State
	denied []limiter.Entry
	fired  []model.Arrival // from here, since the last reading
}

// NewFeed returns a feed of the given keys, or of Cast when there are none.
func NewFeed(start time.Time, people ...Personality) *Feed {
	if len(people) == 0 {
		people = Cast()
	}
	return &Feed{
		Start: start, People: people, random: rand.New(rand.NewPCG(1, 2)),
		Server: model.Server{Target: "redis://prod-eu-1:6379/0", Role: "master", Version: "7.0.15", Link: model.Live,
			RTT: 340 * time.Microsecond},
		keys: collect.Map(people, func(p Personality) *key { return &key{Personality: p, state: limiter.State{Algorithm: p.How}} }),
	}
}

// Break takes the server away, with a sentence that says so, until Mend.
func (f *Feed) Break(local time.Time, err string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost, f.err = local, err
}

// Mend brings the server back.
func (f *Feed) Mend() { f.Break(time.Time{}, "") }

// Advance returns the batch of the time from the last one to now.
func (f *Feed) Advance(local time.Time) model.Batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := limiter.InstantOf(local)
	if f.last == 0 {
		f.last = now.Add(-Refresh)
	}
	b := model.Batch{At: now, Local: local, Server: f.Server, Sweep: model.Sweep{Passes: 1, Matched: len(f.keys)},
		Cost: model.Cost{Commands: int64(2 * len(f.keys)), Over: Refresh}}
	if !f.lost.IsZero() {
		b.At, b.Server.Link, b.Server.Err, b.Server.Down = f.last, model.Down, f.err, local.Sub(f.lost)
		return b
	}
	b.Readings = collect.Map(f.keys, func(k *key) model.Reading { return f.read(k, now) })
	if every := limiter.Instant(lookEvery / time.Microsecond); now/every != f.last/every {
		b.Health = health(now)
	}
	f.last = now
	return b
}

func (f *Feed) read(k *key, now limiter.Instant) model.Reading {
	r := model.Reading{Key: k.Name, Type: "string", At: now, Since: f.last, TTL: k.Limit.Window, PreviousKnown: true,
		Target: model.Target{Algorithm: k.How, Limit: k.Limit, LimitKnown: true, Window: k.Limit.Window}, Denied: model.Count{Known: !k.Unseen}}
	if k.Rate != nil {
		n := k.Rate(time.Duration(now%limiter.Instant(1e12)).Seconds()*1e3, f.random)
		for i := range n {
			_, a := k.take(f.last.Add(now.Sub(f.last)*time.Duration(i+1)/time.Duration(n+1)), 1)
			r.Arrivals = append(r.Arrivals, a)
		}
	}
	r.Arrivals, k.fired = append(r.Arrivals, k.fired...), nil
	// What is older than a reading reaches back is forgotten.
	k.state.Log = slices.DeleteFunc(k.state.Log, func(e limiter.Entry) bool { return e.At < now.Add(-2*k.Limit.Window) })
	k.denied = slices.DeleteFunc(k.denied, func(e limiter.Entry) bool { return e.At <= now.Add(-k.Limit.Window) })
	r.State = k.state
	r.State.Log = append([]limiter.Entry(nil), k.state.Log...)
	r.ExactKnown = k.How == limiter.SlidingLog || k.How == limiter.StreamCounter
	if r.Denied.Known {
		r.Denied.N = collect.Sum(k.denied, func(e limiter.Entry) int64 { return e.Count })
	} else {
		r.Arrivals = slices.DeleteFunc(r.Arrivals, func(a model.Arrival) bool { return a.Denied })
	}
	return r
}

func (k *key) take(at limiter.Instant, cost int64) (limiter.Decision, model.Arrival) {
	d := k.state.Take(at, k.Limit, limiter.Convention{}, cost)
	if !d.Allowed {
		k.denied = append(k.denied, limiter.Entry{At: at, Count: cost})
	}
	return d, model.Arrival{At: at, N: cost, Denied: !d.Allowed}
}

// Take waits for the next refresh and returns its batch: what tui.Options.Take wants.
func (f *Feed) Take(ctx context.Context) (model.Batch, error) {
	f.mu.Lock()
	begun := f.last != 0
	f.mu.Unlock()
	if !begun { // two windows of past, at once
		local := time.Now()
		b := f.Advance(local.Add(-20 * time.Second))
		for at := local.Add(-20*time.Second + Refresh); !at.After(local); at = at.Add(Refresh) {
			b.Merge(f.Advance(at))
		}
		return b, nil
	}
	select {
	case <-ctx.Done():
		return model.Batch{}, ctx.Err()
	case <-time.After(Refresh):
		return f.Advance(time.Now()), nil
	}
}

// steady sends evenly.
func steady(perSecond float64) func(float64, *rand.Rand) int {
	carry := 0.0
	return func(_ float64, r *rand.Rand) int {
		carry += perSecond * Refresh.Seconds() * (0.7 + 0.6*r.Float64())
		n := int(carry)
		carry -= float64(n)
		return n
	}
}

// bursts sends n at once, once in every `every` seconds.
func bursts(n int, every float64) func(float64, *rand.Rand) int {
	next := 0.0
	return func(second float64, _ *rand.Rand) int {
		if second < next && next-second < every*2 {
			return 0
		}
		next = second + every
		return n
	}
}

// Cast is a set of keys with traffic that can be told apart.
func Cast() []Personality {
	limit := func(n int64, w time.Duration) limiter.Limit { return limiter.Limit{Count: n, Window: w} }
	return []Personality{
		{Name: "api:search:alice", Limit: limit(100, 10*time.Second), How: limiter.SlidingLog, Rate: steady(7)},
		{Name: "api:export:nightly", Limit: limit(40, 10*time.Second), How: limiter.SlidingWindow, Rate: bursts(22, 6)},
		{Name: "login:otp:+4915112345678", Limit: limit(5, 20*time.Second), How: limiter.SlidingLog, Rate: steady(2)},
		{Name: "webhook:github", Limit: limit(60, 10*time.Second), How: limiter.FixedWindow, Rate: bursts(55, 9.5)},
		{Name: "checkout:cart:7f3a", Limit: limit(30, 15*time.Second), How: limiter.StreamCounter, Rate: steady(1.8)},
		{Name: "metrics:ingest", Limit: limit(200, 5*time.Second), How: limiter.SlidingWindow, Rate: steady(38), Unseen: true},
		{Name: "mail:outbound", Limit: limit(20, 30*time.Second), How: limiter.StreamCounter, Rate: steady(0.4)},
		{Name: "quiet:once", Limit: limit(10, 10*time.Second), How: limiter.FixedWindow},
	}
}

// Crowd is so many keys with the traffic of Cast.
func Crowd(n int) []Personality {
	people := make([]Personality, n)
	for i := range people {
		people[i] = Cast()[i%8]
		people[i].Name += fmt.Sprintf(":%03d", i/8)
	}
	return people
}

// Mixed is a crowd that is quiet, busy and far over its limits in turn.
func Mixed() []Personality { return append(Crowd(24), Overrun()...) }

// Every is a key of each algorithm, named after it, with the same traffic: now and then a
// little more than is admitted.
func Every() []Personality {
	return collect.Map(limiter.Algorithms(), func(how limiter.Algorithm) Personality {
		return Personality{"every:" + how.String(), limiter.Limit{Count: 20, Window: 10 * time.Second}, how, bursts(13, 4.4), false}
	})
}

// Calm is a set of keys far from their limits.
func Calm() []Personality { return paced(0.2) }

// Overrun is a set of keys whose traffic is three times what their limits admit.
func Overrun() []Personality { return paced(3) }

// paced is the usual set, with a share of what their limits admit as their traffic.
func paced(share float64) []Personality {
	people := Cast()
	for i := range people {
		people[i].Rate = steady(share * float64(people[i].Limit.Count) / people[i].Limit.Window.Seconds())
	}
	return people
}

// FireAt makes one request at an instant, which is not before that of the last batch.
func (f *Feed) FireAt(now limiter.Instant, name string, cost int64) (model.Fired, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.keys, func(k *key) bool { return k.Name == name })
	if i < 0 {
		return model.Fired{}, fmt.Errorf("there is no key %q", name)
	}
	d, a := f.keys[i].take(now, cost)
	f.keys[i].fired = append(f.keys[i].fired, a)
	return model.Fired{Key: name, Cost: cost, At: now, Decision: d, Latency: 120 * time.Microsecond,
		Outcome: collect.If(d.Allowed, model.Admitted, model.Denied)}, nil
}

// Key returns the message of a key by its name.
func Key(name string) tea.KeyPressMsg {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp,
		"down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace}
	if code, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: []rune(letter)[0], Mod: tea.ModCtrl}
	}
	name = strings.Replace(name, "space", " ", 1)
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// health is how a made-up server does at an instant: busy, a little full, with scripts, an
// error now and then and a slow command on record.
func health(now limiter.Instant) *model.Health {
	known := func(v float64) model.Measure { return model.Measure{Known: true, V: v} }
	wave := 0.5 + 0.5*math.Sin(float64(now%60e6)/60e6*2*math.Pi)
	ops := math.Round(1200 + 800*wave)
	script := time.Duration(18+10*wave) * time.Microsecond
	return &model.Health{
		At: now, Over: lookEvery,
		Ops: known(ops), CPU: known(0.12 + 0.2*wave), MemoryUsed: known(412e6 + 30e6*wave), MemoryMax: known(512e6), Policy: "volatile-lru",
		Keys: known(48213), Clients: known(37), Blocked: known(2), NetIn: known(120e3 * (1 + wave)), NetOut: known(310e3 * (1 + wave)),
		Evicted: known(0), Expired: known(12), Fruitless: known(ops / 2), Replicas: known(1), Lag: known(0), LinkUp: true,
		Commands: []model.CommandStat{
			{Name: "evalsha", Calls: ops / 2, Mean: script, P99: 6 * script, Total: 9_120_344, Scripts: true},
			{Name: "zrangebyscore", Calls: 40, Mean: 9 * time.Microsecond, P99: 31 * time.Microsecond, Total: 80_112},
			{Name: "get", Calls: ops / 4, Mean: 2 * time.Microsecond, P99: 5 * time.Microsecond, Failed: 0.5, Total: 4_002_917},
			{Name: "info", Calls: 0.5, Mean: 180 * time.Microsecond, P99: 410 * time.Microsecond, Total: 1_004},
		},
		Errors: []model.ErrorStat{{Name: "NOSCRIPT", Rate: 0.5, Total: 14}, {Name: "WRONGTYPE", Total: 2}},
		Slow: []model.SlowCommand{
			{ID: 2, At: now - now%60e6, Took: 14 * time.Millisecond, Command: "ZREMRANGEBYSCORE", Keys: []string{"rl:search"}, Rest: 2},
			{ID: 1, At: now - now%60e6 - 90e6, Took: 11 * time.Millisecond, Command: "KEYS", Rest: 1},
		},
	}
}
