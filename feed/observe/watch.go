package observe

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/discover"
	"ratescope/feed/look"
	"ratescope/feed/rules"
	"ratescope/limiter"
	"ratescope/model"
)

// Options says what is watched and how. The zero value watches every key at the
// default refresh and budget.
type Options struct {
	Watch []string // globs of keys
	Keys  []string // exact names, read even while they do not exist
	Rules []rules.Rule
	// Refresh is the time between two batches, MaxKeys bounds how many limiters are watched,
	// Budget is the share of the server's time that watching may take, and ClientName is what
	// CLIENT LIST shows; zero means the default of each.
	Refresh    time.Duration
	MaxKeys    int
	Budget     float64
	ClientName string
}

// poolSize is enough for a round, discovery and one to spare.
const poolSize = 4

// hearPool is for the connection that listens to writes, and for the one that takes its place.
const hearPool = 2

// New makes what watches an endpoint. pasts is what is known of keys from before; it
// is nil unless the server is embedded, where all denials are recorded, too.
func New(o Options, e *connect.Endpoint, pasts map[string]*look.Past) *Watch {
	if o.Refresh <= 0 {
		o.Refresh = DefaultRefresh
	}
	if o.ClientName == "" {
		o.ClientName = "ratescope"
	}
	g := &connect.Guard{}
	client := e.Open(o.ClientName, poolSize, g)
	w := &Watch{
		observer: newObserver(o, client, e.NodesOf(client), g, e.DB(), pasts),
		refresh:  o.Refresh,
		server:   model.Server{Target: e.Shown, Embedded: pasts != nil},
	}
	w.shown = e.Shown
	serverNow := func() limiter.Instant { return limiter.InstantOf(time.Now().Add(w.Offset())) }
	w.scout = discover.New(client, w.reads.All, o.Watch, o.Keys, o.Rules, cmp.Or(max(o.Budget, 0), DefaultBudget), serverNow, w.live.Load)
	w.scout.Also = func(ctx context.Context, node redis.Cmdable, keys []string) time.Duration {
		return w.heat.kept.page(ctx, node, keys)
	}
	passed := ""
	w.scout.Unchanged = func() bool {
		state, told := w.vigil.changes()
		// Where the server counts the use of keys, passes ask it for that too.
		same := told && state == passed && w.heat.kept.lfu.Load() == lfuNo
		passed = state
		return same
	}
	if pasts != nil {
		w.scout.Rest *= 3 // nobody else writes there
		w.heat, w.vigil = newHeat(nil, nil, o, serverNow), newVigil(nil)
		return w
	}
	var hearing redis.UniversalClient
	var ears *connect.Nodes
	if len(w.scout.Patterns) > 0 { // else nothing is to be found
		hearing = e.OpenHearing(o.ClientName, hearPool, g)
		ears = e.NodesOf(hearing)
	}
	w.heat = newHeat(hearing, ears, o, serverNow)
	named := slices.Clone(o.Watch)
	for _, k := range o.Keys {
		named = append(named, rules.Literal(k))
	}
	w.vigil = newVigil(e.OpenTold(o.ClientName, prefixes(named), g))
	return w
}

// Offset returns how far the server's clock is ahead of this machine's. It may be called
// from any goroutine.
func (w *Watch) Offset() time.Duration { return time.Duration(w.offset.Load()) }

// Close ends the connections.
func (w *Watch) Close() error { return errors.Join(w.vigil.close(), w.heat.close(), w.client.Close()) }

// Watch runs an observer: it asks for a round at every refresh and emits what came, also
// when nothing came. Reading goes on beside, so that a server that hangs does not stop
// the batches that say so.
type Watch struct {
	*observer
	server  model.Server // what does not change
	refresh time.Duration
	live    atomic.Bool // the last round was answered

	offset atomic.Int64 // of the clock, for discovery
}

// Defaults of Options.
const (
	DefaultRefresh = 200 * time.Millisecond
	DefaultMaxKeys = 10_000
	DefaultBudget  = 0.01
)
