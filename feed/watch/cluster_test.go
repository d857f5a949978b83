package watch_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// TestCluster watches a cluster while a slot moves and a master dies.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	var addrs []string
	for _, s := range nodes {
		addrs = append(addrs, s.Addr())
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Protocol: 2})
	defer c.Close()
	ctx := context.Background()
	const day = 24 * time.Hour // whose edge does not come while the test runs
	limit := limiter.Limit{Count: 1000, Window: day}
	sliding, err := redisstore.New(c, limiter.SlidingWindow, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := redisstore.New(c, limiter.StreamCounter, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	home := map[string]string{}
	for i := range 12 {
		l := sliding
		if i%2 == 0 {
			l = stream
		}
		key := "k" + strconv.Itoa(i)
		if _, err := l.AllowN(ctx, key, limit, 3); err != nil {
			t.Fatal(err)
		}
		node, err := c.MasterForKey(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		home[key] = node.Options().Addr
	}
	start := nodes[0].Now().Floor(day)
	if err := c.Set(ctx, fmt.Sprintf("rl:x:y:%d", start.Millis()/1000), 7, day).Err(); err != nil {
		t.Fatal(err)
	}
	r := feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{"redis://" + addrs[0] + "?cluster=true"}, Refresh: 50 * time.Millisecond,
		Rules: []config.Rule{{Match: "*", Limit: limit, LimitKnown: true, Window: day}}})
	run := feedtest.Run(t, r)
	servertest.Await(t, "all keys of all masters", func() bool {
		for key := range home {
			if x, ok := run.Reading(key); !ok || feedtest.Used(x) != 3 {
				return false
			}
		}
		x, ok := run.Reading("rl:x:y")
		return ok && x.State.Current+x.State.Previous == 7
	})
	awaitLive(t, run)
	if role := run.Last().Server.Role; role != "cluster" {
		t.Errorf("role %q, want cluster", role)
	}
	moveSlot(t, c, nodes, "k0", home)
	if _, err := stream.AllowN(ctx, "k0", limit, 2); err != nil {
		t.Fatal(err)
	}
	servertest.Await(t, "the key whose slot moved", func() bool { x, _ := run.Reading("k0"); return feedtest.Used(x) == 5 && x.Err == "" })
	if run.Came("k0", false) != 5 {
		t.Errorf("k0: %d units told, want 5", run.Came("k0", false))
	}
	var sent int64
	for _, b := range run.All() {
		sent += b.Cost.Commands
	}
	if sent == 0 {
		t.Error("a cluster was read for seconds, and no command was counted")
	}
	killMaster(t, run, nodes[2], home, stream, limit)
}

// moveSlot gives the slot of a key to the next master.
func moveSlot(t *testing.T, c *redis.ClusterClient, nodes []*servertest.Server, key string, home map[string]string) {
	t.Helper()
	slot := nodes[0].CLI("CLUSTER", "KEYSLOT", key)
	from := slices.IndexFunc(nodes, func(s *servertest.Server) bool { return s.Addr() == home[key] })
	to := nodes[(from+1)%2]
	if from == 1 {
		to = nodes[0]
	}
	ids := func(s *servertest.Server) string { return s.CLI("CLUSTER", "MYID") }
	to.CLI("CLUSTER", "SETSLOT", slot, "IMPORTING", ids(nodes[from]))
	nodes[from].CLI("CLUSTER", "SETSLOT", slot, "MIGRATING", ids(to))
	nodes[from].CLI("MIGRATE", "127.0.0.1", strconv.Itoa(to.Port), key, "0", "5000")
	for _, s := range nodes {
		s.CLI("CLUSTER", "SETSLOT", slot, "NODE", ids(to))
	}
	home[key] = to.Addr()
}

// killMaster kills a node, wants its keys stale and the others read on.
func killMaster(t *testing.T, run *feedtest.Running, dead *servertest.Server, home map[string]string, l *redisstore.Store, limit limiter.Limit) {
	t.Helper()
	addr := dead.Addr()
	alive := ""
	for key, a := range home {
		if a != addr && (alive == "" || key < alive) && strings.Trim(key[1:], "02468") == "" {
			alive = key
		}
	}
	dead.Kill()
	servertest.Await(t, "word of the dead node", func() bool {
		b := run.Last()
		return len(b.Server.Lacks) > 0 && strings.Contains(b.Server.Lacks[0], "stale")
	})
	t.Log(run.Last().Server.Lacks)
	before, _ := run.Reading(alive)
	if _, err := l.AllowN(context.Background(), alive, limit, 1); err != nil {
		t.Fatal(err)
	}
	servertest.Await(t, "the keys of the other masters to be read on", func() bool {
		x, _ := run.Reading(alive)
		return feedtest.Used(x) == feedtest.Used(before)+1
	})
	awaitLive(t, run) // one dead node is no dead cluster
}

// awaitLive waits until the link is live. A machine that stands still for a second ends it for a moment.
func awaitLive(t *testing.T, run *feedtest.Running) {
	t.Helper()
	servertest.Await(t, "a live link", func() bool { return run.Last().Server.Link == model.Live })
}

// TestSentinel fails over from a master to its replica.
func TestSentinel(t *testing.T) {
	t.Parallel()
	master := servertest.Start(t)
	replica := servertest.Start(t, "--replicaof", "127.0.0.1", strconv.Itoa(master.Port))
	conf := fmt.Sprintf("sentinel monitor mymaster 127.0.0.1 %d 1\nsentinel down-after-milliseconds mymaster %d\nsentinel failover-timeout mymaster 2000\n", master.Port, servertest.DownAfter.Milliseconds())
	sentinel := servertest.StartSentinel(t, conf)
	master.CLI("XADD", "k", "*", "count", "2")
	servertest.Await(t, "the replica to be known", func() bool {
		return strings.Contains(sentinel.CLI("SENTINEL", "REPLICAS", "mymaster"), strconv.Itoa(replica.Port)) && replica.CLI("EXISTS", "k") == "1"
	})
	r := feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{"redis+sentinel://" + sentinel.Addr() + "/mymaster"}, Refresh: 50 * time.Millisecond,
		Rules: []config.Rule{hourRule("k", limiter.StreamCounter)}})
	run := feedtest.Run(t, r)
	servertest.Await(t, "the first reading", func() bool { x, ok := run.Reading("k"); return ok && feedtest.Used(x) == 2 })
	master.Kill()
	servertest.Await(t, "the replica to be promoted", func() bool { return strings.Contains(replica.Ask("ROLE"), "master") })
	promoted := time.Now()
	servertest.Await(t, "the new master to take a request", func() bool { return strings.Contains(replica.Ask("XADD", "k", "*", "count", "3"), "-") })
	servertest.Await(t, "the readings to go on at the new master", func() bool {
		x, _ := run.Reading("k")
		return feedtest.Used(x) == 5 && run.Last().Server.Link == model.Live
	})
	t.Logf("went on %v after the promotion", time.Since(promoted))
}
