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
	"ratescope/model/handoff"
)

// reader reads the limiters that are due over the link. Its methods and fields belong to the
// goroutine of run, unless their comment says otherwise; it shares data with other goroutines
// only through the channels of orders and results and through shared.
type reader struct {
	o        Options
	link     *link
	limiters *limiters
	shared   *shared
	embedded bool
	notice   string // a sentence for the user about the cluster; "" is none

	listener   *listener
	firstWrite *firstWrite
	examined   *handoff.Latest[health.Examination]

	inferred track.Engine // infers the limits of keys that are only likely to be limiters
	idle     idleDetector
	spending spending
	sweep    model.Sweep // discovery's progress before this round adopted its finds
}

// spending keeps account of the server's time: how much reading may take, and how much it took.
type spending struct {
	budget   budget
	costs    health.Costs
	strained bool          // the server is almost saturated, and is read less
	quick    time.Duration // server time of one tracker in a quick round, without the round trip, smoothed
	spent    time.Duration // server time since the previous result
	charged  *atomic.Int64 // server time since the start, in ns
	begun    time.Time     // start of the latest full round
	since    time.Duration // from the start of the full round before it to begun
}

// charge takes server time from the budget and adds it to the account.
func (s *spending) charge(d time.Duration) {
	s.budget.pay(d)
	s.spent += d
	s.charged.Add(int64(d))
}

func newReader(o Options, e *connect.Endpoint, g *connect.Guard, pasts map[string]*track.Past, s *shared) *reader {
	client, nodes := e.Waiting(mostAnswer).OpenNodes(o.ClientName, poolSize, g)
	r := &reader{
		o: o, link: newLink(client, nodes, g, &s.facts), limiters: newLimiters(o, pasts), shared: s, embedded: pasts != nil,
		spending: spending{budget: budget{share: cmp.Or(max(o.Budget, 0), DefaultBudget), left: start}, charged: &s.facts.charged},
		examined: handoff.New(func(held *health.Examination, newer health.Examination) {
			newer.Cost += held.Cost
			*held = newer
		}),
	}
	r.listener = &listener{wakeups: s.wakeups, client: client, change: handoff.NewSignal()}
	return r
}

// run answers orders until ctx ends. Nodes that do not answer are pinged by goroutines of the
// group beside.
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
		res.health, res.err = r.round(ctx, o, &res)
		res.commands = r.link.guard.Commands.Load() - before
		res.cost, r.spending.spent = r.spending.spent, 0
		res.rtt, res.offset, res.offsetBy = r.link.clock.rtt(), r.link.clock.offset, r.link.clock.uncertainty()
		res.server, res.lacks, res.away = r.link.server, r.lacks(), r.link.away()
		res.idle, res.covered = r.idle.idle, r.idle.covered || r.embedded
		res.sweep = r.sweep
		res.sweep.Matched, res.sweep.Dropped = len(r.limiters.trackers), len(r.limiters.dropped)
		if heard := r.link.guard.LastReceived(); heard.After(r.link.guard.Dialed()) {
			res.heard = heard
		}
		now := r.link.clock.at(time.Now())
		res.sweep.Beyond = r.limiters.beyond.list(&r.limiters.patterns, now)
		res.sweep.Candidates = r.limiters.candidates.list(&r.limiters.patterns, now)
		if res.err == nil || len(res.readings) > 0 {
			k := r.limiters.ranker // what it tells once
			res.hot, res.leftOut, k.news, k.leftOut = k.news, k.leftOut, nil, nil
		}
		r.shared.facts.offset.Store(int64(r.link.clock.offset))
		r.shared.facts.rtt.Store(int64(r.link.clock.rtt()))
		r.shared.facts.bound.Store(int64(r.link.clock.bound()))
		select {
		case <-ctx.Done():
			return
		case results <- res:
		}
	}
}

// round reads the trackers that are due into res. It fails when the server is away; res then
// holds the readings that came before. Only a full round reads all trackers that are due,
// and adopts the keys that discovery has found.
func (r *reader) round(ctx context.Context, o order, res *result) (h *model.Health, err error) {
	defer func() {
		if err != nil {
			r.link.known = false // a different server may answer next
		}
		slices.SortFunc(res.readings, func(a, b model.Reading) int { return strings.Compare(a.Key, b.Key) })
	}()
	if !r.link.known {
		if err := r.link.hello(ctx); err != nil {
			return nil, err
		}
		r.limiters.resync()
	}
	if h, err = r.read(ctx, o, res); err == nil {
		err = r.confirm(ctx)
	}
	if r.inferred.Fresh() {
		for i := range res.readings {
			if t := r.limiters.trackers[res.readings[i].Key]; t != nil {
				t.Review(&res.readings[i])
			}
		}
	}
	return h, err
}

// confirm asks the server for its identity again if a connection was made since it last gave
// it. A server that restarts between two rounds never appears to be away: the new connection
// is the only sign, and the run ID shows whether the round read a different server.
func (r *reader) confirm(ctx context.Context) error {
	if r.link.cluster || r.embedded || !r.link.guard.Dialed().After(r.link.greeted) {
		return nil
	}
	was := r.link.server.runID
	if err := r.link.hello(ctx); err != nil {
		return err
	}
	if r.link.server.runID != was {
		r.limiters.resync()
	}
	return nil
}

// read carries out an order on a server whose identity is known.
func (r *reader) read(ctx context.Context, o order, res *result) (h *model.Health, err error) {
	if o.kind != orderFull {
		due := r.dueBetween(o, time.Now())
		if o.kind == orderQuick && len(o.names) == 0 && len(due) > 0 {
			if idle, err := r.isIdle(ctx, time.Now()); idle || err != nil {
				return nil, err
			}
		}
		return nil, r.readAll(ctx, due, true, &res.readings)
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
			return nil, err
		}
	}
	if !r.firstLook() {
		if _, err := r.isIdle(ctx, time.Now()); err != nil {
			return nil, err
		}
	}
	s, begun := &r.spending, time.Now()
	s.since, s.begun = begun.Sub(s.begun), begun
	s.budget.fill(begun, r.o.Refresh, r.sweep.Share)
	s.charge(r.limiters.scanner.Cost() + r.listener.cost() + r.firstWrite.cost(s.costs.Wake()))
	if err := r.readAll(ctx, r.plan(begun), false, &res.readings); err != nil {
		return nil, err
	}
	h = r.takeExamination()
	if !r.embedded { // the embedded server's writers announce their writes
		r.listen()
	}
	res.gone = r.limiters.removeGone(r.link.now())
	return h, nil
}

// firstLook reports whether limiters that discovery has found, or is about to find, were not read yet: they are read
// before anything else is asked for, which takes long where the server is far.
func (r *reader) firstLook() bool {
	return r.limiters.scanner.Progress().Passes == 0 || len(r.limiters.trackers) > 0 && !r.spending.budget.allRead
}

// takeExamination takes the latest examination of the server's health, and adjusts the costs
// to it; nil when there is no new one.
func (r *reader) takeExamination() *model.Health {
	e, ok := r.examined.TryTake()
	if !ok {
		return nil
	}
	s := &r.spending
	s.charge(e.Cost)
	s.strained = e.Strained
	if len(e.Prices) > 0 {
		s.costs.Exec = e.Prices
	}
	s.costs.Turn = e.RoundTrip
	r.limiters.scanner.Load(s.costs, e.Strained)
	r.limiters.ranker.writes.Strain(e.Strained)
	r.listener.turn.Store(int64(s.costs.Wake()))
	return e.Health
}

// lacks returns a sentence for each thing that cannot be shown at present although the link
// is live.
func (r *reader) lacks() []string {
	out := r.limiters.scanner.Lacks()
	if r.notice != "" {
		out = append(out, r.notice)
	}
	if r.link.noTime != "" {
		out = append(out, "the server's clock may not be asked by this user, so that this machine's stands in: "+r.link.noTime)
	}
	if remedy := r.link.denials.Refused(); remedy != "" {
		out = append(out, "recorded denials cannot be read by this user, so that they are not known: allow it with ACL SETUSER … %R~{*}:denied")
	}
	for _, s := range []string{r.listener.lack(), r.link.nodes.Lack(), r.link.clock.lack(time.Now())} {
		if s != "" {
			out = append(out, s)
		}
	}
	for _, n := range r.link.away() {
		out = append(out, n.Err)
	}
	slices.Sort(out)
	return out
}

// idleDetector avoids quick rounds while the server is idle. After idleAfter without an
// arrival, one command asks the server whether anything was written at all (INFO persistence:
// rdb_changes_since_last_save, which counts every change since Redis 2.4), and the keys are
// read only if so. A request still shows within a tenth of a second, and an idle server
// answers one command instead of hundreds; while firstWrite listens it answers none.
//
// Keys are polled as usual on a cluster, on a server that does not report its changes, and on
// a server where other keys are written all the time. Every key is read now and then anyway,
// so that behind a proxy that answers for only one of several servers a request shows late,
// but is not lost. The zero value is ready; it is used by the reader's goroutine.
type idleDetector struct {
	arrival time.Time // the latest arrival
	idle    bool      // nothing was written when last checked
	covered bool      // the next write will be announced
	changes string    // the state of the server at the previous check
	vain    int       // consecutive rounds for changes that brought no arrival
	resume  time.Time // no check before this time
}

const (
	infoPrice  = 20 * time.Microsecond // server time of one INFO without its round trip
	idleAfter  = 2 * time.Second       // time without an arrival before the first check
	maxVain    = 5                     // rounds in vain after which checking stops
	resumeNext = 10 * time.Second      // how long checking stops then
)

// isIdle reports whether nothing was written since the previous check, so that a quick round
// is not needed. It fails when the server is away.
func (r *reader) isIdle(ctx context.Context, now time.Time) (bool, error) {
	d := &r.idle
	d.idle, d.covered = false, false
	single, ok := r.link.client.(*redis.Client)
	if !ok || now.Sub(d.arrival) < idleAfter || now.Before(d.resume) {
		d.changes = ""
		return false, nil
	}
	if changes, known := r.firstWrite.changes(); known {
		d.covered = d.same(changes, now)
		return d.covered, nil
	}
	r.firstWrite.want()
	cmd := single.Info(ctx, "persistence")
	r.spending.charge(r.spending.costs.Wake() + infoPrice)
	text, err := cmd.Result()
	if connect.Away(err) {
		return false, err
	}
	fields := connect.ParseInfo(text)
	changes, known := fields["rdb_changes_since_last_save"]
	changes += " since " + fields["rdb_last_save_time"] // each save resets the count to 0
	if err != nil || !known {
		d.resume = now.Add(refusedFor)
		return false, nil
	}
	return d.same(changes, now), nil
}

// arrived notes an arrival. If firstWrite was listening, it should have announced the arrival.
func (r *reader) arrived(at time.Time) {
	if r.idle.covered {
		r.firstWrite.missed()
	}
	d := &r.idle
	d.arrival, d.vain, d.idle, d.covered = at, 0, false, false
}

// same reports whether the state of the server is the same as at the previous check.
func (d *idleDetector) same(changes string, now time.Time) bool {
	if changes == d.changes {
		d.vain, d.idle = 0, true
		return true
	}
	if d.changes != "" {
		if d.vain++; d.vain >= maxVain {
			d.vain, d.resume = 0, now.Add(resumeNext)
		}
	}
	d.changes = changes
	return false
}

// budget keeps the reader within its share of the server's time. It earns server time as time
// passes, and every command is paid for from it. When it is empty, keys on screen are still
// read, and all others wait.
type budget struct {
	share   float64 // share of the server's time
	left    time.Duration
	filled  time.Time // the latest call of fill
	allRead bool      // every key was read once, so that savings are limited by maxSaved
}

const (
	// start is the server time that a budget holds at first, so that ten thousand keys are
	// read once soon.
	start = 200 * time.Millisecond
	// maxSaved bounds savings and debts: the server time that the share earns in maxSaved.
	maxSaved = time.Second
	// roundShare bounds a round whatever is saved: its server time as a share of the time since
	// the previous round.
	roundShare = 0.05
)

// fill adds the server time earned since the previous call. At most two refreshes count, since
// nothing is earned while the process or the machine sleeps. share is the share that may be
// taken at present, which is above the budget's own while no other client uses the server.
func (b *budget) fill(now time.Time, refresh time.Duration, share float64) {
	if !b.filled.IsZero() {
		earned := time.Duration(float64(min(now.Sub(b.filled), 2*refresh)) * max(share, b.share))
		most := time.Duration(float64(maxSaved) * b.share)
		if !b.allRead {
			most = max(most, b.left)
		}
		b.left = min(b.left+earned, most)
	}
	b.filled = now
}

// pay takes the spent server time. The budget may go into debt.
func (b *budget) pay(spent time.Duration) {
	b.left = max(b.left-spent, -time.Duration(float64(maxSaved)*b.share))
}
