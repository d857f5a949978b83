package watch_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// BenchmarkRecovery tells how long it takes from the moment at which a server can be reached
// again to the first batch that says so, after it was killed, frozen, and cut off.
func BenchmarkRecovery(b *testing.B) {
	const times = 5
	for _, c := range []struct {
		name       string
		away, back func(*servertest.Server, *servertest.Proxy)
	}{
		{"killed", func(s *servertest.Server, _ *servertest.Proxy) { s.Kill() }, func(s *servertest.Server, _ *servertest.Proxy) { s.Start() }},
		{"frozen", func(s *servertest.Server, _ *servertest.Proxy) { s.Freeze() }, func(s *servertest.Server, _ *servertest.Proxy) { s.Thaw() }},
		{"cut off", func(_ *servertest.Server, p *servertest.Proxy) {
			p.Set(func(p *servertest.Proxy) { p.Drop = true })
			p.HangUp()
		},
			func(_ *servertest.Server, p *servertest.Proxy) { p.Set(func(*servertest.Proxy) {}); p.HangUp() }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := servertest.Start(b)
			p := servertest.StartProxy(b, s.Addr())
			defer p.Close()
			url := "redis://" + p.Listener.Addr().String()
			run := feedtest.Run(b, feedtest.NewRedis(b, feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}}))
			link := func(l model.Link) func() bool { return func() bool { return run.Last().Server.Link == l } }
			servertest.Await(b, "the link", link(model.Live))
			var took []time.Duration
			for range times {
				c.away(s, p)
				servertest.Await(b, "the loss", link(model.Down))
				time.Sleep(3 * time.Second) // the waits between attempts are as long as they get
				c.back(s, p)
				since := time.Now()
				servertest.Await(b, "the link", link(model.Live))
				took = append(took, time.Since(since))
			}
			run.Stop()
			slices.Sort(took)
			b.ReportMetric(float64(took[times/2])/1e6, "p50-ms")
			b.ReportMetric(float64(took[times-1])/1e6, "most-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkDelay tells how long it takes from a request to its appearance in a batch, at
// the default refresh, for keys on screen: polled, told by notifications, and streams.
func BenchmarkDelay(b *testing.B) {
	for _, c := range []struct{ name, events string }{{"polled", ""}, {"notified", "KA"}} {
		b.Run(c.name, func(b *testing.B) {
			s := servertest.Start(b, "--notify-keyspace-events", c.events)
			delays := measureDelays(b, s, s.URL(), 200, 40, 190)
			for _, kind := range []string{"log", "counter", "stream"} {
				d := delays[kind]
				slices.Sort(d)
				b.ReportMetric(float64(d[len(d)/2])/1e6, kind+"-p50-ms")
				b.ReportMetric(float64(d[len(d)*99/100])/1e6, kind+"-p99-ms")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkDelayAfterSilence tells the same of the first request after seconds in which nothing
// was written, of one kind of key at a time: where the server tells of writes, and where the user
// may not be told.
func BenchmarkDelayAfterSilence(b *testing.B) {
	for _, c := range []struct{ name, url string }{{"told", "redis://"}, {"asking", "redis://eye:pw@"}} {
		b.Run(c.name, func(b *testing.B) {
			s := servertest.Start(b)
			s.CLI("ACL", "SETUSER", "eye", "on", ">pw", "~*", "&*", "+@all", "-client|tracking")
			for _, kind := range []string{"log", "counter"} {
				d := measureDelays(b, s, c.url+s.Addr(), 8, 3000, 3400, kind)[kind]
				slices.Sort(d)
				b.ReportMetric(float64(d[len(d)/2])/1e6, kind+"-p50-ms")
				b.ReportMetric(float64(d[len(d)-1])/1e6, kind+"-most-ms")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// measureDelays sends n requests each at a log, a counter and a stream, or those of them that
// are named, with pauses between the two lengths in milliseconds.
func measureDelays(b *testing.B, s *servertest.Server, url string, n, shortest, longest int, only ...string) map[string][]time.Duration {
	b.Helper()
	c := s.Client()
	ctx, cancel := context.WithCancel(context.Background())
	limit := limiter.Limit{Count: 1_000_000, Window: time.Minute}
	kinds := map[string]limiter.Algorithm{"log": limiter.SlidingLog, "counter": limiter.SlidingWindow, "stream": limiter.StreamCounter}
	if len(only) > 0 {
		maps.DeleteFunc(kinds, func(k string, _ limiter.Algorithm) bool { return !slices.Contains(only, k) })
	}
	fire := make(map[string]func())
	var list []config.Rule
	for kind, a := range kinds {
		l, err := redisstore.New(c, a, redisstore.WithPrefix(""))
		if err != nil {
			b.Fatal(err)
		}
		fire[kind] = func() {
			if _, err := l.AllowN(ctx, kind, limit, 1); err != nil {
				b.Error(err)
			}
		}
		fire[kind]()
		list = append(list, config.Rule{Match: kind, Algorithm: a, Limit: limit, LimitKnown: true})
	}
	r, err := feed.NewRedis(feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}, Rules: list})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	r.Focus([]string{"log", "counter", "stream"})
	seen := map[string]chan time.Time{}
	for kind := range kinds {
		seen[kind] = make(chan time.Time, 64)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx, func(batch model.Batch) {
			now := time.Now()
			for _, x := range batch.Readings {
				if len(x.Arrivals) > 0 && x.Since != 0 {
					seen[x.Key] <- now
				}
			}
		})
	}()
	time.Sleep(time.Second) // found and read once
	delays := make(map[string][]time.Duration)
	var mu sync.Mutex
	var all sync.WaitGroup
	for kind := range kinds {
		all.Go(func() {
			for i := range n + 3 { // the first few prove notifications
				time.Sleep(time.Duration(shortest+rand.IntN(longest-shortest)) * time.Millisecond)
				at := time.Now()
				fire[kind]()
				select {
				case then := <-seen[kind]:
					if i >= 3 {
						mu.Lock()
						delays[kind] = append(delays[kind], then.Sub(at))
						mu.Unlock()
					}
				case <-time.After(5 * time.Second):
					b.Errorf("a request at the %s was never seen", kind)
					return
				}
			}
		})
	}
	all.Wait()
	cancel()
	<-ended
	return delays
}
