package connect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Nodes are the servers behind a client that are read: the one server, or the masters of a
// cluster, or, where the URL asks for replicas, one replica of each master. It is the same
// one for as long as it answers, because two replicas are not behind by the same. Nodes is
// safe for concurrent use.
type Nodes struct {
	client   redis.UniversalClient
	replicas bool

	mu      sync.Mutex
	learned time.Time
	chosen  map[string]*redis.Client // by the address of the master
	avoid   map[string]bool          // replicas that did not answer
	lacking []string                 // masters that have no replica
}

// learnEvery is how long it is believed which replicas a cluster has, and lookAgain how long
// that one has none.
const learnEvery, lookAgain = 10 * time.Second, time.Second

// NodesOf returns the nodes behind a client that the endpoint has opened, once for each. Where
// replicas are read, the client keeps to them from then on.
func (e *Endpoint) NodesOf(c redis.UniversalClient) *Nodes {
	n := &Nodes{client: c, replicas: e.reachedBy() == toCluster && e.options.ReadOnly, avoid: make(map[string]bool)}
	if n.replicas {
		c.AddHook(pin{n})
	}
	return n
}

// Replicas says that replicas of a cluster are read.
func (n *Nodes) Replicas() bool { return n.replicas }

// All returns the nodes that are read, by address. The error is for a cluster of which no
// node tells who they are.
func (n *Nodes) All(ctx context.Context) ([]*redis.Client, error) {
	switch c := n.client.(type) {
	case *redis.Client:
		return []*redis.Client{c}, nil
	case *redis.ClusterClient:
		masters, err := Masters(ctx, c)
		for i, m := range masters {
			masters[i] = n.instead(ctx, c, m)
		}
		return masters, err
	}
	return nil, fmt.Errorf("a client of type %T has no nodes", n.client)
}

// For returns the node of a cluster from which a key is read; nil when there is no cluster.
func (n *Nodes) For(ctx context.Context, key string) (*redis.Client, error) {
	c, ok := n.client.(*redis.ClusterClient)
	if !ok {
		return nil, nil
	}
	m, err := c.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return n.instead(ctx, c, m), nil
}

// instead returns the replica that is read instead of a master.
func (n *Nodes) instead(ctx context.Context, c *redis.ClusterClient, master *redis.Client) *redis.Client {
	if !n.replicas {
		return master
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	believed := learnEvery
	if len(n.lacking) > 0 {
		believed = lookAgain
	}
	if time.Since(n.learned) > believed {
		n.learned = time.Now()
		n.learn(ctx, c)
	}
	if r := n.chosen[master.Options().Addr]; r != nil {
		return r
	}
	return master
}

// learn finds out which replicas there are, and chooses: of each master the first, by
// address, that is well. n.mu is held.
func (n *Nodes) learn(ctx context.Context, c *redis.ClusterClient) {
	text, err := c.ClusterNodes(ctx).Result()
	if err != nil {
		return // what was chosen stays
	}
	var mu sync.Mutex
	byAddr := make(map[string]*redis.Client)
	_ = c.ForEachSlave(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		byAddr[node.Options().Addr] = node
		return nil
	})
	n.chosen, n.lacking = make(map[string]*redis.Client), nil
	for master, replicas := range replicasIn(text) {
		slices.Sort(replicas)
		if i := slices.IndexFunc(replicas, func(a string) bool { return byAddr[a] != nil && !n.avoid[a] }); i >= 0 {
			n.chosen[master] = byAddr[replicas[i]]
		} else {
			n.lacking = append(n.lacking, master)
		}
	}
	slices.Sort(n.lacking)
	clear(n.avoid) // it may be well again
}

// replicasIn reads CLUSTER NODES: the addresses of the replicas that are well, by that of
// their master. A line is
//
//	<id> <ip>:<port>@<bus port>[,<host name>] <flags> <id of the master, or -> …
func replicasIn(nodes string) map[string][]string {
	type node struct{ addr, flags, master string }
	byID := make(map[string]node)
	for line := range strings.Lines(nodes) {
		if f := strings.Fields(line); len(f) >= 4 {
			addr, _, _ := strings.Cut(f[1], "@")
			byID[f[0]] = node{addr, f[2], f[3]}
		}
	}
	well := make(map[string][]string)
	for _, n := range byID {
		switch {
		case strings.Contains(n.flags, "fail") || strings.Contains(n.flags, "noaddr"):
		case strings.Contains(n.flags, "master"):
			if well[n.addr] == nil {
				well[n.addr] = []string{} // a master that has none is there all the same
			}
		case byID[n.master].addr != "":
			m := byID[n.master].addr
			well[m] = append(well[m], n.addr)
		}
	}
	return well
}

// Avoid has another replica chosen in the place of a node that does not answer, or holds
// other slots than it did.
func (n *Nodes) Avoid(addr string) {
	if !n.replicas {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.avoid[addr] = true
	n.learned = time.Time{}
}

// Lack says which masters have no replica to be read; "" when all have.
func (n *Nodes) Lack() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lacking) == 0 {
		return ""
	}
	return fmt.Sprintf("no replica of %s answers, so that the master is read", strings.Join(n.lacking, ", "))
}

// Masters returns the nodes of a cluster that are written to, by address.
func Masters(ctx context.Context, c *redis.ClusterClient) ([]*redis.Client, error) {
	var mu sync.Mutex
	var all []*redis.Client
	err := c.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, node)
		return nil
	})
	slices.SortFunc(all, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	return all, err
}
