package watch_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/connect"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestFrozenNode stops the process of one node of a cluster, the one that the URL names: the
// link stays live, the keys of the two others are read on, the frozen one is named with its
// own address, and its keys are read again once it goes on.
func TestFrozenNode(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	var addrs []string
	for _, s := range nodes {
		addrs = append(addrs, s.Addr())
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	ctx := context.Background()
	home := map[string]string{}
	for i := range 24 {
		key := "rl:k" + strconv.Itoa(i)
		if err := c.XAdd(ctx, feedtest.XAdd(key, "1")).Err(); err != nil {
			t.Fatal(err)
		}
		node, err := c.MasterForKey(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		home[key] = node.Options().Addr
	}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{nodes[0].URL() + "?cluster=true"}, Refresh: 50 * time.Millisecond}))
	fresh := func(since map[string]limiter.Instant, frozen string) bool {
		for key, addr := range home {
			if r, ok := run.Reading(key); !ok || addr != frozen && r.At <= since[key] {
				return false
			}
		}
		return true
	}
	servertest.Await(t, "all keys", func() bool { return fresh(nil, "") })
	begun := run.Count()
	frozen := nodes[0].Addr()
	nodes[0].Freeze()
	t.Cleanup(nodes[0].Thaw)
	named := func() bool {
		lacks := strings.Join(run.Last().Server.Lacks, "; ")
		return strings.Contains(lacks, frozen) && strings.Contains(lacks, "stale")
	}
	servertest.Await(t, "the frozen node to be named", named)
	for range 3 { // the others are read on, again and again
		since := map[string]limiter.Instant{}
		for key := range home {
			r, _ := run.Reading(key)
			since[key] = r.At
		}
		servertest.Await(t, "the keys of the two others", func() bool { return fresh(since, frozen) })
	}
	for _, lack := range run.Last().Server.Lacks {
		for _, s := range nodes[1:] {
			if strings.Contains(lack, s.Addr()) {
				t.Errorf("%s is blamed for what %s does: %s", s.Addr(), frozen, lack)
			}
		}
	}
	nodes[0].Thaw()
	servertest.Await(t, "the frozen node to be read again", func() bool { return !named() && fresh(nil, "") })
	since := map[string]limiter.Instant{}
	for key := range home {
		r, _ := run.Reading(key)
		since[key] = r.At
	}
	servertest.Await(t, "all keys again", func() bool { return fresh(since, "") })
	for _, b := range run.All()[begun:] {
		if b.Server.Link != model.Live {
			t.Fatalf("one frozen node of three made the link %v: %s", b.Server.Link, b.Server.Err)
		}
	}
}

// TestOneLookPastAFrozenNode: a look at the keys of a cluster waits for a node that hangs no longer than for its greeting,
// whichever of the others has the keys: neither the search nor the slots are asked of it.
func TestOneLookPastAFrozenNode(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	for i := range 30 {
		if err := c.Set(context.Background(), fmt.Sprintf("{a}rl:%d", i), 5, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	home, err := c.MasterForKey(context.Background(), "{a}")
	if err != nil {
		t.Fatal(err)
	}
	var frozen *servertest.Server
	for _, s := range nodes[1:] { // nodes[0] is in the URL
		if s.Addr() != home.Options().Addr {
			frozen = s
		}
	}
	frozen.Freeze()
	t.Cleanup(frozen.Thaw)
	var mu sync.Mutex
	waited := map[string]int{}
	got, _ := feedtest.Once(t, feed.Options{URLs: []string{nodes[0].URL() + "?cluster=true"}, Watch: []string{"*rl:*"}, Trace: func(r connect.RoundTrip) {
		mu.Lock()
		defer mu.Unlock()
		for name := range r.Commands {
			if r.Failed == "timeout" && r.Server == frozen.Addr() {
				waited[name]++
			}
		}
	}})
	mu.Lock()
	defer mu.Unlock()
	if len(got.Readings) != 30 || !strings.Contains(strings.Join(got.Server.Lacks, "; "), frozen.Addr()) {
		t.Errorf("%d readings, lacking %q", len(got.Readings), got.Server.Lacks)
	}
	if waited["scan"] > 0 || waited["cluster slots"] > 1 {
		t.Errorf("waited in vain for %v", waited)
	}
}
