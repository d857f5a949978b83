package feed

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// observer reads the limiters that are known. It is used by one goroutine, but for
// focus.
type observer struct {
	o        Options
	client   redis.UniversalClient
	guard    *guard
	scout    *scout
	listener *listener
	clock    clock
	nodes    nodes
	pasts    map[string]*past // what is known from before; the embedded source fills it

	looks   map[string]*look
	dropped map[uint64]bool // keys beyond MaxKeys

	mu    sync.Mutex
	focus []string

	role, version, runID string
	greeted              bool

	purse      purse
	begun      time.Time     // of the last round
	sinceRound time.Duration // from the round before to this one
	spent      time.Duration // of the server, since it was last told

	doctor   doctor
	health   *model.Health // of this round; nil when it was not looked at
	embedded bool
	shown    string
	sweep    model.Sweep // as it stood before the finds of this round were adopted
}

// Bounds of one pipeline and of one round.
const (
	rangesPerPipe   = 50
	commandsPerPipe = 400
	asksPerRound    = 24 // times that a look may ask for more in one round
)

func newObserver(o Options, client redis.UniversalClient, g *guard, pasts map[string]*past) *observer {
	w := &observer{o: o, client: client, guard: g, listener: newListener(client), pasts: pasts, purse: newPurse(o.Budget), embedded: pasts != nil, looks: make(map[string]*look), dropped: make(map[uint64]bool)}
	for _, k := range o.Keys {
		w.looks[k] = w.lookFor(k, k)
		w.looks[k].named = true
		w.looks[k].body = &probeBody{key: k}
		w.looks[k].settle(limiter.Unknown, limiter.Layout{}, 0)
	}
	return w
}

func (w *observer) lookFor(name, key string) *look {
	l := &look{name: name, typ: "none", rule: ruleFor(w.o.Rules, name, key)}
	l.denied = denials{key: limiter.DeniedKey(name), always: w.embedded}
	l.past = w.pasts[name]
	return l
}

// setFocus says which keys matter most. It may be called from any goroutine.
func (w *observer) setFocus(keys []string) {
	w.mu.Lock()
	w.focus = slices.Clone(keys)
	w.mu.Unlock()
}

// greet asks a server that has just answered who it is.
func (w *observer) greet(ctx context.Context) error {
	sent := time.Now()
	t, err := w.client.Time(ctx).Result()
	if err != nil && code(err) != "NOPERM" {
		return err
	}
	received := time.Now()
	if err == nil {
		w.clock.observe(sent, received, limiter.InstantOf(t), true)
	}
	info, err := w.client.Info(ctx, "server", "replication").Result()
	if err != nil {
		if away(err) {
			return err
		}
		info, err = w.client.Info(ctx).Result() // before Redis 7 INFO takes one section
		if err != nil && away(err) {
			return err
		}
	}
	fields := parseInfo(info)
	w.version = fields["redis_version"]
	if v := fields["valkey_version"]; v != "" {
		w.version = "valkey " + v
	}
	w.role = fields["role"]
	if w.role == "slave" {
		w.role = "replica"
	}
	w.runID = fields["run_id"]
	if _, ok := w.client.(*redis.ClusterClient); ok {
		w.role = "cluster"
	}
	w.greeted = true
	return nil
}

// parseInfo reads the lines name:value of INFO.
func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			fields[name] = value
		}
	}
	return fields
}

// round reads what is due. The error is for a server that is away; what was read before
// it went comes with it.
//
// With only, no more than the looks at these keys are read: somebody has heard of news.
func (w *observer) round(ctx context.Context, only []string) (readings []model.Reading, gone []string, err error) {
	defer func() {
		if err != nil {
			w.greeted = false // it may be another one when it comes back
		}
		if err != nil {
			w.health = nil
		}
		slices.SortFunc(readings, func(a, b model.Reading) int { return strings.Compare(a.Key, b.Key) })
	}()
	if !w.greeted {
		if err := w.greet(ctx); err != nil {
			return nil, nil, err
		}
		for _, l := range w.looks {
			if b, ok := l.body.(interface{ resync() }); ok {
				b.resync()
			}
		}
	}
	if only != nil {
		return w.hear(ctx, only)
	}
	// What a pass has found is adopted in the round that tells of the pass.
	w.sweep = w.scout.progress()
	w.adopt()
	if len(w.looks) == 0 { // nothing to read: is the server still there?
		if err := w.tick(ctx); err != nil {
			return nil, nil, err
		}
	}
	begun := time.Now()
	w.sinceRound, w.begun = begun.Sub(w.begun), begun
	w.purse.fill(begun)
	scanned := w.scout.cost()
	w.purse.left -= scanned
	w.spent += scanned
	if err := w.readAll(ctx, w.plan(begun), &readings); err != nil {
		return readings, nil, err
	}
	if w.health, err = w.doctor.examine(ctx, w.client, w.clock.at(time.Now()), w.embedded); err != nil {
		return readings, nil, err
	}
	w.doctor.before.tellPrices(&w.purse)
	w.listen()
	return readings, w.bury(), nil
}

// hear reads the looks at some keys at once.
func (w *observer) hear(ctx context.Context, keys []string) (readings []model.Reading, gone []string, err error) {
	w.health = nil
	var due []*look
	for _, k := range keys {
		if l := w.looks[k]; l != nil && l.rank == onScreen {
			due = append(due, l)
		}
	}
	err = w.readAll(ctx, due, &readings)
	return readings, nil, err
}

// tick asks for the time alone.
func (w *observer) tick(ctx context.Context) error {
	sent := time.Now()
	t, err := w.client.Time(ctx).Result()
	if err != nil {
		if away(err) {
			return err
		}
		return nil
	}
	w.clock.observe(sent, time.Now(), limiter.InstantOf(t), true)
	return nil
}

// The ranks of looks: who is read first.
const (
	onScreen = iota // on screen, or asked for by name
	pressing        // near its limit, or busy
	ordinary
)

// plan returns the looks to read now, the most important first.
func (w *observer) plan(now time.Time) []*look {
	w.mu.Lock()
	place := make(map[string]int, len(w.focus))
	for i, k := range w.focus {
		place[k] = i + 1
	}
	w.mu.Unlock()
	due := make([]*look, 0, len(w.looks))
	w.purse.full = len(w.looks) > 0 && w.scout.progress().Passes > 0
	for _, l := range w.looks {
		l.place = place[l.name]
		w.purse.full = w.purse.full && l.looks > 0
		switch {
		case l.place > 0 || l.named && len(w.looks) <= fewLooks:
			l.rank = onScreen
		case l.heat > 0 || l.near:
			l.rank = pressing
		default:
			l.rank = ordinary
		}
		if l.rank == onScreen || !now.Before(l.due) {
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b *look) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place), a.due.Compare(b.due), strings.Compare(a.name, b.name))
	})
	return due
}

// How often keys are read. A busy key is read at every refresh; a quiet one less and less
// often, and as a whole only every fourth time: in between it is asked for news alone.
const (
	fewLooks    = 200 // so few are all read at every refresh
	quietPause  = 500 * time.Millisecond
	longestWait = 3 * time.Second
	wholeEvery  = 4
)

// pause is how long a look may wait for its next turn.
func (w *observer) pause(l *look) time.Duration {
	switch {
	case len(w.looks) <= fewLooks || l.heat > 0 || l.near:
		l.quiet = 0
		return 0
	case l.looks <= 1:
		return quietPause
	}
	l.quiet = min(l.quiet+1, 6)
	return min(quietPause*time.Duration(l.quiet), longestWait)
}
