package watch_test

import (
	"context"
	"fmt"
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

// TestNotificationsStandInForPolling watches a log on a server that tells of changes: its
// key is asked about at the refreshes alone, and every request is counted all the same. The
// server's setting stays as it was.
func TestNotificationsStandInForPolling(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "--notify-keyspace-events", "KA")
	rule := config.Rule{Match: "log", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 1000, Window: time.Hour}, LimitKnown: true}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"log"}, Rules: []config.Rule{rule}, Refresh: 400 * time.Millisecond}))
	add := func() { s.CLI("ZADD", "log", fmt.Sprint(int64(s.Now())), fmt.Sprint(int64(s.Now()))) }
	add()
	servertest.Await(t, "the channel of the key", func() bool { return strings.Contains(s.CLI("PUBSUB", "CHANNELS"), "__keyspace@0__:log") })
	sent := 1
	for range 5 { // the first ones show that notifications come
		add()
		sent++
		servertest.Await(t, "the request", func() bool { x, _ := run.Reading("log"); return feedtest.Used(x) == int64(sent) })
	}
	servertest.Await(t, "ten refreshes without a look between them", func() bool {
		asked, batches := calls(s, "zrangebyscore"), run.Count()
		servertest.Await(t, "ten refreshes", func() bool { return run.Count() >= batches+10 })
		return calls(s, "zrangebyscore")-asked <= 12
	})
	add()
	sent++
	servertest.Await(t, "the last request", func() bool { x, _ := run.Reading("log"); return feedtest.Used(x) == int64(sent) })
	if setting := s.CLI("CONFIG", "GET", "notify-keyspace-events"); !strings.Contains(setting, "AK") {
		t.Errorf("the setting is now %q", setting)
	}
}

// TestAFloodOfNotificationsIsNotHeard hangs up where too many notifications come, says so,
// and goes on polling.
func TestAFloodOfNotificationsIsNotHeard(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "--notify-keyspace-events", "KA")
	rule := config.Rule{Match: "log", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 100_000, Window: time.Hour}, LimitKnown: true}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"log"}, Rules: []config.Rule{rule}}))
	s.CLI("ZADD", "log", fmt.Sprint(int64(s.Now())), "first")
	servertest.Await(t, "the channel of the key", func() bool { return strings.Contains(s.CLI("PUBSUB", "CHANNELS"), "__keyspace@0__:log") })
	const n = 5000
	p := s.Client().Pipeline()
	at := s.Now()
	for i := range n {
		p.ZAdd(context.Background(), "log", feedtest.Z(float64(at), "m"+strconv.Itoa(i)))
	}
	if _, err := p.Exec(context.Background()); err != nil {
		t.Fatal(err)
	}
	servertest.Await(t, "a word about the flood", func() bool {
		return strings.Contains(strings.Join(run.Last().Server.Lacks, " "), "are polled instead")
	})
	servertest.Await(t, "no client to listen", func() bool { return !strings.Contains(s.CLI("PUBSUB", "CHANNELS"), "__key") })
	servertest.Await(t, "the count", func() bool { x, _ := run.Reading("log"); return feedtest.Used(x) == n+1 })
}

// TestAClusterIsHeardNodeByNode wants the notifications of every master to be heard where
// its keys live, and its streams to be listened to.
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
	for _, s := range nodes {
		s.CLI("CONFIG", "SET", "notify-keyspace-events", "KA")
	}
	r := feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{nodes[0].URL() + "?cluster=true"}, Rules: []config.Rule{{Match: "*", Limit: limit, LimitKnown: true}}})
	r.Focus(names)
	run := feedtest.Run(t, r)
	for _, s := range nodes {
		servertest.Await(t, "the channels of a node", func() bool { return strings.Contains(s.CLI("PUBSUB", "CHANNELS"), "__keyspace@0__:log") })
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
