package watch_test

import (
	"context"
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
)

// calls returns how often a server was asked a command.
func calls(s *servertest.Server, command string) int {
	_, rest, found := strings.Cut(s.CLI("INFO", "commandstats"), "cmdstat_"+command+":calls=")
	if !found {
		return 0
	}
	n, _ := strconv.Atoi(strings.SplitN(rest, ",", 2)[0])
	return n
}

// TestAClusterIsHeardNodeByNode wants the streams of every master to be listened to where they live.
func TestAClusterIsHeardNodeByNode(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	limit := limiter.Limit{Count: 1000, Window: time.Hour}
	ctx := context.Background()
	l, err := redisstore.New(c, limiter.SlidingLog, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := redisstore.New(c, limiter.StreamCounter, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 12 {
		for kind, l := range map[string]*redisstore.Store{"log": l, "st": stream} {
			name := kind + strconv.Itoa(i)
			names = append(names, name)
			if _, err := l.AllowN(ctx, name, limit, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{nodes[0].URL() + "?cluster=true"}, Rules: []config.Rule{{Match: "*", Limit: limit, LimitKnown: true}}})
	r.Focus(names)
	run := feedtest.Run(t, r)
	for _, s := range nodes {
		servertest.Await(t, "a node whose streams are listened to", func() bool { return !strings.Contains(s.CLI("INFO", "clients"), "blocked_clients:0") })
	}
	for n := range 5 {
		for _, name := range names {
			by := l
			if strings.HasPrefix(name, "st") {
				by = stream
			}
			if _, err := by.AllowN(ctx, name, limit, 1); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range names {
			servertest.Await(t, "every request", func() bool { x, _ := run.Reading(name); return feedtest.Used(x) == int64(n+2) })
		}
	}
}
