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

// visited says whether a server has been sent a command by something that watches.
func visited(s *servertest.Server) bool {
	return strings.Contains(s.CLI("CLIENT", "LIST"), "name=ratescope")
}

// TestAReplica watches a replica at its own address: it says what it is and how old what it
// holds may be, and what a lost master changes.
func TestAReplica(t *testing.T) {
	t.Parallel()
	master := servertest.Start(t)
	replica := servertest.Start(t, "--replicaof", "127.0.0.1", strconv.Itoa(master.Port), "--repl-timeout", "2")
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{replica.URL()}, Refresh: 50 * time.Millisecond, Rules: []config.Rule{hourRule("k", limiter.StreamCounter)}}))
	master.CLI("XADD", "k", "*", "count", "2")
	servertest.Await(t, "the count at the replica", func() bool {
		x, ok := run.Reading("k")
		return ok && feedtest.Used(x) == 2 && run.Last().Server.Role == "replica"
	})
	servertest.Await(t, "how far it is behind", func() bool {
		h := run.Health()
		return h != nil && h.LinkUp && h.Lag.Known && h.Lag.V < 1000 && h.Unheard.Known && h.Unheard.V < 20
	})
	if visited(master) {
		t.Error("the master was asked too")
	}
	master.Kill()
	servertest.Await(t, "word of the lost master", func() bool { h := run.Health(); return !h.LinkUp && h.Unheard.V >= 2 })
	awaitLive(t, run) // which can be read all the same
}

// TestAReplicaOfSentinels watches one of two replicas that a sentinel names, always the
// same, and the other when it stops. The master is left alone.
func TestAReplicaOfSentinels(t *testing.T) {
	t.Parallel()
	master := servertest.Start(t)
	replicas := map[string]*servertest.Server{}
	for range 2 {
		r := servertest.Start(t, "--replicaof", "127.0.0.1", strconv.Itoa(master.Port))
		replicas[r.Addr()] = r
	}
	sentinel := servertest.StartSentinel(t, fmt.Sprintf("sentinel monitor mymaster 127.0.0.1 %d 1\nsentinel down-after-milliseconds mymaster %d\n", master.Port, servertest.DownAfter.Milliseconds()))
	master.CLI("XADD", "k", "*", "count", "2")
	for _, r := range replicas {
		servertest.Await(t, "the sentinel to know the replica", func() bool {
			return strings.Contains(sentinel.CLI("SENTINEL", "REPLICAS", "mymaster"), strconv.Itoa(r.Port)) && r.CLI("EXISTS", "k") == "1"
		})
	}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{"redis+sentinel://" + sentinel.Addr() + "/mymaster?replica=true"}, Refresh: 50 * time.Millisecond,
		Rules: []config.Rule{hourRule("k", limiter.StreamCounter)}}))
	servertest.Await(t, "the count at a replica", func() bool {
		x, ok := run.Reading("k")
		return ok && feedtest.Used(x) == 2 && run.Last().Server.Role == "replica"
	})
	var read *servertest.Server
	for addr, r := range replicas {
		if visited(r) {
			if read != nil {
				t.Error("two replicas are read, which are not behind by the same")
			}
			read = r
			delete(replicas, addr)
		}
	}
	if read == nil || visited(master) {
		t.Fatalf("the replica that is read: %v; the master was asked: %v", read, visited(master))
	}
	read.Kill()
	master.CLI("XADD", "k", "*", "count", "3")
	servertest.Await(t, "the readings to go on at the other replica", func() bool {
		x, _ := run.Reading("k")
		return feedtest.Used(x) == 5 && run.Last().Server.Link == model.Live
	})
	if visited(master) {
		t.Error("the master was asked")
	}
}

// TestReplicasOfACluster watches the replicas of a cluster: masters are not read, and a
// master is, in words, when its replica stops.
func TestReplicasOfACluster(t *testing.T) {
	t.Parallel()
	const masters = 3
	nodes := servertest.StartReplicated(t, masters, 1)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	limit := limiter.Limit{Count: 1000, Window: time.Hour}
	l, err := redisstore.New(c, limiter.SlidingLog, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	fire := func() {
		for i := range 12 {
			if _, err := l.AllowN(context.Background(), "k"+strconv.Itoa(i), limit, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	var run *feedtest.Running
	fired := int64(0)
	all := func() bool {
		for i := range 12 {
			if x, ok := run.Reading("k" + strconv.Itoa(i)); !ok || feedtest.Used(x) != fired || x.Err != "" {
				return false
			}
		}
		return true
	}
	unread(t, nodes, nodes[:masters], func() *feedtest.Running {
		fire()
		fired++
		run = feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{nodes[0].URL() + "?cluster=true&replica=true"}, Refresh: 50 * time.Millisecond,
			Rules: []config.Rule{{Match: "*", Algorithm: limiter.SlidingLog, Limit: limit, LimitKnown: true}}}))
		servertest.Await(t, "all keys of all replicas", all)
		fire()
		fired++
		servertest.Await(t, "what came since", all)
		servertest.Await(t, "how far they are behind", func() bool { h := run.Health(); return h != nil && h.LinkUp && h.Unheard.Known && h.Unheard.V < 20 })
		awaitLive(t, run)
		servertest.Await(t, "nothing to be lacking", func() bool { return len(run.Last().Server.Lacks) == 0 })
		return run
	})
	if role := run.Last().Server.Role; role != "cluster replicas" {
		t.Errorf("role %q, want cluster replicas", role)
	}
	for i, s := range nodes[masters:] {
		if readsOf(s) == 0 {
			t.Errorf("replica %d was not read", i)
		}
	}
	nodes[masters].Kill()
	servertest.Await(t, "word of the replica that is gone", func() bool {
		return strings.Contains(strings.Join(run.Last().Server.Lacks, " "), "so that the master is read")
	})
	fire()
	fired++
	servertest.Await(t, "the readings to go on at its master", all)
}

// readsOf returns how often a node was asked for keys and values since its statistics began.
func readsOf(s *servertest.Server) int {
	return calls(s, "pttl") + calls(s, "scan") + calls(s, "get") + calls(s, "type")
}

// unread lets watch read a cluster, of which some nodes are not to be read but where a batch of the source that it returns
// says so: the master of a replica that does not answer is read in its place.
func unread(t *testing.T, nodes, spared []*servertest.Server, watch func() *feedtest.Running) {
	t.Helper()
	begun := time.Now()
	for _, s := range nodes {
		s.CLI("CONFIG", "RESETSTAT")
	}
	run := watch()
	said := slices.ContainsFunc(run.All(), func(b model.Batch) bool {
		return b.Local.After(begun) && strings.Contains(strings.Join(b.Server.Lacks, " "), "no replica")
	})
	const looks = 3 // while the connection to its replica was lost or new, too shortly to be told; else there are dozens
	for _, s := range spared {
		if n := readsOf(s); n > looks && !said {
			t.Errorf("a master is read %d times", n)
		}
	}
}

// TestOneReplicaOfSeveral: of the replicas of a master one is read until it stops, then another,
// also of counters whose windows have slots of their own. Two would not be behind by the same.
func TestOneReplicaOfSeveral(t *testing.T) {
	t.Parallel()
	const masters = 2
	nodes := servertest.StartReplicated(t, masters, 2)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	ctx := context.Background()
	nodes[0].Amid(t, time.Hour)
	const keys = 12
	limit := limiter.Limit{Count: 1000, Window: time.Hour}
	name := func(i int) string { return "rl:login:" + strconv.Itoa(i) }
	count := func() {
		start := nodes[0].Now().Floor(limit.Window)
		for i := range keys {
			for _, at := range [...]limiter.Instant{start.Add(-limit.Window), start} {
				if err := c.Incr(ctx, fmt.Sprintf("%s:%d", name(i), int64(at)/1e6)).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	var run *feedtest.Running
	var of map[string][]*servertest.Server // the replicas that are read, by the port of their master
	counted := int64(0)
	all := func() bool {
		for i := range keys {
			if x, ok := run.Reading(name(i)); !ok || x.State.Current != counted || x.Err != "" {
				return false
			}
		}
		return true
	}
	unread(t, nodes, nodes[:masters], func() *feedtest.Running {
		count()
		counted++
		run = feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{nodes[0].URL() + "?cluster=true&replica=true"}, Refresh: 50 * time.Millisecond,
			Rules: []config.Rule{{Match: "*", Algorithm: limiter.FixedWindow, Limit: limit, LimitKnown: true}}}))
		servertest.Await(t, "all counters", all)
		of = map[string][]*servertest.Server{}
		for _, s := range nodes[masters:] {
			_, rest, _ := strings.Cut(s.CLI("INFO", "replication"), "master_port:")
			master := strings.Fields(rest)[0]
			if readsOf(s) > 0 {
				of[master] = append(of[master], s)
			}
		}
		return run
	})
	for master, read := range of {
		if len(read) != 1 {
			t.Errorf("%d replicas of the master at port %s are read", len(read), master)
		}
	}
	if len(of) != masters {
		t.Fatalf("replicas of %d masters are read, want of %d", len(of), masters)
	}
	stops := of[strconv.Itoa(nodes[0].Port)][0]
	stops.Kill()
	left := slices.DeleteFunc(slices.Clone(nodes), func(s *servertest.Server) bool { return s == stops })
	unread(t, left, nodes[:masters], func() *feedtest.Running {
		count()
		counted++
		servertest.Await(t, "the readings to go on at the other replica", all)
		return run
	})
}

// TestReplicaOfOneServer is refused: it is not known where its master is.
func TestReplicaOfOneServer(t *testing.T) {
	_, err := feed.NewRedis(feed.Options{Watch: feedtest.EveryKey, URLs: []string{"redis://:s3cr3t@localhost:6379?replica=true"}})
	if err == nil || !strings.Contains(err.Error(), "the replica's own address") || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the error is %v, want the remedy and no password", err)
	}
}
