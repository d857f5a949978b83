// Package observe watches the limiters of a server and reports them in batches.
//
// Seven goroutines share the work of a running Watch. One emits: it orders a round of
// reading at every refresh and reports also when no answer comes, so that a server that
// hangs never stops the screen. One reads. One discovers keys, with SCAN inside a budget.
// One listens for news of the streams on screen, one for notifications of other keys, one to
// what is written most, and one, while nothing is written, for the first write. All but the
// first wait on the network, and none outlives Run.
//
// Rounds are paid from a purse that holds a share of the server's time; keys on screen
// are read first, then those near their limit or busy, and quiet ones less often.
package observe

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/condition"
	"ratescope/feed/connect"
	"ratescope/feed/discover"
	"ratescope/feed/look"
	"ratescope/feed/rules"
	"ratescope/feed/tariff"
	"ratescope/limiter"
	"ratescope/model"
)

// observer reads the limiters that are known. It is used by one goroutine, but for
// focus.
type observer struct {
	o          Options
	client     redis.UniversalClient
	reads      *connect.Nodes // of client
	guard      *connect.Guard
	scout      *discover.Scout
	listener   *listener
	subscriber *subscriber
	hints      *hints
	heat       *heat
	calm       calm
	vigil      *vigil
	clock      clock
	nodes      nodes
	pasts      map[string]*look.Past // what is known from before; the embedded source fills it

	looks   map[string]*turn
	dropped map[uint64]bool // keys beyond MaxKeys
	close   []*turn         // the looks that are polled between two refreshes, the most important first

	mu    sync.Mutex
	focus []string

	role, version, runID string
	policy               string // maxmemory-policy
	timeless             string // what would allow to ask for the server's time, where that is forbidden
	greeted              bool

	purse      purse
	tariff     tariff.Tariff
	meter      tariff.Meter
	strained   bool          // the server has hardly any time to spare: it is watched with restraint
	quick      bool          // this round is between two refreshes
	quickPrice time.Duration // of a look in one beside its turn, smoothed
	begun      time.Time     // of the last round
	sinceRound time.Duration // from the round before to this one
	spent      time.Duration // of the server, since it was last told

	doctor   condition.Doctor
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

func newObserver(o Options, client redis.UniversalClient, reads *connect.Nodes, g *connect.Guard, db int, pasts map[string]*look.Past) *observer {
	h := newHints()
	w := &observer{o: o, client: client, reads: reads, guard: g, hints: h, listener: newListener(h), subscriber: newSubscriber(h, db), pasts: pasts, purse: newPurse(o.Budget), embedded: pasts != nil, looks: make(map[string]*turn), dropped: make(map[uint64]bool)}
	for _, k := range o.Keys {
		l := w.lookFor(k, k)
		l.Probe()
		w.looks[k] = l
	}
	return w
}

func (w *observer) lookFor(name, key string) *turn {
	return &turn{Look: look.New(name, rules.For(w.o.Rules, name, key), w.embedded, w.pasts[name])}
}

// greet asks a server that has just answered who it is.
func (w *observer) greet(ctx context.Context) error {
	sent := time.Now()
	t, err := w.client.Time(ctx).Result()
	if err != nil && connect.Code(err) != "NOPERM" {
		return err
	}
	received := time.Now()
	w.timeless = ""
	if err == nil {
		w.clock.observe(sent, received, limiter.InstantOf(t), true)
	} else {
		w.timeless = connect.Remedy(err)
	}
	info, err := w.client.Info(ctx, "server", "replication").Result()
	if err != nil {
		if connect.Away(err) {
			return err
		}
		info, err = w.client.Info(ctx).Result() // before Redis 7 INFO takes one section
		if err != nil && connect.Away(err) {
			return err
		}
	}
	fields := connect.ParseInfo(info)
	w.version = connect.VersionOf(fields)
	w.role = fields["role"]
	if w.role == "slave" {
		w.role = "replica"
	}
	w.runID = fields["run_id"]
	if _, ok := w.client.(*redis.ClusterClient); ok {
		w.role = "cluster"
		if w.reads.Replicas() {
			w.role = "cluster replicas"
		}
	}
	w.greeted = true
	return nil
}

// round reads what is due. The error is for a server that is away; what was read before
// it went comes with it.
//
// Only a full round looks at all that is due, adopts what was found and examines the server.
func (w *observer) round(ctx context.Context, o order) (readings []model.Reading, gone []string, err error) {
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
			l.Resync()
		}
	}
	if o.kind != full {
		w.health = nil
		due := w.quickly(o, time.Now())
		if o.kind == quick && len(o.names) == 0 && len(due) > 0 {
			if still, err := w.idle(ctx, time.Now()); still || err != nil {
				return nil, nil, err
			}
		}
		w.quick = true
		err = w.readAll(ctx, due, &readings)
		w.quick = false
		return readings, nil, err
	}
	if err := w.feel(ctx, time.Now()); err != nil {
		return nil, nil, err
	}
	// What a pass has found is adopted in the round that tells of the pass.
	w.sweep = w.scout.Progress()
	w.adopt()
	if len(w.looks) == 0 { // nothing to read: is the server still there?
		if err := w.tick(ctx); err != nil {
			return nil, nil, err
		}
	}
	if _, err := w.idle(ctx, time.Now()); err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	w.sinceRound, w.begun = begun.Sub(w.begun), begun
	w.purse.fill(begun, w.o.Refresh)
	w.charge(w.scout.Cost() + w.listener.cost() + w.subscriber.cost() + w.vigil.cost(w.tariff.Wake()))
	if err := w.readAll(ctx, w.plan(begun), &readings); err != nil {
		return readings, nil, err
	}
	if w.health, err = w.doctor.Examine(ctx, w.reads.All, w.clock.at(time.Now()), w.embedded); err != nil {
		return readings, nil, err
	}
	if w.health != nil {
		w.policy = w.health.Policy
		w.charge(w.doctor.Cost())
		w.strained = w.doctor.Strained()
		w.scout.Strain(w.strained)
		w.heat.writes.Strain(w.strained)
		if p := w.doctor.Prices(); len(p) > 0 {
			w.tariff.Exec = maps.Clone(p)
		}
		w.tariff.Turn = w.doctor.Turn()
		w.scout.Reprice(w.tariff)
		w.listener.turn.Store(int64(w.tariff.Wake()))
	}
	if !w.embedded { // whose traffic tells of itself
		w.listen(ctx)
		w.subscribe(ctx)
	}
	return readings, w.bury(), nil
}

// charge takes from the purse what was spent beside the readings, and tells it.
func (w *observer) charge(spent time.Duration) {
	w.purse.pay(spent)
	w.spent += spent
}

// tick asks for the time alone.
func (w *observer) tick(ctx context.Context) error {
	if w.timeless != "" {
		if err := w.client.Ping(ctx).Err(); connect.Away(err) {
			return err
		}
		return nil
	}
	sent := time.Now()
	t, err := w.client.Time(ctx).Result()
	if err != nil {
		if connect.Away(err) {
			return err
		}
		return nil
	}
	w.clock.observe(sent, time.Now(), limiter.InstantOf(t), true)
	return nil
}
