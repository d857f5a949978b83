package watch_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
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
	pulses := []*pulse{startPulse(t, nodes[1]), startPulse(t, nodes[2])}
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
		// A machine that stands still, all nodes with it, ends the link until the next attempt at it.
		if b.Server.Link != model.Live && !stoodStill(pulses, b.Local.Add(-5*time.Second), b.Local) {
			t.Fatalf("one frozen node of three made the link %v: %s", b.Server.Link, b.Server.Err)
		}
	}
}
