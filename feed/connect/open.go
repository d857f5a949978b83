package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"ratescope/model/collect"
)

// Timeout bounds every dial, read and write: a server that does not answer within it is reported as away.
const Timeout = 2 * time.Second

// Waiting returns the endpoint with clients that wait longer than Timeout for a dial, a read and a
// write. A shorter wait changes nothing: a context bounds it.
func (e *Endpoint) Waiting(d time.Duration) *Endpoint {
	waiting := *e
	waiting.timeout = max(d, Timeout)
	return &waiting
}

// Open makes a client. It never retries by itself: the observer waits with a backoff of its own, and a request whose answer is lost
// must not be sent twice. Every wait of it is bounded by Timeout, or by what Waiting has set. With a guard, every command goes through
// it on its way to a node; without one the client may write.
func (e *Endpoint) Open(name string, pool int, g *Guard) redis.UniversalClient {
	c, _ := e.OpenNodes(name, pool, g)
	return c
}

// OpenNodes makes a client as Open does, and returns the nodes behind it.
func (e *Endpoint) OpenNodes(name string, pool int, g *Guard) (redis.UniversalClient, *Nodes) {
	o := e.options
	nodes := &Nodes{seeds: o.Addrs, known: o.Addrs, avoid: make(map[string]time.Time)}
	o.OnConnect, o.PoolSize, o.PipelinePoolSize = introduce(name, g != nil, time.Now), pool, -1
	if e.onConnect != nil {
		identify := o.OnConnect
		o.OnConnect = func(ctx context.Context, cn *redis.Conn) error {
			return errors.Join(identify(ctx, cn), e.onConnect(ctx, cn))
		}
	}
	o.MaxRetries, o.DialerRetries = -1, 1
	bound := cmp.Or(e.timeout, Timeout)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = bound, bound, bound, bound
	o.ContextTimeoutEnabled, o.DisableIdentity, o.Dialer = true, true, e.dial
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Protocol = cmp.Or(o.Protocol, 2)
	route := collect.If(e.joined != nil && e.joined.Load(), toCluster, e.way)
	if g == nil { // what is written is written to masters
		o.ReadOnly = false
		if route == toReplica {
			route = toMaster
		}
	}
	var c redis.UniversalClient
	switch route {
	case toCluster:
		o := o.Cluster()
		if nodes.Replicas = o.ReadOnly; nodes.Replicas {
			e.readReplicas(o, nodes, name, g)
		}
		counting := g
		o.NewClient = func(node *redis.Options) *redis.Client {
			n := redis.NewClient(node)
			if counting != nil {
				n.AddHook(counting)
			}
			n.AddHook(frozenHook{cmp.Or(e.frozen, &frozen{}), node.Addr})
			e.trace(n, node.Addr)
			return n
		}
		c = redis.NewClusterClient(o)
		if g != nil {
			g = &Guard{} // the cluster's own only refuses: what goes out is counted at its node
		}
	case toMaster:
		c = redis.NewFailoverClient(o.Failover())
	case toReplica:
		o := o.Simple()
		o.Network, o.Addr, o.Dialer = "tcp", "a replica of "+e.options.MasterName, e.dialReplica
		c = redis.NewClient(o)
	default:
		o := o.Simple()
		o.Network = e.network
		c = redis.NewClient(o)
	}
	if g != nil {
		c.AddHook(g)
	}
	if route != toCluster { // whose nodes are traced each
		e.trace(c, e.Shown)
	}
	nodes.client = c
	return c, nodes
}

// readReplicas has a client read the replicas of a cluster that nodes chooses, which it takes for the only nodes of their
// slots. By itself it would pick one by chance for every command, and figures from replicas that are behind by
// different times would jump to and fro.
func (e *Endpoint) readReplicas(o *redis.ClusterOptions, nodes *Nodes, name string, g *Guard) {
	ask := func(ctx context.Context, addr string) ([]redis.ClusterSlot, error) {
		node := *e
		node.way, node.options.Addrs, node.options.ReadOnly = toOne, []string{addr}, false
		c := node.Open(name, 1, g)
		defer c.Close()
		return c.ClusterSlots(ctx).Result()
	}
	o.ClusterSlots = func(ctx context.Context) ([]redis.ClusterSlot, error) { return nodes.slots(ctx, ask) }
	connected := o.OnConnect
	o.OnConnect = func(ctx context.Context, cn *redis.Conn) error {
		return errors.Join(connected(ctx, cn), cn.Process(ctx, redis.NewStatusCmd(ctx, "readonly")))
	}
}

// OpenPush makes a client whose connections speak RESP3, over which a server can push
// messages that answer no command. Where it speaks RESP2 alone, they fall back to that.
func (e *Endpoint) OpenPush(name string, pool int, g *Guard) (redis.UniversalClient, *Nodes) {
	pushed := *e
	pushed.options.Protocol = 3
	return pushed.OpenNodes(name, pool, g)
}

// OpenTracking makes a client on whose connections a server tells of every write to a key with one of the prefixes, or to any key:
// CLIENT TRACKING with BCAST, which takes RESP3. Where it refuses, there is no connection.
func (e *Endpoint) OpenTracking(name string, prefixes []string, g *Guard) redis.UniversalClient {
	tracking := *e
	tracking.options.Protocol = 3
	args := []any{"client", "tracking", "on", "bcast"}
	for _, p := range prefixes {
		args = append(args, "prefix", p)
	}
	tracking.onConnect = func(ctx context.Context, cn *redis.Conn) error {
		return cn.Process(ctx, redis.NewStatusCmd(ctx, args...))
	}
	return tracking.Open(name, 1, g)
}

// ErrOneNode is in the error of Join where the URL says ?cluster=false.
var ErrOneNode = errors.New("the URL asks for this node alone")

// Join makes an endpoint of a single server, which turned out to be a node of a cluster, the way to the whole cluster, if every master
// of it answers: clients that are opened from then on, those that fire too, find each key on the node that holds it. It returns how
// many masters there are. Where a node cannot be reached under the address that the cluster announces, as behind a tunnel, the error
// says so and the endpoint stays as it was.
func (e *Endpoint) Join(ctx context.Context) (masters int, err error) {
	if e.joined == nil {
		return 0, ErrOneNode
	}
	whole := *e
	whole.joined = new(atomic.Bool)
	whole.joined.Store(true)
	c, ok := whole.Open("ratescope-join", 1, &Guard{}).(*redis.ClusterClient)
	if !ok {
		return 0, ErrOneNode
	}
	defer c.Close()
	var n atomic.Int64
	err = c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		n.Add(1)
		if err := node.Ping(ctx).Err(); Away(err) {
			return errors.New(Explain(err, node.Options().Addr))
		}
		return nil
	})
	switch {
	case err != nil:
		return 0, err
	case n.Load() == 0:
		return 0, fmt.Errorf("%s serves no slots yet", e.Shown)
	}
	e.joined.Store(true)
	return int(n.Load()), nil
}

// ParseInfo reads the lines name:value of INFO.
func ParseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			fields[name] = value
		}
	}
	return fields
}

const valkey = "valkey "

// VersionOf returns the version that the fields of INFO tell: "7.0.15", "valkey 8.1.1"; "" is unknown.
func VersionOf(fields map[string]string) string {
	if v := fields["valkey_version"]; v != "" {
		return valkey + v
	}
	return fields["redis_version"]
}

// HasNoTouch says whether connections to a server of that version read without counting as use of the keys: by CLIENT NO-TOUCH, which
// Redis has from 7.2 on. Where a connection has asked for it, Redis 8.0 to 8.2 and Valkey before 9 may crash: while a slot migrates, or
// when another client that blocks is woken (redis/redis#14415, valkey-io/valkey#2347; seen on Redis 8.0.6 and Valkey 8.1.1). Some of
// these are mended in later patches, but no server is watched at that risk.
func HasNoTouch(version string) bool {
	number, isValkey := strings.CutPrefix(version, valkey)
	a, b := 0, 0
	_, _ = fmt.Sscanf(number, "%d.%d", &a, &b)
	switch {
	case isValkey:
		return a >= 9
	case a == 7:
		return b >= 2 && b < 9 // 7.9 is what 8.0 was before its release
	}
	return a > 8 || a == 8 && b >= 4
}

// askAgain is how long INFO is not asked that was refused.
const askAgain = 5 * time.Minute

// introduce says on each new connection who is there. go-redis would give up a connection
// whose user must not say so, and dial again at once.
func introduce(name string, watching bool, clock func() time.Time) func(context.Context, *redis.Conn) error {
	var again atomic.Int64 // when INFO may be asked, which was refused on an earlier connection
	return func(ctx context.Context, cn *redis.Conn) error {
		pipe := cn.Pipeline() // one round trip for both: the server may be far away
		_ = pipe.Process(ctx, redis.NewStatusCmd(ctx, "client", "setname", name))
		var info *redis.StringCmd
		if watching && clock().UnixNano() >= again.Load() {
			info = pipe.Info(ctx, "server")
		}
		_, _ = pipe.Exec(ctx)
		// The server is told not to count this connection's reads as use of the keys, so that watching neither keeps keys from being
		// evicted nor makes them look hot: where that is known to be safe, and where the user may ask.
		if info == nil {
			return nil
		}
		if Code(info.Err()) == "NOPERM" {
			again.Store(clock().Add(askAgain).UnixNano())
		}
		if info.Err() == nil && HasNoTouch(VersionOf(ParseInfo(info.Val()))) {
			_ = cn.Process(ctx, redis.NewStatusCmd(ctx, "client", "no-touch", "on"))
		}
		return nil
	}
}

// SilenceLogs keeps go-redis from writing to standard error, which a screen owns: what goes wrong is reported in the batches. It is for
// the program to call, once, since it holds for every client of the process.
func SilenceLogs() { logging.Disable() }
