package watch

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/track"
	"ratescope/internal/panics"
	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// link is the connection that the reader uses, with the state of the servers behind it: their
// identity, their clocks, and which of them do not answer.
type link struct {
	client  redis.UniversalClient
	cluster bool
	nodes   *connect.Nodes // of client
	guard   *connect.Guard
	facts   *facts
	beside  *panics.Group // the goroutines of the session

	server  identity
	joins   bool                           // if the server is one node of a cluster, watch the whole cluster instead
	known   bool                           // the server has given its identity since it was last away
	greeted time.Time                      // when the server last gave its identity
	noTime  string                         // the ACL command that would permit TIME; "" where TIME is permitted
	shut    struct{ info, time time.Time } // until when a command that was refused is not sent again
	denials track.Access                   // to the streams of recorded denials
	clock   clock
	clocks  map[string]*clock  // clocks of the nodes of a cluster, by address
	outages map[string]*outage // nodes of a cluster that do not answer, by address
}

func newLink(client redis.UniversalClient, nodes *connect.Nodes, g *connect.Guard, f *facts) *link {
	l := &link{client: client, nodes: nodes, guard: g, facts: f, clocks: make(map[string]*clock), outages: make(map[string]*outage)}
	_, l.cluster = client.(*redis.ClusterClient)
	f.noTime.Store(l.cluster)
	return l
}

// Bounds of the time that one answer may take: answerLimit, or nodeAnswerLimit for a node of a
// cluster because the other nodes wait for it, plus tripsLimit usual round trips, so that a
// distant server does not count as away. Where the usual round trip is not known, or has just become longer, mostAnswer bounds
// the wait.
const (
	answerLimit     = connect.Timeout
	mostAnswer      = 2 * connect.Timeout
	nodeAnswerLimit = time.Second
	tripsLimit      = 4
)

// answerLimit returns how long an answer may take before the server counts as away.
func (l *link) answerLimit() time.Duration {
	limit := answerLimit
	if l.cluster {
		limit = nodeAnswerLimit
	}
	return limit + tripsLimit*l.clock.rtt()
}

// hello asks the server for its identity and its clock in one round trip. In a cluster it asks
// all nodes at the same time, and succeeds when at least one answers.
func (l *link) hello(ctx context.Context) error {
	if !l.cluster {
		if err := l.takeHello(l.askHello(ctx, l.client), ""); err != nil {
			return err
		}
		if l.server.clusterNode && l.joins {
			return errClusterNode
		}
		l.known = true
		return nil
	}
	nodes, err := l.nodes.All(ctx)
	if len(nodes) == 0 {
		return err
	}
	errs := make([]error, len(nodes))
	answers := make([]*helloAnswer, len(nodes))
	limited, cancel := context.WithTimeout(ctx, l.answerLimit())
	defer cancel()
	atOnce(len(nodes), func(i int) { answers[i] = l.askHello(limited, nodes[i]) })
	answered := false
	for i, n := range nodes {
		addr := n.Options().Addr
		if errs[i] = l.takeHello(answers[i], addr); errs[i] != nil {
			l.noteOutage(ctx, addr, n, 0, errs[i])
			err = errs[i]
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
	for addr := range l.clocks { // delete those of nodes that have left the cluster
		if !slices.ContainsFunc(nodes, func(n *redis.Client) bool { return n.Options().Addr == addr }) {
			delete(l.clocks, addr)
		}
	}
	l.server.role, l.server.runID = "cluster", "" // each node has a run ID of its own
	if l.nodes.Replicas() {
		l.server.role = "cluster replicas"
	}
	l.known = true
	return nil
}

// helloAnswer holds the replies of one server to askHello.
type helloAnswer struct {
	sent, received time.Time
	time           *redis.TimeCmd          // nil for a command that was refused and is not asked again yet
	info           *redis.StringCmd        // likewise
	denied         *redis.XMessageSliceCmd // its error shows whether recorded denials may be read
}

// askHello asks one server for its identity, its clock and access to recorded denials. It only reads l, so that
// several nodes can be asked at once.
func (l *link) askHello(ctx context.Context, c redis.UniversalClient) *helloAnswer {
	a := &helloAnswer{sent: time.Now()}
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
	if a.info == nil {
		return a
	}
	if err := a.info.Err(); err != nil && !connect.Away(err) && connect.Code(err) != "NOPERM" {
		a.info = c.Info(ctx) // before Redis 7 INFO takes one section
	}
	return a
}

// takeHello takes over a node's clock, identity and missing permissions from its answer; addr
// is "" for a single server. It fails when the node is away.
func (l *link) takeHello(a *helloAnswer, addr string) error {
	var info string
	var t time.Time
	var err error
	if a.time != nil {
		if t, err = a.time.Result(); err != nil && connect.Code(err) != "NOPERM" {
			return err
		}
	}
	if a.info != nil {
		if connect.Away(a.info.Err()) {
			return a.info.Err()
		}
		if info = a.info.Val(); connect.Code(a.info.Err()) == "NOPERM" {
			l.shut.info = a.received.Add(refusedFor)
		}
	}
	if connect.Away(a.denied.Err()) {
		return a.denied.Err()
	}
	l.greeted, l.denials = a.received, track.AccessOf(a.denied.Err())
	switch {
	case a.time == nil:
	case err == nil:
		l.noTime = ""
		dialed := l.guard.Dialed().After(a.sent) // then the duration includes connecting
		l.clockOf(addr).observe(a.sent, a.received, t, t, !dialed)
		if addr == l.leader() {
			l.clock = *l.clockOf(addr)
		}
	default:
		l.noTime, l.shut.time = connect.Remedy(err), a.received.Add(refusedFor)
	}
	l.facts.noTime.Store(l.noTime != "" || l.cluster)
	fields := connect.ParseInfo(info)
	l.server = identity{role: fields["role"], version: connect.VersionOf(fields), runID: fields["run_id"]}
	if l.server.role == "slave" {
		l.server.role = "replica"
	}
	if l.server.clusterNode = fields["cluster_enabled"] == "1"; l.server.clusterNode && !l.cluster {
		l.server.role = "cluster node"
	}
	l.facts.setVersion(l.server.version)
	if policy := fields["maxmemory_policy"]; policy != "" {
		l.facts.setPolicy(policy)
	}
	return nil
}

// tick asks for the server's clock alone, which shows that the server still answers.
func (l *link) tick(ctx context.Context) error {
	if l.cluster {
		return l.hello(ctx)
	}
	if l.noTime != "" {
		if err := l.client.Ping(ctx).Err(); connect.Away(err) {
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
