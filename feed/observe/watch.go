package observe

import (
	"sync/atomic"
	"time"

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
		observer: newObserver(o, client, g, e.DB(), pasts),
		refresh:  o.Refresh,
		server:   model.Server{Target: e.Shown, Embedded: pasts != nil},
	}
	w.shown = e.Shown
	w.scout = discover.New(client, o.Watch, o.Keys, o.Rules,
		func() limiter.Instant { return limiter.InstantOf(time.Now().Add(w.Offset())) },
		w.live.Load)
	if pasts != nil {
		w.scout.Rest *= 3 // nobody else writes there
	}
	return w
}

// Offset returns how far the server's clock is ahead of this machine's. It may be called
// from any goroutine.
func (w *Watch) Offset() time.Duration { return time.Duration(w.offset.Load()) }

// Close ends the connections.
func (w *Watch) Close() error { return w.client.Close() }

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
