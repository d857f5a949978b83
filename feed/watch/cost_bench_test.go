package watch_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// BenchmarkCost tells what a server that has nothing else to do takes for being watched, by its
// own account of its processor (%server) and by what the watcher says (%told), which must not be
// less; and what the watcher takes of a core here (%here).
func BenchmarkCost(b *testing.B) {
	for _, c := range []struct {
		name         string
		limiters, of int           // limiters among so many other keys
		settle       time.Duration // before it is measured
	}{
		{"50 silent keys", 50, 0, 8 * time.Second},
		{"100 keys", 100, 0, 5 * time.Second},
		{"10000 keys", 10_000, 0, 10 * time.Second},
		{"the first pass over 1000000 keys", 100, 1_000_000, 5 * time.Second},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := servertest.Start(b)
			fillKeys(b, s, c.limiters)
			fillOthers(b, s, c.of)
			if c.name == "100 keys" { // a client writes to one of them all the time, so that none may be left alone
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				client := s.Client()
				go func() {
					for tick := time.Tick(200 * time.Millisecond); ctx.Err() == nil; <-tick {
						client.ZAdd(ctx, "z:0", feedtest.Z(float64(time.Now().UnixMicro()), time.Now().UnixMicro()))
					}
				}()
			}
			time.Sleep(2*time.Second + time.Duration(c.of)*25*time.Microsecond) // its tables grow on for a while
			share := func(d time.Duration) float64 {
				cpu, begun := s.CPU(), time.Now()
				time.Sleep(d)
				return 100 * float64(s.CPU()-cpu) / float64(time.Since(begun))
			}
			alone := share(5 * time.Second)
			run := feedtest.Run(b, feedtest.NewRedis(b, feed.Options{URLs: []string{s.URL()}, MaxKeys: c.limiters,
				Rules: []config.Rule{{Match: "*", Limit: limiter.Limit{Count: 100, Window: 10 * time.Minute}, LimitKnown: true}}}))
			time.Sleep(c.settle)
			told := func() (sum time.Duration) {
				for _, batch := range run.All() {
					sum += batch.Cost.Server
				}
				return sum
			}
			before, mine, begun, scanned := told(), cpu(), time.Now(), run.Last().Sweep.Scanned
			server := share(15 * time.Second)
			over := float64(time.Since(begun))
			b.ReportMetric(server-alone, "%server")
			b.ReportMetric(100*float64(told()-before)/over, "%told")
			b.ReportMetric(100*float64(cpu()-mine)/over, "%here")
			if c.of > 0 {
				b.ReportMetric(float64(run.Last().Sweep.Scanned-scanned)/(over/1e9), "keys/s")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// fillOthers writes n keys that are no limiters.
func fillOthers(b *testing.B, s *servertest.Server, n int) {
	b.Helper()
	ctx := context.Background()
	p := s.Client().Pipeline()
	for i := range n {
		p.Set(ctx, "session:"+strconv.Itoa(i), fmt.Sprintf("%020d", i), 0)
		if p.Len() == 10_000 || i == n-1 {
			if _, err := p.Exec(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
}
