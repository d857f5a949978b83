package watch_test

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
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

// TestSameReadingsOverRESP3: whatever a key holds, the two protocols, whose answers differ in
// their types, tell the same of it.
func TestSameReadingsOverRESP3(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lfu")
	now := s.Amid(t, time.Hour)
	hour := limiter.Limit{Count: 10, Window: time.Hour}
	ctx := context.Background()
	c := s.Client()
	list := []config.Rule{}
	for _, a := range limiter.Algorithms() {
		l, err := redisstore.New(c, a, redisstore.WithDenials(), redisstore.WithPrefix(""))
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			if _, err := l.AllowN(ctx, "own:"+a.String(), hour, 1); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, config.Rule{Match: "own:" + a.String(), Algorithm: a, Limit: hour, LimitKnown: true})
	}
	at := func(d time.Duration) int64 { return int64(now.Add(-d)) }
	s.CLI("ZADD", "log:s", fmt.Sprint(at(time.Second)/1e6), "a", fmt.Sprintf("%.3f", float64(at(2*time.Second))/1e6), "b")
	s.CLI("ZADD", "log:ms", fmt.Sprint(at(time.Second)/1e3), "a", fmt.Sprint(at(30*time.Second)/1e3), "b")
	s.CLI("ZADD", "log:odd", "inf", "a", "-inf", "b", "0.1", "c", fmt.Sprint(at(time.Second)), "d")
	s.CLI("XADD", "stream:foreign", "*", "count", "3")
	s.CLI("XADD", "stream:none", "*", "who", "me")
	s.CLI("SET", fmt.Sprintf("rl:login:7:%d", int64(now.Floor(time.Hour))/1e6), "4", "EX", "7200")
	s.CLI("SET", "single", "3", "EX", "3600")
	s.CLI("SET", "tat", fmt.Sprintf("%.6f", float64(now.Add(time.Hour))/1e6), "PX", "3600000")
	s.CLI("SADD", "wrong", "x")
	list = append(list, config.Rule{Match: "*", Limit: hour, LimitKnown: true})
	type told struct {
		typ, err, notes string
		target          model.Target
		used, denied    model.Count
		previous, sure  bool
	}
	read := func(protocol int) map[string]told {
		_, got := feedtest.Once(t, feed.Options{URLs: []string{fmt.Sprintf("%s?protocol=%d", s.URL(), protocol)}, Watch: feedtest.EveryKey, Rules: list})
		all := make(map[string]told)
		for key, r := range got {
			all[key] = told{r.Type, r.Err, fmt.Sprint(r.Notes), r.Target, model.Count{Known: true, N: r.Gauge(now).Used.N}, r.Denied, r.PreviousKnown, r.ExactKnown}
		}
		return all
	}
	two, three := read(2), read(3)
	if len(two) < len(limiter.Algorithms())+7 {
		t.Errorf("only %d keys were read", len(two))
	}
	for key, want := range two {
		if got := three[key]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: over RESP3 %+v, over RESP2 %+v", key, got, want)
		}
	}
	if len(three) != len(two) {
		t.Errorf("over RESP3 %d keys, over RESP2 %d", len(three), len(two))
	}
}

// TestRESP3 watches with a client that speaks RESP3: streams are
// listened to, requests are counted, and the health of the server is told as over RESP2.
func TestRESP3(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "--latency-monitor-threshold", "1", "--slowlog-log-slower-than", "0")
	s.CLI("DEBUG", "SLEEP", "0")
	hour := limiter.Limit{Count: 1000, Window: time.Hour}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL() + "?protocol=3"}, Keys: []string{"log", "stream"}, Refresh: 100 * time.Millisecond, Rules: []config.Rule{
		{Match: "log", Algorithm: limiter.SlidingLog, Limit: hour, LimitKnown: true}, hourRule("stream", limiter.StreamCounter)}}))
	sent := int64(0)
	fire := func() {
		at := fmt.Sprint(int64(s.Now()))
		s.CLI("ZADD", "log", at, at)
		s.CLI("XADD", "stream", "*", "count", "1")
		sent++
	}
	seen := func() bool {
		a, _ := run.Reading("log")
		b, _ := run.Reading("stream")
		return feedtest.Used(a) == sent && feedtest.Used(b) == sent
	}
	fire()
	servertest.Await(t, "the first request", seen)
	for range 20 {
		fire()
		servertest.Await(t, "the request", seen)
	}
	servertest.Await(t, "the health of the server", func() bool {
		h := run.Health()
		return h != nil && h.Ops.Known && h.MemoryUsed.Known && len(h.Commands) > 0 && len(h.Slow) > 0 && h.Slow[0].Command != ""
	})
	awaitLive(t, run)
	servertest.Await(t, "nothing to be lacking", func() bool { return len(run.Last().Server.Lacks) == 0 })
}

// TestRESP3Cluster watches a cluster, whose client is another, with RESP3.
func TestRESP3Cluster(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	l, err := redisstore.New(c, limiter.SlidingWindow, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	limit := limiter.Limit{Count: 1000, Window: 24 * time.Hour} // whose edge does not come while the test runs
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{nodes[0].URL() + "?cluster=true&protocol=3"}, Refresh: 50 * time.Millisecond, Rules: []config.Rule{
		{Match: "*", Algorithm: limiter.SlidingWindow, Limit: limit, LimitKnown: true}}}))
	for n := range int64(3) {
		for i := range 12 {
			if _, err := l.AllowN(context.Background(), "k"+strconv.Itoa(i), limit, 1); err != nil {
				t.Fatal(err)
			}
		}
		servertest.Await(t, "all keys", func() bool {
			for i := range 12 {
				if x, ok := run.Reading("k" + strconv.Itoa(i)); !ok || feedtest.Used(x) != n+1 || x.Err != "" {
					return false
				}
			}
			return true
		})
	}
}
