package feed_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/fire"
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
	run := runSource(t, newRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"k"}, Refresh: 50 * time.Millisecond}))
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
	run := runSource(t, newRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"k"}, Refresh: 50 * time.Millisecond}))
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
		return run.Last().Server.Link == model.Live && used(x) == 2
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
		if err := c.XAdd(context.Background(), xadd("k"+strconv.Itoa(i), "1")).Err(); err != nil {
			t.Fatal(err)
		}
	}
	run := runSource(t, newRedis(t, feed.Options{Watch: everyKey, URLs: []string{nodes[0].URL() + "?cluster=true"}, Refresh: 50 * time.Millisecond}))
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
	if out, err := exec.Command("redis-cli", "-p", strconv.Itoa(s.Port), "XADD", "k", "*", "count", "2").Output(); !strings.Contains(string(out), "OOM") {
		t.Fatalf("the server is not full: %s, %v", out, err)
	}
	run := runSource(t, newRedis(t, feed.Options{Watch: everyKey, URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond}))
	servertest.Await(t, "the reading and the health", func() bool {
		x, _ := run.Reading("k")
		h := run.Health()
		return used(x) == 2 && x.Err == "" && h != nil && h.MemoryUsed.V > h.MemoryMax.V && slices.ContainsFunc(h.Errors, func(e model.ErrorStat) bool { return e.Name == "OOM" })
	})
	if b := run.Last(); b.Server.Link != model.Live {
		t.Errorf("link %v, %q", b.Server.Link, b.Server.Err)
	}
}

// TestFiringWhereNothingIsWritten fires at a server out of memory, at a replica, at a key
// of another type, and as a user who may not: each outcome is an error with
// a sentence, and an order ends after a few. At a server that is away nothing is fired at all.
func TestFiringWhereNothingIsWritten(t *testing.T) {
	t.Parallel()
	full := servertest.Start(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	master := servertest.Start(t)
	replica := servertest.Start(t, "--replicaof", "127.0.0.1", strconv.Itoa(master.Port))
	servertest.Await(t, "the replica to be in sync", func() bool { return strings.Contains(replica.CLI("INFO", "replication"), "master_link_status:up") })
	master.CLI("SET", "k", "hello")
	master.CLI("ACL", "SETUSER", "eye", "on", ">pw", "~*", "+@read")
	for name, c := range map[string]struct {
		url, key, want string
	}{
		"out of memory": {full.URL(), "f", "out of memory"},
		"a replica":     {replica.URL(), "f", "replica"},
		"another type":  {master.URL(), "k", "holds a string"},
		"not permitted": {"redis://eye:pw@" + master.Addr(), "f", "must not fire"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRedis(t, feed.Options{Watch: everyKey, URLs: []string{c.url}})
			i := patient(t, r, filepath.Join(t.TempDir(), "audit"))
			var said string
			outcomes, err := i.Fire(context.Background(), model.Order{Key: c.key, Target: target(limiter.SlidingLog, 5, time.Minute), Cost: 1, N: 100}, func(f model.Fired) {
				said = f.Err
			})
			if outcomes.Failed != fire.GiveUp || outcomes.Total() > fire.GiveUp+1 || err == nil || !strings.Contains(err.Error(), "stopped after") {
				t.Errorf("%+v, %v: want it to stop after %d failures", outcomes, err, fire.GiveUp)
			}
			if !strings.Contains(said, c.want) || strings.Contains(said, "\n") {
				t.Errorf("the outcome says %q, want %q", said, c.want)
			}
		})
	}
	dead := servertest.Start(t)
	dead.Kill()
	i := patient(t, newRedis(t, feed.Options{URLs: []string{dead.URL()}}), filepath.Join(t.TempDir(), "audit"))
	outcomes, err := i.Fire(context.Background(), model.Order{Key: "f", Target: target(limiter.SlidingLog, 5, time.Minute), Cost: 1, N: 100}, nil)
	if outcomes.Total() != 0 || err == nil || !strings.Contains(err.Error(), "nothing listens") {
		t.Errorf("at a server that is away: %+v, %v", outcomes, err)
	}
}

// TestAnUnansweredRequestIsNotSentAgain swallows the answers of a server in the middle of a burst:
// the request is counted there once, its outcome is unknown here, and nothing more is sent.
func TestAnUnansweredRequestIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	p := servertest.StartProxy(t, s.Addr())
	defer p.Close()
	r := newRedis(t, feed.Options{Watch: everyKey, URLs: []string{"redis://" + p.Listener.Addr().String()}})
	i := r.Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit"), Timeout: 4 * time.Second})
	order := model.Order{Key: "k", Target: target(limiter.SlidingLog, 100, time.Hour), Cost: 1, N: 50}
	answered := 0
	outcomes, err := i.Fire(context.Background(), order, func(model.Fired) {
		if answered++; answered == 2 { // the server knows the scripts by now
			p.Set(func(p *servertest.Proxy) { p.Drop = true })
		}
	})
	if err == nil || !strings.Contains(err.Error(), "outcome is unknown") || outcomes != (model.Outcomes{Admitted: 2, Unanswered: 1}) {
		t.Errorf("%+v, %v: want it to stop at the first request without an answer", outcomes, err)
	}
	servertest.Await(t, "the request to be counted", func() bool { return s.CLI("ZCARD", "k") == "3" })
}

// TestExactKeysWithoutAWindow finds the counters of a key by its name alone.
func TestExactKeysWithoutAWindow(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	start := s.Now().Floor(time.Minute)
	s.CLI("SET", fmt.Sprintf("{a*b}:sw:%d", start.Millis()), "5", "PX", "119000")
	s.CLI("SET", fmt.Sprintf("x:y:%d", start.Millis()/1000), "6", "PX", "119000")
	s.CLI("SET", fmt.Sprintf("{aXb}:sw:%d", start.Millis()), "9", "PX", "119000")
	_, got := once(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"a*b", "x:y", "none"}})
	if x := got["a*b"]; x.State.Current+x.State.Previous != 5 || x.Target.Algorithm != limiter.SlidingWindow || x.Target.Window != time.Minute {
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
	run := runSource(t, newRedis(t, feed.Options{Watch: everyKey, URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond, Rules: []config.Rule{{Match: "otp", Limit: limiter.Limit{Count: 1, Window: 10 * time.Minute}, LimitKnown: true}}}))
	servertest.Await(t, "the block", func() bool {
		x, _ := run.Reading("otp")
		left := x.State.BlockedUntil.Sub(x.At)
		return left > 50*time.Minute && left <= time.Hour
	})
	if _, ok := run.Reading("{otp}:blocked"); ok {
		t.Error("the block was taken for a limiter")
	}
}
