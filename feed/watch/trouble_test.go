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

// TestBusyServer runs a script that does not end: the link is down in words, and up again
// when the script is killed.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "--busy-reply-threshold", "100")
	s.CLI("XADD", "k", "*", "count", "1")
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"k"}, Refresh: 50 * time.Millisecond}))
	servertest.Await(t, "the first reading", func() bool { _, ok := run.Reading("k"); return ok })
	c := s.Client()
	go c.Do(context.Background(), "EVAL", "while true do end", "0")
	servertest.Await(t, "word of the script", func() bool {
		b := run.Last()
		return b.Server.Link == model.Down && strings.Contains(b.Server.Err, "busy with a script")
	})
	s.CLI("SCRIPT", "KILL")
	servertest.Await(t, "the link", func() bool { return run.Last().Server.Link == model.Live })
}

// TestLoadingServer watches a server that comes back with much to load: the link is down in
// words while it loads, and up by itself when it is done.
func TestLoadingServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("EVAL", "for i = 1, 20000 do redis.call('SET', 'x' .. i, i) end", "0")
	s.CLI("XADD", "k", "*", "count", "2")
	s.CLI("SAVE")
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"k"}, Refresh: 50 * time.Millisecond}))
	servertest.Await(t, "the first reading", func() bool { _, ok := run.Reading("k"); return ok })
	s.Kill()
	// It answers while it loads every 1,024 bytes, and waits 500 µs at every key: ten seconds in all, which
	// no machine stands still, unless it is told to make haste.
	s.Start("--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024")
	servertest.Await(t, "word of the loading", func() bool {
		b := run.Last()
		return b.Server.Link == model.Down && strings.Contains(b.Server.Err, "is loading its data")
	})
	s.Ask("CONFIG", "SET", "key-load-delay", "0")
	servertest.Await(t, "the reading after it", func() bool {
		x, _ := run.Reading("k")
		return run.Last().Server.Link == model.Live && feedtest.Used(x) == 2
	})
}

// TestClusterDown watches a cluster that serves nothing while a part of its slots is away.
func TestClusterDown(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	for _, s := range nodes {
		s.CLI("CONFIG", "SET", "cluster-require-full-coverage", "yes")
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	for i := range 12 {
		if err := c.XAdd(context.Background(), feedtest.XAdd("k"+strconv.Itoa(i), "1")).Err(); err != nil {
			t.Fatal(err)
		}
	}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{nodes[0].URL() + "?cluster=true"},
		Refresh: 50 * time.Millisecond}))
	servertest.Await(t, "all keys", func() bool { return run.Last().Sweep.Matched == 12 })
	for _, s := range nodes[:2] { // so that it is away sooner, and its slots are served sooner when it is back
		s.CLI("CONFIG", "SET", "cluster-node-timeout", "1000")
	}
	nodes[2].Kill()
	servertest.Await(t, "word of the cluster that is down", func() bool {
		b := run.Last()
		return strings.Contains(b.Server.Err+strings.Join(b.Server.Lacks, " "), "the cluster is down")
	})
	nodes[2].Start()
	servertest.Await(t, "the link", func() bool { b := run.Last(); return b.Server.Link == model.Live && len(b.Server.Lacks) == 0 })
}

// TestWatchingAFullServer watches a server that takes no writes any more: readings go on,
// and nothing is written.
func TestWatchingAFullServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("XADD", "k", "*", "count", "2")
	s.CLI("CONFIG", "SET", "maxmemory", "1")
	if out := s.CLI("XADD", "k", "*", "count", "2"); !strings.Contains(out, "OOM") {
		t.Fatalf("the server is not full: %s", out)
	}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()},
		Refresh: 50 * time.Millisecond}))
	servertest.Await(t, "the reading and the health", func() bool {
		x, _ := run.Reading("k")
		h := run.Health()
		return feedtest.Used(x) == 2 && x.Err == "" && h != nil && h.MemoryUsed.V > h.MemoryMax.V &&
			slices.ContainsFunc(h.Errors, func(e model.ErrorStat) bool { return e.Name == "OOM" })
	})
	if b := run.Last(); b.Server.Link != model.Live {
		t.Errorf("link %v, %q", b.Server.Link, b.Server.Err)
	}
}

// TestExactKeysWithoutAWindow finds the counters of a key by its name alone.
func TestExactKeysWithoutAWindow(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	const window = 24 * time.Hour // whose edge does not come while the test runs
	start, lives := s.Now().Floor(window), fmt.Sprint((2*window - time.Second).Milliseconds())
	s.CLI("SET", fmt.Sprintf("{a*b}:sw:%d", start.Millis()), "5", "PX", lives)
	s.CLI("SET", fmt.Sprintf("x:y:%d", start.Millis()/1000), "6", "PX", lives)
	s.CLI("SET", fmt.Sprintf("{aXb}:sw:%d", start.Millis()), "9", "PX", lives)
	_, got := feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"a*b", "x:y", "none"}})
	if x := got["a*b"]; x.State.Current+x.State.Previous != 5 || x.Target.Algorithm != limiter.SlidingWindow || x.Target.Window != window {
		t.Errorf("a*b: %+v of %v", x.State, x.Target)
	}
	if x := got["x:y"]; x.State.Current+x.State.Previous != 6 {
		t.Errorf("x:y: %+v of %v", x.State, x.Target)
	}
	if x := got["none"]; x.Type != "none" || x.Err != "" {
		t.Errorf("none: %+v", x)
	}
	if len(got) != 3 {
		t.Errorf("%d readings, want the 3 that were asked for", len(got))
	}
}

// TestBlockedKeys reads until when a key is blocked, and takes the block for no key of its
// own.
func TestBlockedKeys(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := context.Background()
	l, err := redisstore.New(s.Client(), limiter.SlidingLog, redisstore.WithConvention(limiter.Convention{Block: time.Hour}), redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := l.AllowN(ctx, "otp", limiter.Limit{Count: 1, Window: 10 * time.Minute}, 1); err != nil {
			t.Fatal(err)
		}
	}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond,
		Rules: []config.Rule{{Match: "otp", Limit: limiter.Limit{Count: 1, Window: 10 * time.Minute}, LimitKnown: true}}}))
	servertest.Await(t, "the block", func() bool {
		x, _ := run.Reading("otp")
		left := x.State.BlockedUntil.Sub(x.At)
		return left > 50*time.Minute && left <= time.Hour
	})
	if _, ok := run.Reading("{otp}:blocked"); ok {
		t.Error("the block was taken for a limiter")
	}
}
