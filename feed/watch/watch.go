// Package watch watches the limiters of a server and reports them in batches.
//
// A schedule decides what is read when; it is pure and runs on any clock. A reader owns the
// connection and the trackers of all limiters, and answers orders with results. An emitter
// builds the batches and keeps the state of the link. Schedule and emitter share the
// goroutine of Run, which also reports when no result comes, so that a server that hangs
// never stops the screen; the reader has one of its own. Between them are two channels.
//
//	schedule ──orders──▶ reader ──results──▶ emitter ──▶ batches
//
// Beside them goroutines scan for keys inside a budget, wait for entries of the streams on
// screen, receive keyspace notifications, sample what is written most, ask the server how it
// does, and wait, while nothing is written, for the first write. What they find reaches the
// reader through hand-offs, so that the readings wait for none of them. All wait on the
// network, and none outlives Run.
//
// Rounds are paid from a budget that is a share of the server's time; keys on screen are
// read first, then those near their limit or busy, and quiet ones less often.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/track"
	"ratescope/feed/watch/discover"
	"ratescope/feed/watch/health"
	"ratescope/internal/backoff"
	"ratescope/internal/panics"
	"ratescope/model"
)

const (
	poolSize   = 6 // connections: a round, discovery twice, an examination, a report, and one to spare
	listenPool = 2 // the connection that samples writes, and the one that takes its place
	// refusedFor is how long the server is not asked again for what it refused.
	refusedFor = time.Minute
)

// Watch watches one endpoint.
type Watch struct {
	o        Options
	endpoint *connect.Endpoint
	pasts    map[string]*track.Past
	shared   *shared
	reader   *reader            // of the session that runs
	reload   chan []config.Rule // holds the rules that are to be put in place
	server   model.Server       // what does not change
}

// New prepares to watch an endpoint; it does not connect. pasts is what is known of keys
// from before; it is nil unless the server is embedded, where all denials are recorded, too.
func New(o Options, e *connect.Endpoint, pasts map[string]*track.Past) *Watch {
	if o.Refresh <= 0 {
		o.Refresh = DefaultRefresh
	}
	if o.ClientName == "" {
		o.ClientName = "ratescope"
	}
	w := &Watch{
		o: o, endpoint: e, pasts: pasts, shared: &shared{wakeups: newWakeups(), announced: newWakeups()},
		server: model.Server{Target: e.Shown, Embedded: pasts != nil},
		reload: make(chan []config.Rule, 1),
	}
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
		Budget: cmp.Or(max(o.Budget, 0), DefaultBudget), Now: r.shared.facts.now, Time: r.shared.facts.asksTime, Away: r.shared.facts.away.Load,
		Own: func() (time.Duration, int64) { return time.Duration(r.shared.facts.charged.Load()), g.Commands.Load() },
	}
	if r.embedded {
		find.Rest = 3 * time.Second // only the demo writes to the embedded server
		r.limiters.scanner = discover.New(find)
		r.limiters.ranker, r.firstWrite = newRanker(nil, nil, o, r.shared.facts.now), newFirstWrite(nil)
		return r
	}
	if o.Budget <= 0 {
		find.Most = IdleBudget
	}
	kept := newRetained(r.link.client, r.link.nodes, &r.shared.facts)
	find.Page = kept.page
	passed := ""
	find.Unchanged = func() bool {
		state, known := r.firstWrite.changes()
		// Where the server counts the use of keys, passes ask it for that too.
		same := known && state == passed && !kept.lfu.Load()
		passed = state
		return same
	}
	r.limiters.scanner = discover.New(find)
	var client redis.UniversalClient
	var nodes *connect.Nodes
	if len(r.limiters.scanner.Patterns()) > 0 { // else nothing is to be found
		client = e.OpenPush(o.ClientName, listenPool, g)
		nodes = e.NodesOf(client)
	}
	r.limiters.ranker = newRanker(client, nodes, o, r.shared.facts.now)
	r.limiters.ranker.retained = kept
	named := slices.Clone(o.Watch)
	for _, k := range o.Keys {
		named = append(named, config.LiteralGlob(k))
	}
	r.firstWrite = newFirstWrite(e.OpenTracking(o.ClientName, prefixes(named), g))
	return r
}

// Focus says which keys matter most. It may be called from any goroutine.
func (w *Watch) Focus(keys []string) { w.shared.focus.set(keys) }

// Written says that this process wrote to a key, so that it is read soon. It may be called
// from any goroutine.
func (w *Watch) Written(key string) { w.shared.wakeups.add(key) }

// Announce says that a key was written and that the next refresh is soon enough to read it, which
// saves a round for each request. It may be called from any goroutine.
func (w *Watch) Announce(key string) { w.shared.announced.add(key) }

// Expect follows a key that will hold what f says, even while it holds nothing. It is to be
// called before Run.
func (w *Watch) Expect(f decode.Found) { w.reader.limiters.expect(f) }

// Offset returns how far the server's clock is ahead of this machine's. It may be called
// from any goroutine.
func (w *Watch) Offset() time.Duration { return time.Duration(w.shared.facts.offset.Load()) }

// Close ends the connections. It is to be called after Run.
func (w *Watch) Close() error { return w.reader.close() }

// close ends the connections of a session.
func (r *reader) close() error {
	return errors.Join(r.firstWrite.close(), r.limiters.ranker.close(), r.link.client.Close())
}

// silentAfter is how long a server may say nothing, beside some round trips, before it counts
// as away: a frozen server must be said to be so before the read times out.
const silentAfter = time.Second

// errSilent stands for an answer that does not come.
var errSilent = fmt.Errorf("no answer yet: %w", context.DeadlineExceeded)

// errClusterNode ends a session with one node of a cluster.
var errClusterNode = errors.New("this is one node of a cluster")

// errReload ends a session whose rules have changed.
var errReload = errors.New("the rules have changed")

// SetRules puts other rules in place, with a new session in which every key is found again.
// It may be called from any goroutine, and is not for an embedded server.
func (w *Watch) SetRules(list []config.Rule) {
	for {
		select {
		case w.reload <- list:
			return
		case <-w.reload: // rules that came before, and were not put in place yet
		}
	}
}

// Run implements feed.Source. A session with a server that turns out to be one node of a
// cluster is followed by one with the whole cluster, where that can be reached.
func (w *Watch) Run(ctx context.Context, emit func(model.Batch)) error {
	for err := w.session(ctx, emit); ; err = w.session(ctx, emit) {
		switch {
		case errors.Is(err, errClusterNode):
			err = w.join(ctx)
		case errors.Is(err, errReload):
			notice, joins := w.reader.notice, w.reader.link.joins
			err = w.reopen(ctx, notice)
			w.reader.link.joins = joins && notice == ""
			emit = afterConnecting(emit)
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
}

// afterConnecting leaves out the batches of a new session that say only that it has not
// begun, because the one before it was live.
func afterConnecting(emit func(model.Batch)) func(model.Batch) {
	begun := false
	return func(b model.Batch) {
		if begun = begun || b.Server.Link != model.Connecting || b.Server.Err != ""; begun {
			emit(b)
		}
	}
}

// join prepares a session with the whole cluster of which the server is one node.
func (w *Watch) join(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, joinLimit)
	masters, err := w.endpoint.Join(limited)
	cancel()
	notice := fmt.Sprintf("%s is one node of a cluster of %d masters, all of which are watched: add ?cluster=true to the URL to say so, or ?cluster=false to watch this node alone", w.server.Target, masters)
	if err != nil {
		notice = fmt.Sprintf("%s is one node of a cluster, and only the keys of this node are seen (%v): add ?cluster=true to the URL, with an address at which the other nodes can be reached", w.server.Target, err)
	}
	return w.reopen(ctx, notice)
}

// reopen prepares another session.
func (w *Watch) reopen(ctx context.Context, notice string) error {
	if err := w.reader.close(); err != nil && ctx.Err() == nil {
		return err
	}
	w.reader = w.open()
	w.reader.notice = notice
	return nil
}

// joinLimit bounds the question whether all nodes of a cluster can be reached.
const joinLimit = 2 * connect.Timeout

// session watches until ctx ends. The error is errClusterNode, errReload or a panic.
func (w *Watch) session(ctx context.Context, emit func(model.Batch)) (err error) {
	r := w.reader
	beside, ctx := panics.NewGroup(ctx)
	ctx, cancel := context.WithCancel(ctx)
	orders, results := make(chan order), make(chan result)
	beside.Go(func() { r.limiters.scanner.Run(ctx, beside) })
	beside.Go(func() { r.listener.run(ctx, beside) })
	beside.Go(func() { r.subscriber.run(ctx, beside) })
	beside.Go(func() { r.firstWrite.run(ctx) })
	beside.Go(func() { r.limiters.ranker.run(ctx, r.shared.facts.live.Load) })
	if r.limiters.ranker.client != nil {
		beside.Go(func() { r.limiters.ranker.retained.run(ctx) })
	}
	beside.Go(func() { r.examine(ctx) })
	beside.Go(func() { r.run(ctx, beside, orders, results) })
	defer func() {
		cancel()
		r.link.guard.HangUp() // a server that hangs must not keep anything waiting
		err = cmp.Or(beside.Wait(), err)
	}()

	now, gap := time.Now(), wakeupGap
	if r.embedded {
		gap = wakeupGapEmbedded
	}
	s := newSchedule(w.o.Refresh, gap, now)
	e := &emitter{emit: emit, server: w.server, patterns: r.limiters.scanner.Patterns(), begun: now}
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
				s.failed(now)
			} else {
				s.answered(now, res.idle, res.covered)
			}
		case <-r.shared.wakeups.Ready():
			s.hasNews(time.Now())
		case <-r.limiters.scanner.Found():
			s.hasFinds(time.Now())
		case <-r.firstWrite.written:
			s.hasWrites(time.Now())
		case <-timer.C:
			now = time.Now()
			if s.ticked(now) {
				if s.busy && w.silence(now, s.ordered) {
					e.lost(errSilent)
					s.silent()
				}
				if s.busy || e.link != model.Live {
					e.send(now, nil, nil)
				}
			}
		}
		r.shared.facts.live.Store(e.link == model.Live)
		r.shared.facts.away.Store(e.link != model.Live && e.err != "")
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

// silence reports whether the server has said nothing for too long, on no connection, while
// an order waits for its answers. How far away it is does not matter.
func (w *Watch) silence(now, ordered time.Time) bool {
	r := w.reader
	return now.Sub(later(ordered, r.link.guard.LastReceived())) > silentAfter+tripsLimit*time.Duration(r.shared.facts.rtt.Load())
}

// examine asks the server how it does, again and again until ctx ends.
func (r *reader) examine(ctx context.Context) {
	var c health.Collector
	for wait := time.Duration(0); backoff.Sleep(ctx, wait) == nil; {
		if wait = health.Every; !r.shared.facts.live.Load() {
			wait = 50 * time.Millisecond
			continue
		}
		if r.embedded {
			r.examined.Put(health.Examination{Health: &model.Health{At: r.shared.facts.now(), Missing: []string{"the embedded Redis does not tell how it does"}}})
			continue
		}
		limited, cancel := context.WithTimeout(ctx, connect.Timeout)
		nodes, _ := r.link.nodes.All(limited)
		if e, err := c.Examine(limited, nodes, r.shared.facts.now()); err == nil && len(nodes) > 0 {
			r.shared.facts.setPolicy(e.Health.Policy)
			r.examined.Put(e)
		}
		cancel()
	}
}
