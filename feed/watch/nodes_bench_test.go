package watch_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// simulated is a cluster of so many masters in this process, each of which answers for an equal part of
// the slots and tells of all.
type simulated struct {
	nodes    []*miniredis.Miniredis
	commands atomic.Int64 // that were answered by all together
}

func simulate(t testing.TB, masters int) *simulated {
	t.Helper()
	s := &simulated{}
	for range masters {
		s.nodes = append(s.nodes, miniredis.RunT(t))
	}
	for i, m := range s.nodes {
		m.Server().SetPreHook(func(c *server.Peer, name string, arguments ...string) bool {
			s.commands.Add(1)
			switch {
			case name == "CLUSTER" && len(arguments) > 0 && strings.EqualFold(arguments[0], "SLOTS"):
				s.slots(c)
			case name == "INFO":
				c.WriteBulk("# Server\r\nredis_version:7.0.15\r\nredis_mode:cluster\r\nrun_id:" + fmt.Sprintf("%040d", i) + "\r\nuptime_in_seconds:100\r\n# Replication\r\nrole:master\r\n# Cluster\r\ncluster_enabled:1\r\n")
			case name == "READONLY", name == "ASKING":
				c.WriteOK()
			default:
				return false
			}
			return true
		})
	}
	return s
}

// slots answers CLUSTER SLOTS.
func (s *simulated) slots(c *server.Peer) {
	const slots = 16384
	n := len(s.nodes)
	c.WriteLen(n)
	for i, m := range s.nodes {
		host, port, _ := net.SplitHostPort(m.Addr())
		number, _ := strconv.Atoi(port)
		c.WriteLen(3)
		c.WriteInt(slots * i / n)
		c.WriteInt(slots*(i+1)/n - 1)
		c.WriteLen(3)
		c.WriteBulk(host)
		c.WriteInt(number)
		c.WriteBulk(fmt.Sprintf("%040d", i))
	}
}

// BenchmarkMasters is what watching costs a master, of few and of a hundred, with ten limiters on each:
// commands a second, connections, and the server's time by the model of costs.
//
//	go test -run - -bench Masters -benchtime 1x ./feed/watch
func BenchmarkMasters(b *testing.B) {
	for _, masters := range []int{4, 20, 100} {
		b.Run(strconv.Itoa(masters), func(b *testing.B) {
			s := simulate(b, masters)
			var addresses []string
			for _, m := range s.nodes[:2] { // the others are told of
				addresses = append(addresses, "redis://"+m.Addr()+"?cluster=true")
			}
			c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.nodes[0].Addr()}, Protocol: 2})
			defer c.Close()
			l, err := redisstore.New(c, limiter.SlidingLog, redisstore.WithPrefix("rl:"))
			if err != nil {
				b.Fatal(err)
			}
			for i := range 10 * masters {
				if _, err := l.AllowN(context.Background(), strconv.Itoa(i), limiter.Limit{Count: 10, Window: time.Hour}, 1); err != nil {
					b.Fatal(err)
				}
			}
			r, err := feed.NewRedis(feed.Options{Watch: feedtest.EveryKey, URLs: addresses})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			run := feedtest.Run(b, r)
			servertest.Await(b, "all keys", func() bool { return len(run.Seen()) == 10*masters })
			servertest.Await(b, "the link", func() bool { return run.Last().Server.Link == model.Live })
			for b.Loop() {
				const long = 20 * time.Second
				first, begun := len(run.All()), s.commands.Load()
				time.Sleep(long)
				commands := s.commands.Load() - begun
				var cost model.Cost
				for _, batch := range run.All()[first:] {
					cost.Add(batch.Cost)
				}
				connections := 0
				for _, m := range s.nodes {
					connections += m.CurrentConnectionCount()
				}
				each := float64(masters)
				b.ReportMetric(float64(commands)/long.Seconds()/each, "commands/s/master")
				b.ReportMetric(float64(cost.Server.Microseconds())/long.Seconds()/each, "server-µs/s/master")
				b.ReportMetric(float64(connections)/each, "connections/master")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
