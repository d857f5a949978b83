package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/model"
	"ratescope/model/collect"
)

// Nodes are the servers behind a client that are read: the one server, or the masters of a cluster, or, where the URL asks for
// replicas, one replica of each master. It is the same one for as long as it answers, because two replicas are not behind by the same.
// Nodes is safe for concurrent use.
type Nodes struct {
	Replicas bool // replicas of a cluster are read

	client redis.UniversalClient
	seeds  []string // addresses of the URLs

	mu      sync.Mutex
	known   []string             // addresses of nodes of the cluster, and seeds
	avoid   map[string]time.Time // replicas that did not answer, until when
	lacking []string             // masters that have no replica
}

// avoidFor is how long a replica that did not answer is not chosen: about as long as a cluster takes to find out.
const avoidFor = 30 * time.Second

// All returns the nodes that are read, by address. The error is for a cluster of which no node tells who they are.
func (n *Nodes) All(ctx context.Context) ([]*redis.Client, error) {
	if c, ok := n.client.(*redis.ClusterClient); ok {
		return Masters(ctx, c)
	}
	return []*redis.Client{n.client.(*redis.Client)}, nil
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
func (n *Nodes) slots(
	ctx context.Context, ask func(ctx context.Context, addr string) ([]redis.ClusterSlot, error),
) (all []redis.ClusterSlot, err error) {
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
	if !n.Replicas {
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

// AllSlots is how many hash slots a Redis Cluster has.
const AllSlots = 16384

// Slots is a range of hash slots: a part of all names, the same for everyone who asks, on a
// server that is no cluster, too. The zero value is all of them.
type Slots struct {
	First, Past int // Past is not in the range
}

// ParseSlots reads a range of slots, as in 0-8191. The error is one sentence.
func ParseSlots(text string) (Slots, error) {
	first, last, ok := strings.Cut(text, "-")
	from, err := strconv.ParseUint(first, 10, 16)
	to, err2 := strconv.ParseUint(last, 10, 16)
	if !ok || err != nil || err2 != nil || from > to || to >= AllSlots {
		return Slots{}, fmt.Errorf("%q is no range of hash slots: give two of 0 to %d, as in 0-8191", text, AllSlots-1)
	}
	return Slots{int(from), int(to) + 1}, nil
}

// ParseShard reads one of several equal parts of the slots, as in 1/4 for the first of four. The parts of
// one number cover every slot once. The error is one sentence.
func ParseShard(text string) (Slots, error) {
	part, parts, ok := strings.Cut(text, "/")
	n, err := strconv.ParseUint(part, 10, 16)
	of, err2 := strconv.ParseUint(parts, 10, 16)
	if !ok || err != nil || err2 != nil || n < 1 || n > of || of > AllSlots {
		return Slots{}, fmt.Errorf("%q is no part of several: give one as in 1/4, the first of four", text)
	}
	return Slots{int((n - 1) * AllSlots / of), int(n * AllSlots / of)}, nil
}

// All reports whether s is every slot.
func (s Slots) All() bool { return s == Slots{} || s == Slots{0, AllSlots} }

// Has reports whether the slot of a name is in s.
func (s Slots) Has(name string) bool {
	if s.All() {
		return true
	}
	slot := model.HashSlot(name)
	return slot >= s.First && slot < s.Past
}

// String writes s as ParseSlots reads it.
func (s Slots) String() string {
	if s.All() {
		return fmt.Sprintf("0-%d", AllSlots-1)
	}
	return fmt.Sprintf("%d-%d", s.First, s.Past-1)
}

// parseSentinel reads redis+sentinel://[user:password@]host:port[,host:port]/name[/db], with ?replica=true for a replica of the master.
func parseSentinel(raw string, u *url.URL, secured *tls.Config) (*Endpoint, error) {
	name, db, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Host == "" || name == "" {
		return nil, badURL(raw, "names no host or no master, as in redis+sentinel://host:26379/mymaster")
	}
	e := &Endpoint{way: toMaster, Shown: redact(raw), options: redis.UniversalOptions{MasterName: name, TLSConfig: secured}}
	o := &e.options
	for _, host := range strings.Split(u.Host, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, "26379")
		}
		o.Addrs = append(o.Addrs, host)
	}
	if db != "" {
		if _, err := fmt.Sscanf(db, "%d", &o.DB); err != nil {
			return nil, badURL(raw, fmt.Sprintf("has a database %q that is not a number", db))
		}
	}
	if u.User != nil {
		o.Username = u.User.Username()
		o.Password, _ = u.User.Password()
	}
	if take(u, "replica") {
		e.way = toReplica
	}
	q := u.Query()
	o.SentinelUsername, o.SentinelPassword = q.Get("sentinel_username"), q.Get("sentinel_password")
	return e, nil
}

// dialReplica dials the replica that the sentinels name, the first that is well: always the
// same while it is, because two replicas are not behind by the same.
func (e *Endpoint) dialReplica(ctx context.Context, network, _ string) (net.Conn, error) {
	var last error
	for _, addr := range e.options.Addrs {
		o := &e.options
		s := redis.NewSentinelClient(&redis.Options{
			Addr: addr, Username: o.SentinelUsername, Password: o.SentinelPassword, Protocol: 2, Dialer: e.dial, DialTimeout: Timeout,
			ReadTimeout: Timeout, WriteTimeout: Timeout, MaxRetries: -1, DisableIdentity: true, ContextTimeoutEnabled: true,
		})
		list, err := s.Replicas(ctx, o.MasterName).Result()
		s.Close()
		if err != nil {
			last = err
			continue
		}
		well := collect.Map(slices.DeleteFunc(list, func(r map[string]string) bool {
			return strings.Contains(r["flags"], "down") || strings.Contains(r["flags"], "disconnected")
		}), func(r map[string]string) string { return net.JoinHostPort(r["ip"], r["port"]) })
		if len(well) == 0 {
			return nil, fmt.Errorf("no replica of %q is well: leave ?replica=true out to watch its master", o.MasterName)
		}
		return e.dial(ctx, network, slices.Min(well))
	}
	return nil, fmt.Errorf("redis: all sentinels specified in configuration are unreachable: %w", last)
}
