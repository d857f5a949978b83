package watch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/cost"
	"ratescope/feed/decode"
	"ratescope/feed/discover"
	"ratescope/feed/health"
	"ratescope/feed/infer"
	"ratescope/feed/track"
	"ratescope/internal/panics"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/handoff"
)

// reader owns the connection that reads and the trackers of all limiters. It belongs to one
// goroutine, but for what says otherwise; orders and results are all that it shares.
type reader struct {
	o        Options
	client   redis.UniversalClient
	cluster  bool
	nodes    *connect.Nodes // of client
	guard    *connect.Guard
	shown    string                 // the target as the user may see it
	pasts    map[string]*track.Past // what is known from before; the embedded source fills it
	embedded bool

	scanner    *discover.Scanner
	listener   *listener
	subscriber *subscriber
	firstWrite *firstWrite
	ranker     *ranker
	examined   *handoff.Latest[health.Examination]
	*shared

	trackers map[string]*tracked
	dropped  map[uint64]bool // limiters beyond MaxKeys, by their hash
	visible  []*tracked      // those that are polled between two refreshes, the most important first

	server   identity
	joins    bool            // a node of a cluster is to be exchanged for the whole cluster
	notice   string          // what the user is to know of the cluster; "" nothing
	known    bool            // the server was asked who it is, since it last was away
	greeted  time.Time       // when it last answered who it is
	noTime   string          // what would allow to ask for the server's clock, where that is forbidden
	denials  track.Access    // to the streams of recorded denials
	windows  decode.Windows  // of all keys of a kind
	inferred infer.Engine    // of limiters that are only likely
	unlikely map[string]bool // patterns of keys that were seen not to be limiters
	clock    clock
	clocks   map[string]*clock  // of the nodes of a cluster, by address
	outages  map[string]*outage // of nodes of a cluster, by address
	beside   *panics.Group      // of Watch.Run
	idle     idleDetector
	spending spending
	sweep    model.Sweep // as it stood before the finds of this round were adopted
}

// focus is which keys are on screen. It is safe for concurrent use.
type focus struct {
	mu   sync.Mutex
	keys []string
}

func (f *focus) set(keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = slices.Clone(keys)
}

// places returns the place of each key on screen, from 1.
func (f *focus) places() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	place := make(map[string]int, len(f.keys))
	for i, k := range f.keys {
		place[k] = i + 1
	}
	return place
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

// shared is what goroutines beside the reader use too. It is safe for concurrent use.
type shared struct {
	focus   focus
	wakeups wakeups
	facts   facts
}

func newReader(o Options, e *connect.Endpoint, g *connect.Guard, pasts map[string]*track.Past, s *shared) *reader {
	client := e.Open(o.ClientName, poolSize, g)
	r := &reader{
		o: o, client: client, nodes: e.NodesOf(client), guard: g, shown: e.Shown, pasts: pasts, embedded: pasts != nil,
		shared: s, trackers: make(map[string]*tracked), dropped: make(map[uint64]bool), unlikely: make(map[string]bool),
		clocks: make(map[string]*clock), outages: make(map[string]*outage),
		spending: spending{budget: newBudget(o.Budget), charged: &s.facts.charged},
		examined: handoff.New(func(held *health.Examination, newer health.Examination) {
			newer.Cost += held.Cost
			*held = newer
		}),
	}
	_, r.cluster = client.(*redis.ClusterClient)
	r.listener = newListener(r.wakeups)
	r.subscriber = newSubscriber(r.wakeups, e.DB())
	for _, k := range o.Keys {
		t := r.newTracked(k, k)
		t.Probe()
		r.trackers[k] = t
	}
	return r
}

func (r *reader) newTracked(name, key string) *tracked {
	return &tracked{Tracker: track.New(name, config.RuleFor(r.o.Rules, name, key), r.embedded, r.pasts[name])}
}

// run answers orders until ctx ends. Nodes that are away are asked in goroutines of the group.
func (r *reader) run(ctx context.Context, beside *panics.Group, orders <-chan order, results chan<- result) {
	r.beside = beside
	for {
		var o order
		select {
		case <-ctx.Done():
			return
		case o = <-orders:
		}
		before := r.guard.Commands.Load()
		res := result{kind: o.kind}
		res.health, res.err = r.round(ctx, o, &res)
		res.commands = r.guard.Commands.Load() - before
		res.cost, r.spending.spent = r.spending.spent, 0
		res.rtt, res.offset, res.offsetBy = r.clock.rtt(), r.clock.offset, r.clock.uncertainty()
		res.server, res.lacks, res.away = r.server, r.lacks(), r.away()
		res.idle, res.covered = r.idle.idle, r.idle.covered || r.embedded
		res.sweep = r.sweep
		res.sweep.Matched, res.sweep.Dropped = len(r.trackers), len(r.dropped)
		if res.err == nil || len(res.readings) > 0 {
			res.hot, res.leftOut = r.ranker.takeNews()
		}
		r.facts.offset.Store(int64(r.clock.offset))
		r.facts.rtt.Store(int64(r.clock.rtt()))
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
			r.known = false // it may be another one when it comes back
		}
		slices.SortFunc(res.readings, func(a, b model.Reading) int { return strings.Compare(a.Key, b.Key) })
	}()
	if !r.known {
		if err := r.hello(ctx); err != nil {
			return nil, err
		}
		r.resync()
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
	if r.cluster || r.embedded || !r.guard.Dialed().After(r.greeted) {
		return nil
	}
	was := r.server.runID
	if err := r.hello(ctx); err != nil {
		return err
	}
	if r.server.runID != was {
		r.resync()
	}
	return nil
}

// resync has every tracker read anew, because what it knows may be of another server.
func (r *reader) resync() {
	for _, t := range r.trackers {
		t.Resync()
	}
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
		if t := r.trackers[name]; t != nil {
			t.woken, t.due = true, time.Time{}
		}
	}
	r.reviewOutages(ctx)
	r.rank(time.Now())
	// What a pass has found is adopted in the round that tells of the pass.
	r.sweep = r.scanner.Progress()
	r.adopt()
	if len(r.trackers) == 0 { // nothing to read: is the server still there?
		if err := r.tick(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := r.isIdle(ctx, time.Now()); err != nil {
		return nil, err
	}
	s, begun := &r.spending, time.Now()
	s.since, s.begun = begun.Sub(s.begun), begun
	s.budget.fill(begun, r.o.Refresh, r.sweep.Share)
	s.charge(r.scanner.Cost() + r.listener.cost() + r.subscriber.cost() + r.firstWrite.cost(s.costs.Wake()))
	if err := r.readAll(ctx, r.plan(begun), false, &res.readings); err != nil {
		return nil, err
	}
	h = r.takeExamination()
	if !r.embedded { // whose traffic announces itself
		r.listen(ctx)
		r.subscribe(ctx)
	}
	res.gone = r.removeGone()
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
	r.scanner.Strain(e.Strained)
	r.scanner.Reprice(s.costs)
	r.ranker.writes.Strain(e.Strained)
	r.listener.turn.Store(int64(s.costs.Wake()))
	return e.Health
}

// lacks says what cannot be told just now although the link is live, one sentence each.
func (r *reader) lacks() []string {
	out := r.scanner.Lacks()
	if r.notice != "" {
		out = append(out, r.notice)
	}
	if r.noTime != "" {
		out = append(out, "the server's clock may not be asked by this user, so that this machine's stands in: "+r.noTime)
	}
	if remedy := r.denials.Refused(); remedy != "" {
		out = append(out, "recorded denials cannot be read by this user, so that they are not known: allow it with ACL SETUSER … %R~{*}:denied")
	}
	for _, s := range []string{r.listener.lack(), r.nodes.Lack()} {
		if s != "" {
			out = append(out, s)
		}
	}
	for _, n := range r.away() {
		out = append(out, n.Err)
	}
	out = append(out, r.subscriber.lacks()...)
	slices.Sort(out)
	return out
}

// hello asks a server that has just answered who it is and what time it has, in one round
// trip. Of a cluster all nodes are asked at once, and one that answers is enough.
func (r *reader) hello(ctx context.Context) error {
	if !r.cluster {
		if err := r.takeHello(askHello(ctx, r.client), ""); err != nil {
			return err
		}
		if r.server.clusterNode && r.joins {
			return errClusterNode
		}
		r.known = true
		return nil
	}
	nodes, err := r.nodes.All(ctx)
	if len(nodes) == 0 {
		return err
	}
	errs := make([]error, len(nodes))
	answers := make([]*helloAnswer, len(nodes))
	limited, cancel := context.WithTimeout(ctx, r.answerLimit())
	defer cancel()
	atOnce(len(nodes), func(i int) { answers[i] = askHello(limited, nodes[i]) })
	answered := false
	for i, n := range nodes {
		addr := n.Options().Addr
		if errs[i] = r.takeHello(answers[i], addr); errs[i] != nil {
			r.noteOutage(ctx, addr, n, 0, errs[i])
			err = errs[i]
			continue
		}
		answered = true
		if o := r.outages[addr]; o != nil {
			o.stop()
			delete(r.outages, addr)
		}
	}
	if !answered {
		return err
	}
	for addr := range r.clocks { // of nodes that have left the cluster
		if !slices.ContainsFunc(nodes, func(n *redis.Client) bool { return n.Options().Addr == addr }) {
			delete(r.clocks, addr)
		}
	}
	r.server.role, r.server.runID = "cluster", "" // each node has one of its own
	if r.nodes.Replicas() {
		r.server.role = "cluster replicas"
	}
	r.known = true
	return nil
}

// helloAnswer is what one server says of itself.
type helloAnswer struct {
	sent, received time.Time
	time           *redis.TimeCmd
	info           *redis.StringCmd
	denied         *redis.XMessageSliceCmd // whether recorded denials may be read
}

func askHello(ctx context.Context, c redis.UniversalClient) *helloAnswer {
	a := &helloAnswer{sent: time.Now()}
	pipe := c.Pipeline()
	a.info = pipe.Info(ctx, "server", "replication", "memory", "cluster")
	a.denied = pipe.XRangeN(ctx, layout.DeniedKey("ratescope"), "-", "+", 1)
	a.time = pipe.Time(ctx)
	_, _ = pipe.Exec(ctx) // each command holds its own error
	a.received = time.Now()
	if err := a.info.Err(); err != nil && !connect.Away(err) {
		a.info = c.Info(ctx) // before Redis 7 INFO takes one section
	}
	return a
}

// takeHello takes in how a node answered the greeting: its clock, its role and what it lacks.
func (r *reader) takeHello(a *helloAnswer, addr string) error {
	t, err := a.time.Result()
	if err != nil && connect.Code(err) != "NOPERM" {
		return err
	}
	if connect.Away(a.info.Err()) {
		return a.info.Err()
	}
	r.greeted = a.received
	r.noTime, r.denials = "", track.AccessOf(a.denied.Err())
	if err == nil {
		dialed := r.guard.Dialed().After(a.sent) // this was no measure of the way
		r.clockOf(addr).observe(a.sent, a.received, limiter.InstantOf(t), !dialed)
		if addr == r.leader() {
			r.clock = *r.clockOf(addr)
		}
	} else {
		r.noTime = connect.Remedy(err)
	}
	r.facts.time.Store(err == nil && !r.cluster)
	fields := connect.ParseInfo(a.info.Val())
	r.server = identity{role: fields["role"], version: connect.VersionOf(fields), runID: fields["run_id"]}
	if r.server.role == "slave" {
		r.server.role = "replica"
	}
	if r.server.clusterNode = fields["cluster_enabled"] == "1"; r.server.clusterNode && !r.cluster {
		r.server.role = "cluster node"
	}
	r.facts.setVersion(r.server.version)
	if policy := fields["maxmemory_policy"]; policy != "" {
		r.facts.setPolicy(policy)
	}
	return nil
}

// tick asks for the time alone.
func (r *reader) tick(ctx context.Context) error {
	if r.cluster {
		return r.hello(ctx)
	}
	if r.noTime != "" {
		if err := r.client.Ping(ctx).Err(); connect.Away(err) {
			return err
		}
		return nil
	}
	sent := time.Now()
	t, err := r.client.Time(ctx).Result()
	switch {
	case connect.Away(err):
		return err
	case err == nil:
		r.clock.observe(sent, time.Now(), limiter.InstantOf(t), !r.guard.Dialed().After(sent))
	}
	return nil
}
