package watch

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ratescope/feed/connect"
	"ratescope/feed/track"
	"ratescope/feed/track/infer"
	"ratescope/feed/watch/cost"
	"ratescope/feed/watch/health"
	"ratescope/internal/panics"
	"ratescope/model"
	"ratescope/model/handoff"
)

// reader reads what is due of the limiters over the link. It belongs to one goroutine, but for what
// says otherwise; orders, results and shared are all that it shares.
type reader struct {
	o        Options
	link     *link
	limiters *limiters
	shared   *shared
	embedded bool
	notice   string // what the user is to know of the cluster; "" nothing

	listener   *listener
	subscriber *subscriber
	firstWrite *firstWrite
	examined   *handoff.Latest[health.Examination]

	inferred infer.Engine // of limiters that are only likely
	idle     idleDetector
	spending spending
	sweep    model.Sweep // as it stood before the finds of this round were adopted
}

// spending is what reading may cost and what it did.
type spending struct {
	budget   budget
	costs    cost.Model
	meter    cost.Meter
	strained bool          // the server has hardly any time to spare: it is watched with restraint
	quick    time.Duration // what a tracker in a quick look costs beside the round trip, smoothed
	spent    time.Duration // of the server, since the result before
	charged  *atomic.Int64 // of the server, in ns, in all
	begun    time.Time     // of the last round
	since    time.Duration // from the round before to this one
}

// charge takes from the budget what was spent beside the readings.
func (s *spending) charge(d time.Duration) {
	s.budget.pay(d)
	s.spent += d
	s.charged.Add(int64(d))
}

func newReader(o Options, e *connect.Endpoint, g *connect.Guard, pasts map[string]*track.Past, s *shared) *reader {
	client := e.Open(o.ClientName, poolSize, g)
	r := &reader{
		o: o, link: newLink(client, e.NodesOf(client), g, &s.facts), limiters: newLimiters(o, pasts), shared: s, embedded: pasts != nil,
		spending: spending{budget: newBudget(o.Budget), charged: &s.facts.charged},
		examined: handoff.New(func(held *health.Examination, newer health.Examination) {
			newer.Cost += held.Cost
			*held = newer
		}),
	}
	r.listener = newListener(s.wakeups)
	r.subscriber = newSubscriber(s.wakeups, e.DB())
	return r
}

// run answers orders until ctx ends. Nodes that are away are asked in goroutines of the group.
func (r *reader) run(ctx context.Context, beside *panics.Group, orders <-chan order, results chan<- result) {
	r.link.beside = beside
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
		if res.err == nil || len(res.readings) > 0 {
			res.hot, res.leftOut = r.limiters.ranker.takeNews()
		}
		r.shared.facts.offset.Store(int64(r.link.clock.offset))
		r.shared.facts.rtt.Store(int64(r.link.clock.rtt()))
		select {
		case <-ctx.Done():
			return
		case results <- res:
		}
	}
}

// round reads what is due into res. The error is for a server that is away; what was read
// before it went comes with it. Only a full round reads all that is due, and adopts what
// was found.
func (r *reader) round(ctx context.Context, o order, res *result) (h *model.Health, err error) {
	defer func() {
		if err != nil {
			r.link.known = false // it may be another one when it comes back
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
	return h, err
}

// confirm asks who the server is where a connection was made since it last said so. One that
// was started anew between two rounds never seemed to be away: the first of them on a
// new connection has read another server, and its result says so.
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

// read reads what is due of a server that is known.
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
	// What a pass has found is adopted in the round that tells of the pass.
	r.sweep = r.limiters.scanner.Progress()
	r.limiters.adopt(r.link.now())
	if len(r.limiters.trackers) == 0 { // nothing to read: is the server still there?
		if err := r.link.tick(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := r.isIdle(ctx, time.Now()); err != nil {
		return nil, err
	}
	s, begun := &r.spending, time.Now()
	s.since, s.begun = begun.Sub(s.begun), begun
	s.budget.fill(begun, r.o.Refresh, r.sweep.Share)
	s.charge(r.limiters.scanner.Cost() + r.listener.cost() + r.subscriber.cost() + r.firstWrite.cost(s.costs.Wake()))
	if err := r.readAll(ctx, r.plan(begun), false, &res.readings); err != nil {
		return nil, err
	}
	h = r.takeExamination()
	if !r.embedded { // whose traffic announces itself
		r.listen(ctx)
		r.subscribe(ctx)
	}
	res.gone = r.limiters.removeGone(r.link.now())
	return h, nil
}

// takeExamination takes what the examination of the server has found, if there was one.
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
	r.limiters.scanner.Strain(e.Strained)
	r.limiters.scanner.Reprice(s.costs)
	r.limiters.ranker.writes.Strain(e.Strained)
	r.listener.turn.Store(int64(s.costs.Wake()))
	return e.Health
}

// lacks says what cannot be told just now although the link is live, one sentence each.
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
	for _, s := range []string{r.listener.lack(), r.link.nodes.Lack()} {
		if s != "" {
			out = append(out, s)
		}
	}
	for _, n := range r.link.away() {
		out = append(out, n.Err)
	}
	out = append(out, r.subscriber.lacks()...)
	slices.Sort(out)
	return out
}
