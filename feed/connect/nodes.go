package connect

import (
	"context"
	"fmt"
	"maps"
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

	seeds []string // addresses of the URLs

	mu      sync.Mutex
	known   []string             // addresses of nodes of the cluster, and seeds
	avoid   map[string]time.Time // replicas that did not answer, until when
	lacking []string             // masters that have no replica
}

// avoidFor is how long a replica that did not answer is not chosen: about as long as a cluster takes to find out.
const avoidFor = 30 * time.Second

// Replicas says that replicas of a cluster are read.
func (n *Nodes) Replicas() bool { return n.replicas }

// All returns the nodes that are read, by address. The error is for a cluster of which no
// node tells who they are.
func (n *Nodes) All(ctx context.Context) ([]*redis.Client, error) {
	switch c := n.client.(type) {
	case *redis.Client:
		return []*redis.Client{c}, nil
	case *redis.ClusterClient:
		return Masters(ctx, c)
	}
	return nil, fmt.Errorf("a client of type %T has no nodes", n.client)
}

// For returns the node of a cluster from which a key is read; nil when there is no cluster.
func (n *Nodes) For(ctx context.Context, key string) (*redis.Client, error) {
	if c, ok := n.client.(*redis.ClusterClient); ok {
		return c.MasterForKey(ctx, key)
	}
	return nil, nil
}

// slots asks the cluster, by way of ask, which nodes hold which slots, and returns the replica that is read as if it
// were the only node of its slots: of each master the first, by address, that is well.
func (n *Nodes) slots(ctx context.Context, ask func(ctx context.Context, addr string) ([]redis.ClusterSlot, error)) (all []redis.ClusterSlot, err error) {
	n.mu.Lock()
	known := slices.Clone(n.known)
	n.mu.Unlock()
	for _, addr := range known {
		if all, err = ask(ctx, addr); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.avoid, func(_ string, until time.Time) bool { return time.Now().After(until) })
	nodes, lacking := map[string]bool{}, map[string]bool{}
	for i := range all {
		of := all[i].Nodes
		for _, node := range of {
			nodes[node.Addr] = true
		}
		if len(of) == 0 {
			continue
		}
		slices.SortFunc(of[1:], func(a, b redis.ClusterNode) int { return strings.Compare(a.Addr, b.Addr) })
		read := 1 + slices.IndexFunc(of[1:], func(r redis.ClusterNode) bool { return n.avoid[r.Addr].IsZero() })
		if read == 0 {
			lacking[of[0].Addr] = true
		}
		all[i].Nodes = of[read : read+1]
	}
	n.known = append(slices.Sorted(maps.Keys(nodes)), n.seeds...)
	n.lacking = slices.Sorted(maps.Keys(lacking))
	return all, nil
}

// Avoid has another replica chosen in the place of a node that does not answer, or holds
// other slots than it did, when the client next loads the slots.
func (n *Nodes) Avoid(addr string) {
	if !n.replicas {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.avoid[addr] = time.Now().Add(avoidFor)
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
