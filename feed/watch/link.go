package watch

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/track"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
)

// link is the connection that the reader uses, with the state of the servers behind it: their
// identity, their clocks, and which of them do not answer.
type link struct {
	client  redis.UniversalClient
	cluster bool
	nodes   *connect.Nodes // of client
	guard   *connect.Guard
	shared  *shared
	beside  *goroutine.Group // the goroutines of the session

	server  model.Server                   // its role, version and run ID, as it says in INFO
	single  bool                           // it is one node of a cluster, which is watched on its own
	joins   bool                           // if the server is one node of a cluster, watch the whole cluster instead
	known   bool                           // the server has given its identity since it was last away
	greeted time.Time                      // when the server last gave its identity
	noTime  string                         // the ACL command that would permit TIME; "" where TIME is permitted
	shut    struct{ info, time time.Time } // until when a command that was refused is not sent again
	denials track.Access                   // to the streams of recorded denials
	others  track.Access                   // to what stands beside counters
	clock   clock
	clocks  map[string]*clock  // clocks of the nodes of a cluster, by address
	outages map[string]*outage // nodes of a cluster that do not answer, by address
}

func newLink(client redis.UniversalClient, nodes *connect.Nodes, g *connect.Guard, s *shared) *link {
	l := &link{client: client, nodes: nodes, guard: g, shared: s, clocks: make(map[string]*clock), outages: make(map[string]*outage)}
	_, l.cluster = client.(*redis.ClusterClient)
	s.noTime.Store(l.cluster)
	return l
}

// Bounds of the time that one answer may take: answerLimit, or nodeAnswerLimit for a node of a cluster because the other nodes wait for
// it, plus tripsLimit usual round trips, so that a distant server does not count as away. Where the usual round trip is not known, or
// has just become longer, mostAnswer bounds the wait.
const (
	answerLimit     = connect.Timeout
	mostAnswer      = 2 * connect.Timeout
	nodeAnswerLimit = time.Second
	tripsLimit      = 4
)

// answerLimit returns how long an answer may take before the server counts as away.
func (l *link) answerLimit() time.Duration {
	return collect.If(l.cluster, nodeAnswerLimit, answerLimit) + tripsLimit*l.clock.bound()
}

// hello asks the server for its identity and its clock in one round trip. In a cluster it asks
// all nodes at the same time, and succeeds when at least one answers.
func (l *link) hello(ctx context.Context) error {
	if !l.cluster {
		if err := l.takeHello(l.askHello(ctx, l.client), ""); err != nil {
			return err
		}
		if l.single && l.joins {
			return errClusterNode
		}
		l.known = true
		return nil
	}
	nodes, err := l.nodes.All(ctx)
	if len(nodes) == 0 {
		return err
	}
	answers := make([]*helloAnswer, len(nodes))
	limited, cancel := context.WithTimeout(ctx, l.answerLimit())
	defer cancel()
	goroutine.AtOnce(len(nodes), func(i int) { answers[i] = l.askHello(limited, nodes[i]) })
	answered := false
	for i, n := range nodes {
		addr := n.Options().Addr
		if lost := l.takeHello(answers[i], addr); lost != nil {
			l.noteOutage(ctx, addr, n, 0, lost)
			err = lost
			continue
		}
		answered = true
		if o := l.outages[addr]; o != nil {
			o.stop()
			delete(l.outages, addr)
		}
	}
	if !answered {
		return err
	}
	maps.DeleteFunc(l.clocks, func(addr string, _ *clock) bool { // those of nodes that have left the cluster
		return !slices.ContainsFunc(nodes, func(n *redis.Client) bool { return n.Options().Addr == addr })
	})
	l.server.Role, l.server.RunID = "cluster", "" // each node has a run ID of its own
	if l.nodes.Replicas {
		l.server.Role = "cluster replicas"
	}
	l.known = true
	return nil
}

// helloAnswer holds the replies of one server to askHello.
type helloAnswer struct {
	sent, received time.Time
	time           *redis.TimeCmd          // empty for a command that was refused and is not asked again yet
	info           *redis.StringCmd        // likewise
	denied         *redis.XMessageSliceCmd // its error shows whether recorded denials may be read
}

// askHello asks one server for its identity, its clock and access to recorded denials. It only reads l, so that
// several nodes can be asked at once.
func (l *link) askHello(ctx context.Context, c redis.UniversalClient) *helloAnswer {
	a := &helloAnswer{sent: time.Now(), time: redis.NewTimeCmd(ctx), info: redis.NewStringCmd(ctx)}
	pipe := c.Pipeline()
	if a.sent.After(l.shut.info) {
		a.info = pipe.Info(ctx, "server", "replication", "memory", "cluster")
	}
	a.denied = pipe.XRangeN(ctx, layout.DeniedKey("ratescope"), "-", "+", 1)
	if a.sent.After(l.shut.time) {
		a.time = pipe.Time(ctx)
	}
	_, _ = pipe.Exec(ctx) // each command holds its own error
	a.received = time.Now()
	if err := a.info.Err(); err != nil && !connect.Away(err) && connect.Code(err) != "NOPERM" {
		a.info = c.Info(ctx) // before Redis 7 INFO takes one section
	}
	return a
}

// takeHello takes over a node's clock, identity and missing permissions from its answer; addr
// is "" for a single server. It fails when the node is away.
func (l *link) takeHello(a *helloAnswer, addr string) error {
	t, err := a.time.Result()
	switch {
	case err != nil && connect.Code(err) != "NOPERM":
		return err
	case connect.Away(a.info.Err()):
		return a.info.Err()
	case connect.Away(a.denied.Err()):
		return a.denied.Err()
	case connect.Code(a.info.Err()) == "NOPERM":
		l.shut.info = a.received.Add(refusedFor)
	}
	l.greeted, l.denials, l.others = a.received, track.AccessOf(a.denied.Err()), track.Access{}
	switch {
	case err != nil:
		l.noTime, l.shut.time = connect.Remedy(err), a.received.Add(refusedFor)
	case !t.IsZero():
		l.noTime = ""
		dialed := l.guard.Dialed().After(a.sent) // then the duration includes connecting
		l.clockOf(addr).observe(a.sent, a.received, t, t, !dialed)
		if addr == l.leader() {
			l.clock = *l.clockOf(addr)
		}
	}
	l.shared.noTime.Store(l.noTime != "" || l.cluster)
	fields := connect.ParseInfo(a.info.Val())
	l.server = model.Server{Role: fields["role"], Version: connect.VersionOf(fields), RunID: fields["run_id"]}
	if l.server.Role == "slave" {
		l.server.Role = "replica"
	}
	if l.single = fields["cluster_enabled"] == "1" && !l.cluster; l.single {
		l.server.Role = "cluster node"
	}
	l.shared.version.Store(l.server.Version)
	if policy := fields["maxmemory_policy"]; policy != "" {
		l.shared.policy.Store(policy)
	}
	return nil
}

// tick asks for the server's clock alone, which shows that the server still answers.
func (l *link) tick(ctx context.Context) error {
	if l.cluster {
		return l.hello(ctx)
	}
	if l.noTime != "" {
		if err := l.client.Do(ctx, "hello").Err(); connect.Away(err) { // which every user may ask
			return err
		}
		return nil
	}
	sent := time.Now()
	t, err := l.client.Time(ctx).Result()
	switch {
	case connect.Away(err):
		return err
	case err == nil:
		l.clock.observe(sent, time.Now(), t, t, !l.guard.Dialed().After(sent))
	}
	return nil
}

// now returns the present time by the server's clock.
func (l *link) now() limiter.Instant { return l.clock.at(time.Now()) }

// clockOf returns the clock of a node; "" is the one server.
func (l *link) clockOf(addr string) *clock {
	if addr == "" {
		return &l.clock
	}
	c := l.clocks[addr]
	if c == nil {
		c = &clock{offset: l.clock.offset}
		l.clocks[addr] = c
	}
	return c
}

// leader returns the address of the node whose clock stands for that of the cluster: the first
// by address that answers; "" when there is none.
func (l *link) leader() string {
	first := ""
	for addr := range l.clocks {
		if l.outages[addr] == nil && (first == "" || addr < first) {
			first = addr
		}
	}
	return first
}

// outage is a node of a cluster that does not answer. Its keys are stale, and the keys of the
// other nodes are read without waiting for it. A goroutine pings the node until it answers.
type outage struct {
	err      error
	trackers int         // limiters whose keys the node holds
	over     atomic.Bool // the node answers again
	stop     context.CancelFunc
}

// noteOutage leaves a node out of all rounds until it answers.
func (l *link) noteOutage(ctx context.Context, addr string, node *redis.Client, trackers int, err error) {
	if o := l.outages[addr]; o != nil {
		if !o.over.Load() {
			o.err = err
			return
		}
		o.stop()
	}
	o := &outage{err: err, trackers: trackers}
	ctx, o.stop = context.WithCancel(ctx)
	l.outages[addr] = o
	l.nodes.Avoid(addr)
	if c, ok := l.client.(*redis.ClusterClient); ok {
		c.ReloadState(context.WithoutCancel(ctx)) // a replica may have taken its place
	}
	limit := l.answerLimit()
	l.beside.Go(func() {
		defer o.stop()
		var wait goroutine.Backoff
		for goroutine.Sleep(ctx, wait.Next()) == nil {
			limited, cancel := context.WithTimeout(ctx, limit)
			err := node.Ping(limited).Err()
			cancel()
			if !connect.Away(err) {
				o.over.Store(true)
				return
			}
		}
	})
}

// keysAt counts the limiters whose keys a node of a cluster holds.
func (l *link) keysAt(ctx context.Context, addr string, trackers map[string]*tracked) (n int) {
	for _, t := range trackers {
		if node, err := l.nodes.For(ctx, layout.DeniedKey(t.tracker.Name)); err == nil && node.Options().Addr == addr {
			n++
		}
	}
	return n
}

// reviewOutages forgets the outages of nodes that no longer hold keys, because other nodes have taken their place.
func (l *link) reviewOutages(ctx context.Context, trackers map[string]*tracked) {
	for addr, o := range l.outages {
		if n := l.keysAt(ctx, addr, trackers); n > 0 {
			o.trackers = n
		} else if o.trackers > 0 || o.over.Load() {
			o.stop()
			delete(l.outages, addr)
		}
	}
}

// anyNodeAnswers reports whether at least one node of the cluster is not known to be away.
func (l *link) anyNodeAnswers() bool {
	for addr := range l.clocks {
		if o := l.outages[addr]; o == nil || o.over.Load() {
			return true
		}
	}
	return false
}

// away returns the nodes that do not answer, sorted by address.
func (l *link) away() (nodes []model.Node) {
	for _, addr := range slices.Sorted(maps.Keys(l.outages)) {
		if o := l.outages[addr]; !o.over.Load() {
			keys := collect.If(o.trackers > 0, format.Are(o.trackers, "key")+" stale", "what keys it holds is not known")
			nodes = append(nodes, model.Node{Addr: addr, Keys: o.trackers, Err: connect.Explain(o.err, addr) + "; " + keys})
		}
	}
	return nodes
}
