package watch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/track"
	"ratescope/internal/panics"
	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// link is the connection that reads, and what is known of the servers behind it: who they are,
// what time they have, and which of them do not answer.
type link struct {
	client  redis.UniversalClient
	cluster bool
	nodes   *connect.Nodes // of client
	guard   *connect.Guard
	facts   *facts
	beside  *panics.Group // of Watch.Run

	server  identity
	joins   bool         // a node of a cluster is to be exchanged for the whole cluster
	known   bool         // the server was asked who it is, since it last was away
	greeted time.Time    // when it last answered who it is
	noTime  string       // what would allow to ask for the server's clock, where that is forbidden
	denials track.Access // to the streams of recorded denials
	clock   clock
	clocks  map[string]*clock  // of the nodes of a cluster, by address
	outages map[string]*outage // of nodes of a cluster, by address
}

func newLink(client redis.UniversalClient, nodes *connect.Nodes, g *connect.Guard, f *facts) *link {
	l := &link{client: client, nodes: nodes, guard: g, facts: f, clocks: make(map[string]*clock), outages: make(map[string]*outage)}
	_, l.cluster = client.(*redis.ClusterClient)
	f.noTime.Store(l.cluster)
	return l
}

// How long one answer may take: so long beside some round trips of the usual length. A
// server that is far away is not one that does not answer. A node of a cluster is waited
// for less, since the others wait with it.
const (
	answerLimit     = connect.Timeout
	nodeAnswerLimit = time.Second
	tripsLimit      = 4
)

func (l *link) answerLimit() time.Duration {
	limit := answerLimit
	if l.cluster {
		limit = nodeAnswerLimit
	}
	return limit + tripsLimit*l.clock.rtt()
}

// hello asks a server that has just answered who it is and what time it has, in one round
// trip. Of a cluster all nodes are asked at once, and one that answers is enough.
func (l *link) hello(ctx context.Context) error {
	if !l.cluster {
		if err := l.takeHello(askHello(ctx, l.client), ""); err != nil {
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
	atOnce(len(nodes), func(i int) { answers[i] = askHello(limited, nodes[i]) })
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
	for addr := range l.clocks { // of nodes that have left the cluster
		if !slices.ContainsFunc(nodes, func(n *redis.Client) bool { return n.Options().Addr == addr }) {
			delete(l.clocks, addr)
		}
	}
	l.server.role, l.server.runID = "cluster", "" // each node has one of its own
	if l.nodes.Replicas() {
		l.server.role = "cluster replicas"
	}
	l.known = true
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
func (l *link) takeHello(a *helloAnswer, addr string) error {
	t, err := a.time.Result()
	if err != nil && connect.Code(err) != "NOPERM" {
		return err
	}
	if connect.Away(a.info.Err()) {
		return a.info.Err()
	}
	l.greeted = a.received
	l.noTime, l.denials = "", track.AccessOf(a.denied.Err())
	if err == nil {
		dialed := l.guard.Dialed().After(a.sent) // this was no measure of the way
		l.clockOf(addr).observe(a.sent, a.received, limiter.InstantOf(t), !dialed)
		if addr == l.leader() {
			l.clock = *l.clockOf(addr)
		}
	} else {
		l.noTime = connect.Remedy(err)
	}
	l.facts.noTime.Store(err != nil || l.cluster)
	fields := connect.ParseInfo(a.info.Val())
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

// tick asks for the time alone.
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
		l.clock.observe(sent, time.Now(), limiter.InstantOf(t), !l.guard.Dialed().After(sent))
	}
	return nil
}

// now returns the server's clock.
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

// leader returns the node whose clock stands for the cluster's.
func (l *link) leader() string {
	first := ""
	for addr := range l.clocks {
		if l.outages[addr] == nil && (first == "" || addr < first) {
			first = addr
		}
	}
	return first
}

// nodeOf returns the node that holds a key, and a name for the connection that may wait
// for it; nil when it is not known which node that is.
func (l *link) nodeOf(ctx context.Context, key string) (string, redis.UniversalClient) {
	node, err := l.nodes.For(ctx, key)
	switch {
	case err != nil:
		return "", nil
	case node == nil:
		return "", l.client
	}
	return node.Options().Addr + "/" + hashTag(key), node
}

// hashTag returns the part of a key that decides about its slot, by the rule of Redis
// Cluster: what stands between the first { and the next }, unless that is nothing.
func hashTag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// addressOf tells the nodes of a cluster apart.
func (l *link) addressOf(node redis.UniversalClient) (addr string, clustered bool) {
	if !l.cluster {
		return "", false
	}
	n, ok := node.(*redis.Client)
	if !ok {
		return "", true
	}
	return n.Options().Addr, true
}
