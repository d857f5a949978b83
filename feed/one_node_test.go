package feed_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// clusterWithKeys starts a cluster with a stream on every node, and returns one key for each
// address.
func clusterWithKeys(t *testing.T) (nodes []*servertest.Server, byAddr map[string]string) {
	t.Helper()
	nodes = servertest.StartCluster(t, 3)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	byAddr = map[string]string{}
	for i := 0; len(byAddr) < len(nodes); i++ {
		key := "rl:k" + strconv.Itoa(i)
		node, err := c.MasterForKey(context.Background(), key)
		if err != nil {
			t.Fatal(err)
		}
		if byAddr[node.Options().Addr] != "" {
			continue
		}
		byAddr[node.Options().Addr] = key
		if err := c.XAdd(context.Background(), feedtest.XAdd(key, "1")).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return nodes, byAddr
}

// armed returns an injector for the server of a source, which may stand still for a while.
func armed(t *testing.T, r *feed.Redis) *fire.Injector {
	t.Helper()
	return r.Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit.jsonl"), Timeout: servertest.Patience})
}

// TestOneNodeOfACluster names a single node of a cluster, as people do: all keys are found,
// a key of another node can be read and fired at, and the user is told what to add.
func TestOneNodeOfACluster(t *testing.T) {
	t.Parallel()
	nodes, byAddr := clusterWithKeys(t)
	url, other := nodes[0].URL(), byAddr[nodes[1].Addr()]
	batch, got := feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}})
	for _, key := range byAddr {
		if r, ok := got[key]; !ok || feedtest.Used(r) != 1 {
			t.Fatalf("%s was not found by way of one node", key)
		}
	}
	says := strings.Join(batch.Server.Lacks, "\n")
	if !strings.Contains(says, "one node of a cluster of 3 masters") || !strings.Contains(says, "?cluster=true") || batch.Server.Role != "cluster" {
		t.Fatalf("role %q, said %q", batch.Server.Role, says)
	}
	rules, err := config.Parse([]byte(`rules: [{match: "rl:*", algorithm: stream, limit: 100/1m}]`))
	if err != nil {
		t.Fatal(err)
	}
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{url}, Keys: []string{other}, Rules: rules.Rules})
	_, reading, err := feed.ReadKey(t.Context(), r, other)
	if err != nil {
		t.Fatal(err)
	}
	target, err := reading.Aim()
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := armed(t, r).Fire(t.Context(), model.Order{Key: other, Target: target, N: 1, Cost: 1}, nil)
	if err != nil || outcomes.Total() != 1 || outcomes.Failed+outcomes.Unanswered != 0 {
		t.Errorf("fired at a key of another node: %+v, %v", outcomes, err)
	}
}

// TestOneNodeAlone asks for one node alone, or cannot reach another one: its own keys are
// read, one of another node is an error that says what to add, and nothing waits for ever.
func TestOneNodeAlone(t *testing.T) {
	t.Parallel()
	nodes, byAddr := clusterWithKeys(t)
	own, other := byAddr[nodes[0].Addr()], byAddr[nodes[1].Addr()]
	check := func(url, why string) {
		t.Helper()
		batch, got := feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}})
		says := strings.Join(batch.Server.Lacks, "\n")
		if _, ok := got[own]; !ok || len(got) != 1 || batch.Server.Role != "cluster node" ||
			!strings.Contains(says, "only the keys of this node") || !strings.Contains(says, why) {
			t.Errorf("%s: %d keys, role %q, said %q", url, len(got), batch.Server.Role, says)
		}
		ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
		defer cancel()
		_, _, err := feed.ReadKey(ctx, feedtest.NewRedis(t, feed.Options{URLs: []string{url}, Keys: []string{other}}), other)
		if err == nil || !strings.Contains(err.Error(), "another node of the cluster: add ?cluster=true") {
			t.Errorf("%s: a key of another node is read with %v", url, err)
		}
	}
	check(nodes[0].URL()+"?cluster=false", "asks for this node alone")
	nodes[1].Freeze()
	t.Cleanup(nodes[1].Thaw)
	check(nodes[0].URL(), nodes[1].Addr())
}

// TestABurstAtANodeThatDies kills a node of a cluster in the middle of a burst at its key: what was decided until then
// and what is not known stand apart, nothing more is sent, the key is said to be away, and the keys of
// the other nodes are fired at as before.
func TestABurstAtANodeThatDies(t *testing.T) {
	t.Parallel()
	nodes, byAddr := clusterWithKeys(t)
	url := nodes[0].URL() + "?cluster=true"
	dies, lives := "{"+byAddr[nodes[2].Addr()]+"}x", "{"+byAddr[nodes[0].Addr()]+"}x" // in the slots of these keys
	i := armed(t, feedtest.NewRedis(t, feed.Options{URLs: []string{url}}))
	order := model.Order{Key: dies, N: 100, Cost: 1, Target: model.Target{
		Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 1000, Window: time.Hour}, LimitKnown: true, Window: time.Hour}}
	n := 0
	got, err := i.Fire(t.Context(), order, func(model.Fired) {
		if n++; n == 20 {
			nodes[2].Kill()
		}
	})
	if err == nil || got.Admitted < 20 || got.Admitted == 100 || got.Admitted+got.Failed+got.Unanswered != n || got.Unanswered > 1 {
		t.Errorf("%+v of %d reported, %v", got, n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*servertest.Patience)
	defer cancel()
	var away feed.Away
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{url}, Keys: []string{dies}})
	if _, _, err := feed.ReadKey(ctx, r, dies); !errors.As(err, &away) {
		t.Errorf("the key of the node is read with %v", err)
	}
	order.Key, order.N = lives, 5
	if got, err := i.Fire(t.Context(), order, nil); err != nil || got.Admitted != 5 {
		t.Errorf("at another node: %+v, %v", got, err)
	}
}
