package watch

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/track"
	"ratescope/feed/watch/health"
	"ratescope/internal/goroutine"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/handoff"
)

// reader reads the limiters that are due over the link. Its methods and fields belong to the goroutine of run, unless their comment
// says otherwise; it shares data with other goroutines only through the channels of orders and results and through shared.
type reader struct {
	o        Options
	link     *link
	clients  []redis.UniversalClient // that are closed at the end
	limiters *limiters
	shared   *shared
	embedded bool
	notice   string // a sentence for the user about the cluster; "" is none

	announcements *announcements
	examined      *handoff.Latest[health.Examination]

	inferred track.Engine // infers the limits of keys that are only likely to be limiters
	idle     bool         // nothing was written for a while, and the next write will be announced
	spending spending
	sweep    model.Sweep // discovery's progress before this round adopted its finds
	signs    int         // that keys have shown of others
	held     time.Time   // until when the first pass waits for what they change
	settled  bool        // a pass was reported
}

// spending keeps the reader within its share of the server's time, and account of it. It earns server time as time passes, and every
// command is paid for from it. When nothing is left, keys on screen are still read, and all others wait.
type spending struct {
	share   float64 // of the server's time
	left    time.Duration
	allRead bool // every key was read once, so that savings are limited by maxSaved
	costs   health.Costs
	quick   time.Duration // server time of one tracker in a quick round, without the round trip, smoothed
	spent   time.Duration // server time since the previous result
	charged *atomic.Int64 // server time since the start, in ns
	begun   time.Time     // start of the latest full round
	since   time.Duration // from the start of the full round before it to begun
}

const (
	// start is the server time that is left at first, so that ten thousand keys are read once soon.
	start = 200 * time.Millisecond
	// maxSaved bounds savings and debts: the server time that the share earns in maxSaved.
	maxSaved = time.Second
	// roundShare bounds a round whatever is saved: its server time as a share of the time since the previous round.
	roundShare = 0.05
)

// begin begins a full round, and adds the server time earned since the previous one. At most two refreshes count, since
// nothing is earned while the process or the machine sleeps. share is the share that may be
// taken at present, which is above the usual one while no other client uses the server.
func (s *spending) begin(now time.Time, refresh time.Duration, share float64) {
	s.since = now.Sub(s.begun)
	if !s.begun.IsZero() {
		earned := time.Duration(float64(min(s.since, 2*refresh)) * max(share, s.share))
		most := time.Duration(float64(maxSaved) * s.share)
		if !s.allRead {
			most = max(most, s.left)
		}
		s.left = min(s.left+earned, most)
	}
	s.begun = now
}

// charge takes spent server time from what is left, which may go into debt.
func (s *spending) charge(d time.Duration) {
	s.left = max(s.left-d, -time.Duration(float64(maxSaved)*s.share))
	s.spent += d
	s.charged.Add(int64(d))
}

func newReader(o Options, e *connect.Endpoint, g *connect.Guard, pasts map[string]*track.Past, s *shared) *reader {
	client, nodes := e.Waiting(mostAnswer).OpenNodes(o.ClientName, poolSize, g)
	return &reader{
		o: o, link: newLink(client, nodes, g, s), clients: []redis.UniversalClient{client}, limiters: newLimiters(o, pasts),
		shared: s, embedded: pasts != nil,
		spending: spending{share: cmp.Or(max(o.Budget, 0), DefaultBudget), left: start, charged: &s.charged},
		examined: handoff.New(func(held *health.Examination, newer health.Examination) {
			newer.Cost += held.Cost
			*held = newer
		}),
	}
}

// run answers orders until ctx ends. Nodes that do not answer are pinged by goroutines of the group beside.
func (r *reader) run(ctx context.Context, beside *goroutine.Group, orders <-chan order, results chan<- result) {
	r.link.beside = beside
	r.connect(ctx, beside)
	for {
		var o order
		select {
		case <-ctx.Done():
			return
		case o = <-orders:
		}
		before := r.link.guard.Commands.Load()
		res := result{kind: o.kind}
		b, c, l := &res.batch, &r.link.clock, r.limiters
		res.err = r.round(ctx, o, b)
		b.Cost = model.Cost{Commands: r.link.guard.Commands.Load() - before, Server: r.spending.spent}
		r.spending.spent = 0
		b.Server = r.link.server
		b.Server.RTT, b.Server.Offset, b.Server.OffsetBy = c.rtt(), c.offset, c.uncertainty()
		b.Server.Lacks, b.Server.Away = r.lacks(), r.link.away()
		res.bound, res.idle = c.bound(), r.covered()
		if heard := r.link.guard.LastReceived(); heard.After(r.link.guard.Dialed()) {
			res.heard = heard
		}
		res.seen, _ = r.announcements.writes()
		if o.kind == orderFull {
			r.takeAnnouncements() // of the time that the round took
			r.sweep.Behind = r.behind(time.Now())
		}
		b.Sweep = r.sweep
		b.Sweep.Matched, b.Sweep.Dropped, b.Sweep.Bans = len(l.trackers), l.beyond.len(), slices.Clone(l.bans)
		b.Sweep.Beyond, b.Sweep.Candidates = l.beyond.list(&l.patterns, r.link.now()), l.candidates.list(&l.patterns, r.link.now())
		if k := l.ranker; res.err == nil || len(b.Readings) > 0 { // what it tells once
			b.HotKeys, b.LeftOut, k.news, k.leftOut = k.news, k.leftOut, nil, nil
		}
		r.shared.offset.Store(int64(c.offset))
		r.shared.rtt.Store(int64(c.rtt()))
		select {
		case <-ctx.Done():
			return
		case results <- res:
		}
	}
}

// round reads the trackers that are due into b. It fails when the server is away; b then holds the readings that came before. Only
// a full round reads all trackers that are due, and adopts the keys that discovery has found.
func (r *reader) round(ctx context.Context, o order, b *model.Batch) (err error) {
	defer func() {
		if err != nil {
			r.link.known = false // a different server may answer next
		}
		slices.SortFunc(b.Readings, func(a, b model.Reading) int { return strings.Compare(a.Key, b.Key) })
	}()
	if !r.link.known {
		if err := r.link.hello(ctx); err != nil {
			return err
		}
		r.limiters.resync()
	}
	if err = r.read(ctx, o, b); err == nil {
		err = r.confirm(ctx)
	}
	if r.inferred.Fresh() {
		for i := range b.Readings {
			if t := r.limiters.trackers[b.Readings[i].Key]; t != nil {
				t.tracker.Review(&b.Readings[i])
			}
		}
	}
	r.holdPass(time.Now())
	return err
}

// heldFor is how long limiters of a node that is away, or which the budget does not allow to read, are waited for.
const heldFor = 5 * time.Second

// holdPass withholds the first pass where a key has shown a sign that no other of its pattern had, until all limiters that can be read
// have been read again: what was told of them before may be wrong.
func (r *reader) holdPass(now time.Time) {
	if r.settled {
		return
	}
	signs := r.inferred.Signs()
	grew, waits := signs > r.signs, false
	if r.signs = signs; grew {
		r.held = now.Add(heldFor)
	}
	for _, t := range r.limiters.trackers {
		if grew && !t.resting {
			t.due = time.Time{}
		}
		waits = waits || t.due.IsZero() && now.Before(r.held)
	}
	if r.settled = r.sweep.Passes > 0 && !waits; !r.settled {
		r.sweep.Passes = 0
	}
}

// confirm asks the server for its identity again if a connection was made since it last gave it. A server that restarts between two
// rounds never appears to be away: the new connection is the only sign, and the run ID shows whether the round read a different server.
func (r *reader) confirm(ctx context.Context) error {
	if r.link.cluster || r.embedded || !r.link.guard.Dialed().After(r.link.greeted) {
		return nil
	}
	was := r.link.server.RunID
	if err := r.link.hello(ctx); err != nil {
		return err
	}
	if r.link.server.RunID != was { // the round may repeat what it did not ask for: the next one reads all, and tells the run ID
		r.link.server.RunID, r.link.known = was, false
	}
	return nil
}

// read carries out an order on a server whose identity is known.
func (r *reader) read(ctx context.Context, o order, b *model.Batch) error {
	r.takeAnnouncements()
	if o.kind != orderFull {
		due := r.dueBetween(o)
		if o.kind == orderQuick && len(o.names) == 0 && r.idle {
			return nil
		}
		return r.readAll(ctx, due, true, &b.Readings)
	}
	for _, name := range o.names {
		if t := r.limiters.trackers[name]; t != nil {
			t.woken, t.due = true, time.Time{}
		}
	}
	r.link.reviewOutages(ctx, r.limiters.trackers)
	r.spending.charge(r.limiters.rank(time.Now(), r.link.now()))
	// Progress comes before adopt: a pass is reported only with the limiters that it found.
	r.sweep = r.limiters.scanner.Progress()
	r.limiters.adopt(r.link.now())
	if len(r.limiters.trackers) == 0 { // no reading shows whether the server still answers
		if err := r.link.tick(ctx); err != nil {
			return err
		}
	}
	s, begun := &r.spending, time.Now()
	s.begin(begun, r.o.Refresh, r.sweep.Share)
	s.charge(r.limiters.scanner.Cost() + r.announcements.cost(s.costs.Wake()))
	if err := r.readAll(ctx, r.plan(begun), false, &b.Readings); err != nil {
		return err
	}
	b.Health, b.Gone = r.takeExamination(), r.limiters.removeGone(r.link.now())
	return nil
}

// takeExamination takes the latest examination of the server's health, and adjusts the costs to it; nil when there is no new one.
func (r *reader) takeExamination() *model.Health {
	e, ok := r.examined.TryTake()
	if !ok {
		return nil
	}
	s := &r.spending
	s.charge(e.Cost)
	s.costs = e.Costs
	r.limiters.scanner.Load(e.Costs)
	r.limiters.ranker.writes.Strain(e.Costs.Strained)
	return e.Health
}

// lacks returns a sentence for each thing that cannot be shown at present although the link is live.
func (r *reader) lacks() []string {
	out := append(r.limiters.scanner.Lacks(), r.notice, r.link.nodes.Lack(), r.link.clock.lack(time.Now()))
	if r.link.noTime != "" {
		out = append(out, "the server's clock may not be asked by this user, so that this machine's stands in: "+r.link.noTime)
	}
	if remedy := r.link.denials.Refused(); remedy != "" {
		out = append(out, "recorded denials cannot be read by this user, so that they are not known: "+
			"allow it with ACL SETUSER … %R~{*}:denied")
	}
	if remedy := r.link.others.Refused(); remedy != "" {
		out = append(out, "what stands beside counters cannot be read by this user, so that blocks and other ends are not known: "+remedy)
	}
	out = append(out, collect.Map(r.link.away(), func(n model.Node) string { return n.Err })...)
	slices.Sort(out)
	return collect.Only(out, func(s string) bool { return s != "" })
}

// arrived notes that requests were read. While the server was idle, they should have been announced.
func (r *reader) arrived() {
	if r.idle {
		r.announcements.missed()
	}
	r.idle = false
}
