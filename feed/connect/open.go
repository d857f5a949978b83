package connect

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Timeout bounds every dial, read and write: a server that does not answer within
// it is reported as away.
const Timeout = 2 * time.Second

// Waiting returns the endpoint with clients that wait longer than Timeout for a dial, a read and a
// write. A shorter wait changes nothing: a context bounds it.
func (e *Endpoint) Waiting(d time.Duration) *Endpoint {
	waiting := *e
	waiting.timeout = max(d, Timeout)
	return &waiting
}

// Open makes a client. It never retries by itself: the observer waits with a backoff
// of its own, and a request whose answer is lost must not be sent twice. Every wait of
// it is bounded by Timeout, or by what Waiting has set. With a guard, every command goes through it on its way to a
// node; without one the client may write.
func (e *Endpoint) Open(name string, pool int, g *Guard) redis.UniversalClient {
	c, _ := e.OpenNodes(name, pool, g)
	return c
}

// OpenNodes makes a client as Open does, and returns the nodes behind it.
func (e *Endpoint) OpenNodes(name string, pool int, g *Guard) (redis.UniversalClient, *Nodes) {
	o := e.options
	nodes := &Nodes{seeds: o.Addrs, known: o.Addrs, avoid: make(map[string]time.Time)}
	o.OnConnect, o.PoolSize, o.PipelinePoolSize = introduce(name, g != nil), pool, -1
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
	if o.Protocol == 0 {
		o.Protocol = 2
	}
	route := e.reachedBy()
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
		if nodes.replicas = o.ReadOnly; nodes.replicas {
			e.readReplicas(o, nodes, name, g)
		}
		counting := g
		o.NewClient = func(node *redis.Options) *redis.Client {
			n := redis.NewClient(node)
			if counting != nil {
				n.AddHook(counting)
			}
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

// OpenTracking makes a client on whose connections a server tells of every write to a key with one
// of the prefixes, or to any key: CLIENT TRACKING with BCAST, which takes RESP3. Where it refuses,
// there is no connection.
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
