// Package watch watches the limiters of a server and reports them in batches.
//
// The schedule decides which keys are read and when; it is pure and runs on any clock. The reader owns the connection and the trackers
// of all limiters, and answers each order with a result. The emitter builds the batches and keeps the state of the link. The schedule
// and the emitter share the goroutine of Run, which also emits batches while no result comes, so that a server that hangs never stops
// the screen. The reader has a goroutine of its own.
//
//	schedule ──orders──▶ reader ──results──▶ emitter ──▶ batches
//
// Other goroutines scan for keys within a budget, sample which keys are written most, ask the server for its health, and learn of every
// write while there are few. They hand their findings to the reader, which never
// waits for them. All of them wait on the network, and all of them end before Run returns.
//
// Each round is paid for from a budget, a share of the server's time. Keys on screen are read
// first, then keys that are busy or near their limit; quiet keys are read less often.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/track"
	"ratescope/feed/watch/discover"
	"ratescope/feed/watch/health"
	"ratescope/internal/goroutine"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/naming"
)

const (
	poolSize   = 6 // connections: one for a round, two for discovery, one for health, one for hot keys, one spare
	listenPool = 2 // the connection that samples writes, and the one that replaces it
	// refusedFor is how long to wait before a request that the server refused is repeated.
	refusedFor = time.Minute
	// refusedUser is how long to wait after a wrong password, which takes a person to correct.
	refusedUser = 5 * time.Second
)

// Watch watches one endpoint.
type Watch struct {
	o        Options
	endpoint *connect.Endpoint
	pasts    map[string]*track.Past
	shared   *shared
	reader   *reader            // of the current session
	reload   chan []config.Rule // holds the rules that the next session is to use
	server   model.Server       // the fields that never change
}

// New prepares to watch an endpoint; it does not connect. pasts holds the earlier traffic of keys by name. It is nil unless the server
// is embedded; an embedded server records every denial too.
func New(o Options, e *connect.Endpoint, pasts map[string]*track.Past) *Watch {
	if o.Refresh <= 0 {
		o.Refresh = DefaultRefresh
	}
	o.ClientName = cmp.Or(o.ClientName, "ratescope")
	w := &Watch{o: o, endpoint: e, pasts: pasts, shared: &shared{wakeups: newWakeups(), announced: newWakeups()},
		server: model.Server{Target: e.Shown, DB: e.DB(), Embedded: pasts != nil}, reload: make(chan []config.Rule, 1)}
	w.reader = w.open()
	w.reader.link.joins = !w.reader.link.cluster
	return w
}

// open prepares a session.
func (w *Watch) open() *reader {
	o, e, g := w.o, w.endpoint, &connect.Guard{}
	r := newReader(o, e, g, w.pasts, w.shared)
	find := discover.Options{
		Client: r.link.client, Nodes: r.link.nodes.All, Patterns: o.Watch, Names: o.Keys, Rules: o.Rules,
		Budget: cmp.Or(max(o.Budget, 0), DefaultBudget), Now: r.shared.now, Away: r.shared.away.Load,
		Time: func() bool { return !r.shared.noTime.Load() },
		Trip: func() time.Duration { return cmp.Or(time.Duration(r.shared.rtt.Load()), g.Greeting()) },
		Own:  func() (time.Duration, int64) { return time.Duration(r.shared.charged.Load()), g.Commands.Load() },
	}
	if r.embedded {
		find.Rest = 3 * time.Second // only the demo writes to the embedded server
		r.limiters.scanner = discover.New(find)
		r.limiters.ranker, r.announcements = newRanker(nil, nil, o, r.shared.now), newAnnouncements(nil, 0)
		return r
	}
	if o.Budget <= 0 {
		find.Most = IdleBudget
	}
	kept := &retained{client: r.link.client, nodes: r.link.nodes, shared: r.shared}
	find.Page = kept.page
	passed := int64(-1)
	find.Unchanged = func() bool {
		state, known := r.announcements.writes()
		// A server with LFU counters is scanned anyway, because a pass reads the counters too.
		same := known && state == passed && !kept.lfu.Load()
		passed = state
		return same
	}
	r.limiters.scanner = discover.New(find)
	var client redis.UniversalClient
	var nodes *connect.Nodes
	if len(r.limiters.scanner.Progress().Patterns) > 0 { // without patterns nothing is searched for
		client, nodes = e.OpenPush(o.ClientName, listenPool, g)
		r.clients = append(r.clients, client)
	}
	r.limiters.ranker = newRanker(client, nodes, o, r.shared.now)
	r.limiters.ranker.retained = kept
	named := slices.Concat(o.Watch, collect.Map(o.Keys, naming.Escape))
	tracking := e.OpenTracking(o.ClientName, prefixes(named), g)
	r.clients = append(r.clients, tracking)
	r.announcements = newAnnouncements(tracking, find.Budget)
	return r
}

// Focus sets the keys that are read first: those on screen, the most important first. It may be called from any goroutine.
func (w *Watch) Focus(keys []string) {
	place := make(map[string]int, len(keys))
	for i, k := range keys {
		place[k] = i + 1
	}
	w.shared.places.Store(place)
}

// Written reports that this process wrote to a key, which is then read at once. It may be called from any goroutine.
func (w *Watch) Written(key string) { w.shared.wakeups.Put(map[string]bool{key: true}) }

// Announce reports that a key was written and can wait for the next refresh, which saves one
// round for each request. It may be called from any goroutine.
func (w *Watch) Announce(key string) { w.shared.announced.Put(map[string]bool{key: true}) }

// Expect watches a key that will hold the limiter described by f, even while the key does not exist yet. It must be called before Run.
func (w *Watch) Expect(f decode.Found) { w.reader.limiters.follow(f).tracker.Await() }

// Offset returns how far the server's clock is ahead of this machine's. It may be called from any goroutine.
func (w *Watch) Offset() time.Duration { return time.Duration(w.shared.offset.Load()) }

// Close closes the connections. It must be called after Run has returned.
func (w *Watch) Close() error { return w.reader.close() }

// close closes the connections of a session.
func (r *reader) close() error {
	return errors.Join(collect.Map(r.clients, redis.UniversalClient.Close)...)
}

// errClusterNode ends a session with one node of a cluster.
var errClusterNode = errors.New("this is one node of a cluster")

// errReload ends a session whose rules have changed.
var errReload = errors.New("the rules have changed")

// SetRules replaces the rules and starts a new session, which discovers every key again. It
// may be called from any goroutine. It is not supported for an embedded server.
func (w *Watch) SetRules(list []config.Rule) {
	for {
		select {
		case w.reload <- list:
			return
		case <-w.reload: // discard earlier rules that no session has taken up
		}
	}
}

// Run implements feed.Source. If the server turns out to be one node of a cluster, Run starts
// a new session with the whole cluster, as far as its other nodes can be reached.
func (w *Watch) Run(ctx context.Context, emit func(model.Batch)) error {
	for err := w.session(ctx, emit); ; err = w.session(ctx, emit) {
		switch {
		case errors.Is(err, errClusterNode):
			err = w.join(ctx)
		case errors.Is(err, errReload):
			was := w.reader
			err = w.reopen(ctx, was.notice)
			w.reader.link.joins = was.link.joins && was.notice == ""
			w.reader.inherit(was)
			emit = afterConnecting(emit)
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
}

// afterConnecting returns an emit function that drops the first batches of a new session as
// long as they only say that it is connecting, because the session before it was live.
func afterConnecting(emit func(model.Batch)) func(model.Batch) {
	begun := false
	return func(b model.Batch) {
		if begun = begun || b.Server.Link != model.Connecting || b.Server.Err != ""; begun {
			emit(b)
		}
	}
}

// join prepares a session with the whole cluster that the server belongs to.
func (w *Watch) join(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, joinLimit)
	masters, err := w.endpoint.Join(limited)
	cancel()
	notice := fmt.Sprintf("%s is one node of a cluster of %d masters, all of which are watched: add ?cluster=true to the URL to say so, "+
		"or ?cluster=false to watch this node alone", w.server.Target, masters)
	if err != nil {
		notice = fmt.Sprintf("%s is one node of a cluster, and only the keys of this node are seen (%v): add ?cluster=true to the URL, "+
			"with an address at which the other nodes can be reached", w.server.Target, err)
	}
	return w.reopen(ctx, notice)
}

// reopen closes the current session and prepares the next one, with a notice for the user.
func (w *Watch) reopen(ctx context.Context, notice string) error {
	if err := w.reader.close(); err != nil && ctx.Err() == nil {
		return err
	}
	w.reader = w.open()
	w.reader.notice = notice
	return nil
}

// inherit takes over what the session before has learned by watching, so that other rules do not begin it anew.
func (r *reader) inherit(was *reader) {
	r.inferred = was.inferred
	l, old := r.limiters, was.limiters
	l.patterns, l.unlikely, l.candidates, l.changed = old.patterns, old.unlikely, old.candidates, old.changed
	for name, t := range old.trackers {
		own, claimed := l.rules.Own(name, t.tracker.Found.Type, was.link.now())
		if claimed && !slices.ContainsFunc(own, func(m *decode.Match) bool { return m.Name == name }) {
			l.changed[name] = 0 // a rule reads it as another row
		}
	}
	for name, k := range l.candidates.names {
		typ, _, _ := strings.Cut(k.kind, " ")
		if _, claimed := l.rules.Own(name, typ, 0); claimed || config.RuleFor(l.o.Rules, name).Narrow() {
			l.candidates.remove(name)
		}
	}
}

// joinLimit bounds the check whether all nodes of a cluster can be reached.
const joinLimit = 2 * connect.Timeout

// session watches until ctx ends. The error is errClusterNode, errReload or the panic of a goroutine.
func (w *Watch) session(ctx context.Context, emit func(model.Batch)) (err error) {
	r := w.reader
	beside, ctx := goroutine.NewGroup(ctx)
	ctx, cancel := context.WithCancel(ctx)
	orders, results := make(chan order), make(chan result)
	beside.Go(func() { r.limiters.scanner.Run(ctx, beside) })
	beside.Go(func() { r.announcements.run(ctx, r.shared.live.Load) })
	beside.Go(func() { r.limiters.ranker.run(ctx, r.samples) })
	if r.limiters.ranker.client != nil {
		beside.Go(func() { r.limiters.ranker.retained.run(ctx) })
	}
	beside.Go(func() { r.examine(ctx) })
	beside.Go(func() { r.run(ctx, beside, orders, results) })
	defer func() {
		cancel()
		r.link.guard.HangUp() // so that no goroutine waits for a server that hangs
		err = cmp.Or(beside.Wait(), err)
	}()

	now, gap := time.Now(), wakeupGap
	if r.embedded {
		gap = wakeupGapEmbedded
	}
	s := newSchedule(w.o.Refresh, gap, now)
	e, quiet := &emitter{emit: emit, server: w.server, begun: now}, silence{every: w.o.Refresh}
	e.last.batch.Sweep.Patterns = r.limiters.scanner.Progress().Patterns
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case w.o.Rules = <-w.reload:
			return errReload
		case res := <-results:
			now = time.Now()
			if errors.Is(res.err, errClusterNode) {
				return errClusterNode
			}
			if e.take(now, res); res.err != nil {
				s.failed(now, connect.Unauthorized(res.err))
			} else {
				s.answered(now, res.idle)
			}
		case <-r.shared.wakeups.Ready():
			s.hasNews(time.Now())
		case <-r.limiters.scanner.Found():
			s.hasFinds(time.Now())
		case <-r.announcements.written:
			s.hasWrites(time.Now())
		case <-timer.C:
			now = time.Now()
			if s.ticked(now) {
				limit := silenceLimit(r.link.cluster, e.last.bound)
				if s.busy && quiet.lasts(now, later(s.ordered, r.link.guard.LastReceived())) > limit {
					e.lost(errSilent)
					s.live = false // the reader still waits for the answer
				}
				if s.busy || e.link != model.Live {
					e.waits(now, s.ordered, r.announcements.writes)
				}
			}
		}
		r.shared.live.Store(e.link == model.Live)
		r.shared.away.Store(e.link != model.Live && e.err != "")
		now = time.Now()
		if k := s.next(now); k != orderNone {
			o := order{kind: k, names: r.shared.news(k)}
			if len(o.names) > 0 {
				s.tookNames()
			}
			select {
			case orders <- o:
			case <-ctx.Done():
				return nil
			}
		}
		timer.Reset(s.wake().Sub(now))
	}
}

// samples reports whether writes are sampled: the server answers, and does not announce all of them.
func (r *reader) samples() bool {
	_, all := r.announcements.writes()
	return r.shared.live.Load() && !all
}

// connect makes the connections that the second page and the first examination of keys need, while the first page is fetched.
func (r *reader) connect(ctx context.Context, beside *goroutine.Group) {
	for range 2 {
		if !r.link.cluster && !r.embedded {
			beside.Go(func() { _ = r.link.client.Ping(ctx) })
		}
	}
}

// examine collects the server's health every health.Every until ctx ends.
func (r *reader) examine(ctx context.Context) {
	var c health.Collector
	for wait := time.Duration(0); goroutine.Sleep(ctx, wait) == nil; {
		if wait = health.Every; !r.shared.live.Load() {
			wait = 50 * time.Millisecond
			continue
		}
		if r.embedded {
			r.examined.Put(health.Examination{Health: &model.Health{At: r.shared.now(),
				Missing: []string{"the embedded Redis does not tell how it does"}}})
			continue
		}
		limited, cancel := context.WithTimeout(ctx, connect.Timeout)
		nodes, _ := r.link.nodes.All(limited)
		if e, err := c.Examine(limited, nodes, r.shared.now()); err == nil && len(nodes) > 0 {
			r.shared.policy.Store(e.Health.Policy)
			r.examined.Put(e)
		}
		cancel()
	}
}

// Options says which server is watched, which of its keys, and how often. The zero value
// watches every key of the server at redis://localhost:6379 at the default refresh and budget.
type Options struct {
	// URLs of the server: redis://, rediss://, unix:// as go-redis parses them; several, or one with ?cluster=true, are a cluster;
	// redis+sentinel://host:26379/name asks sentinels for the master. With ?replica=true a replica of each master is read instead, the
	// same one for as long as it answers; a single replica is read at its own address. The embedded server has no URL and ignores them.
	URLs []string
	// TLS names the files of a private authority and of a client's certificate.
	TLS connect.TLSFiles
	// Password is for a server whose URL has none; "" is no password.
	Password connect.Secret

	// Watch holds glob patterns of keys, as SCAN's MATCH understands them; none means "*".
	Watch []string
	// Keys are exact names, read even while they do not exist (Type "none").
	Keys []string
	// Slots restricts watching to the limiters whose names hash to these slots; the zero value means all slots. The slot is that of the
	// limiter's name, not of its keys, so that all keys of a limiter go together. The names in Keys are read whatever their slot.
	Slots connect.Slots
	// Rules say how keys are limited; the first that matches wins.
	Rules []config.Rule
	// Refresh is the time between two batches; 0 means DefaultRefresh.
	Refresh time.Duration
	// MaxKeys bounds how many limiters are watched; 0 means DefaultMaxKeys. Limiters found beyond it are counted in Sweep.Dropped.
	MaxKeys int
	// Budget is the share of the server's time that watching may take, 0.01 for one percent. 0 means DefaultBudget, and up to
	// IdleBudget for the first pass over the keyspace while no other client uses the server.
	Budget float64
	// ClientName is what CLIENT LIST shows; "" means "ratescope".
	ClientName string

	// Trace receives every round trip to the server, for a debug log; nil for none. It is called from any goroutine.
	Trace func(connect.RoundTrip)
}

// Defaults of Options.
const (
	DefaultRefresh = 200 * time.Millisecond
	DefaultMaxKeys = 10_000
	DefaultBudget  = 0.01
	IdleBudget     = 0.10
)

// Endpoint returns the server's endpoint. It does not connect; it fails when a URL does not parse or a TLS file cannot be read.
func (o Options) Endpoint() (*connect.Endpoint, error) {
	e, err := connect.Parse(o.URLs, o.TLS)
	if err != nil {
		return nil, err
	}
	e.SetPassword(o.Password)
	e.Trace = o.Trace
	return e, nil
}
