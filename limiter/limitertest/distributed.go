package limitertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Cluster starts two masters that share the slots, the lower half at the first of them.
func Cluster(t testing.TB) []*Server {
	t.Helper()
	ctx := context.Background()
	var nodes []*Server
	for range 2 {
		bus := strconv.Itoa(FreePort(t)) // the usual one, 10,000 above, need not exist
		nodes = append(nodes, NewServer(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", bus))
		if len(nodes) == 2 {
			first := direct(t, nodes[0])
			if err := first.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", port(nodes[1]), bus).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, n := range nodes {
		if err := direct(t, n).ClusterAddSlotsRange(ctx, i*8192, i*8192+8191).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		client := direct(t, n)
		within(t, "the cluster is well", func() bool {
			return strings.Contains(client.ClusterInfo(ctx).Val(), "cluster_state:ok") && len(client.ClusterShards(ctx).Val()) == 2
		})
	}
	return nodes
}

// MoveSlot moves one slot from a node to another one with the keys in it, as an operator
// would: while it lasts, neither knows all of them.
func MoveSlot(t testing.TB, slot int, from, to *Server) {
	t.Helper()
	ctx := context.Background()
	source, target := direct(t, from), direct(t, to)
	fromID, toID := source.ClusterMyID(ctx).Val(), target.ClusterMyID(ctx).Val()
	must := func(c *redis.Client, args ...any) {
		t.Helper()
		if err := c.Do(ctx, args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	must(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	must(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	for _, key := range source.ClusterGetKeysInSlot(ctx, slot, 1000).Val() {
		must(source, "MIGRATE", "127.0.0.1", port(to), key, 0, 5000)
	}
	must(target, "CLUSTER", "SETSLOT", slot, "NODE", toID)
	must(source, "CLUSTER", "SETSLOT", slot, "NODE", toID)
}

// Watched starts a master, a replica of it, and a sentinel that watches them under the
// name "ratescope" and lets the replica take over half a second after the master is gone.
func Watched(t testing.TB) (sentinel, master, replica *Server) {
	t.Helper()
	master = NewServer(t)
	replica = NewServer(t, "--replicaof", "127.0.0.1 "+port(master))
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	watch := fmt.Sprintf(`sentinel monitor ratescope 127.0.0.1 %s 1
sentinel down-after-milliseconds ratescope 500
sentinel failover-timeout ratescope 3000
`, port(master))
	if err := os.WriteFile(conf, []byte(watch), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel = launch(t, conf, "--sentinel")
	ctx := context.Background()
	asked := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Address})
	t.Cleanup(func() { _ = asked.Close() })
	within(t, "the sentinel knows the replica", func() bool {
		return len(asked.Replicas(ctx, "ratescope").Val()) == 1 && strings.Contains(direct(t, replica).Info(ctx, "replication").Val(), "master_link_status:up")
	})
	return sentinel, master, replica
}

// direct is a client of one node.
func direct(t testing.TB, s *Server) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.Address})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func port(s *Server) string {
	_, port, _ := net.SplitHostPort(s.Address)
	return port
}
