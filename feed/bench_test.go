package feed_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/rules"
	"ratescope/feed/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// pin puts the server on one core and this process on another, where that can be had.
func pin(b *testing.B, s *servertest.Server) {
	b.Helper()
	if _, err := exec.LookPath("taskset"); err != nil {
		b.Log("taskset is not installed: the server shares its core")
		return
	}
	for core, pid := range []int{s.PID(), os.Getpid()} {
		if out, err := exec.Command("taskset", "-acp", strconv.Itoa(core), strconv.Itoa(pid)).CombinedOutput(); err != nil {
			b.Logf("taskset: %v: %s", err, out)
		}
	}
}

// slidingLog is a limiter as many write it: 20 requests in ten seconds.
const slidingLog = `local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 10000000)
if redis.call('ZCARD', KEYS[1]) >= 20 then return 0 end
redis.call('ZADD', KEYS[1], now, now)
redis.call('PEXPIRE', KEYS[1], 10000)
return 1`

// saturate asks a server for decisions about n keys as fast as it answers, until ctx ends.
func saturate(ctx context.Context, b *testing.B, s *servertest.Server, n int) *sync.WaitGroup {
	b.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2, PoolSize: 4})
	sha, err := c.ScriptLoad(ctx, slidingLog).Result()
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				p := c.Pipeline()
				for range 64 {
					p.EvalSha(ctx, sha, []string{fmt.Sprintf("k:%04d", rand.IntN(n))})
				}
				p.Exec(ctx)
			}
		})
	}
	context.AfterFunc(ctx, func() { c.Close() })
	return &all
}

// yield is how many decisions a server makes in a stretch of time: a second of the clock,
// and a second of its processor, which other work on the machine does not disturb.
type yield struct{ wall, cpu float64 }

func measure(b *testing.B, s *servertest.Server, d time.Duration) yield {
	b.Helper()
	calls := func() float64 {
		_, rest, _ := strings.Cut(s.CLI("INFO", "commandstats"), "cmdstat_evalsha:calls=")
		n, err := strconv.ParseFloat(strings.SplitN(rest, ",", 2)[0], 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	n, cpu, at := calls(), s.CPU(), time.Now()
	time.Sleep(d)
	n = calls() - n
	return yield{n / time.Since(at).Seconds(), n / (s.CPU() - cpu).Seconds()}
}

// BenchmarkWatching saturates a server on one core and tells how much of its throughput
// is lost to whoever watches it, beside MONITOR and a subscriber to all notifications.
// Each figure stands between two measurements without anybody, so that drift cancels out.
func BenchmarkWatching(b *testing.B) {
	const slice, turns = 2 * time.Second, 3
	s := servertest.Start(b)
	pin(b, s)
	ctx, cancel := context.WithCancel(context.Background())
	load := saturate(ctx, b, s, 10_000)
	defer load.Wait()
	defer cancel()
	time.Sleep(3 * time.Second) // the logs fill up
	watch := func(pattern string, n int) func() func() {
		return func() func() {
			r, err := feed.NewRedis(feed.Options{URLs: []string{s.URL()}, Watch: []string{pattern},
				Rules: []rules.Rule{{Match: "*", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 20, Window: 10 * time.Second}, LimitKnown: true}}})
			if err != nil {
				b.Fatal(err)
			}
			var screen []string
			for i := range 40 {
				screen = append(screen, fmt.Sprintf("k:%04d", i))
			}
			r.Focus(screen)
			ctx, cancel := context.WithCancel(ctx)
			seen := make(map[string]bool)
			ready, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				r.Run(ctx, func(batch model.Batch) {
					for _, x := range batch.Readings {
						if seen[x.Key] = true; len(seen) == n && ready != nil {
							close(ready)
							ready = nil
						}
					}
				})
			}()
			select {
			case <-ready:
			case <-time.After(time.Minute):
				b.Errorf("of %d keys that match %s not all were read within a minute", n, pattern)
			}
			time.Sleep(2 * time.Second) // what was saved up for the first pass is spent
			return func() { cancel(); <-ended; r.Close() }
		}
	}
	for _, c := range []struct {
		name  string
		begin func() func()
	}{
		{"100 keys", watch("k:00*", 100)},
		{"1000 keys", watch("k:0*", 1000)},
		{"10000 keys", watch("k:*", 10_000)},
		{"MONITOR", func() func() { return listenRaw(b, s, "MONITOR\r\n") }},
		{"notifications", func() func() {
			s.CLI("CONFIG", "SET", "notify-keyspace-events", "KEA")
			end := listenRaw(b, s, "PSUBSCRIBE __key*@*__:*\r\n")
			return func() { end(); s.CLI("CONFIG", "SET", "notify-keyspace-events", "") }
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var wall, cpu []float64
			before := measure(b, s, slice)
			for range turns {
				end := c.begin()
				with := measure(b, s, slice)
				end()
				after := measure(b, s, slice)
				wall = append(wall, 100*(1-with.wall/((before.wall+after.wall)/2)))
				cpu = append(cpu, 100*(1-with.cpu/((before.cpu+after.cpu)/2)))
				before = after
			}
			slices.Sort(wall)
			slices.Sort(cpu)
			b.ReportMetric(before.wall, "decisions/s")
			b.ReportMetric(wall[turns/2], "%lost")
			b.ReportMetric(cpu[turns/2], "%lost/cpu")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// listenRaw sends a command and reads whatever comes, until it is told to end.
func listenRaw(b *testing.B, s *servertest.Server, command string) func() {
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprint(c, command)
	done := make(chan struct{})
	go func() { io.Copy(io.Discard, c); close(done) }()
	return func() { c.Close(); <-done }
}

// BenchmarkDelay tells how long it takes from a request to its appearance in a batch, at
// the default refresh, for keys on screen: polled, told by notifications, and streams.
func BenchmarkDelay(b *testing.B) {
	for _, c := range []struct{ name, events string }{{"polled", ""}, {"notified", "KA"}} {
		b.Run(c.name, func(b *testing.B) {
			s := servertest.Start(b, "--notify-keyspace-events", c.events)
			delays := measureDelays(b, s, 200)
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

// measureDelays sends n requests each at a log, a counter and a stream.
func measureDelays(b *testing.B, s *servertest.Server, n int) map[string][]time.Duration {
	b.Helper()
	c := s.Client()
	ctx, cancel := context.WithCancel(context.Background())
	limit := limiter.Limit{Count: 1_000_000, Window: time.Minute}
	kinds := map[string]limiter.Algorithm{"log": limiter.SlidingLog, "counter": limiter.SlidingWindow, "stream": limiter.StreamCounter}
	fire := make(map[string]func())
	var list []rules.Rule
	for kind, a := range kinds {
		l, err := limiter.NewRedis(c, a)
		if err != nil {
			b.Fatal(err)
		}
		fire[kind] = func() {
			if _, err := l.AllowN(ctx, kind, limit, 1); err != nil {
				b.Error(err)
			}
		}
		fire[kind]()
		list = append(list, rules.Rule{Match: kind, Algorithm: a, Limit: limit, LimitKnown: true})
	}
	r, err := feed.NewRedis(feed.Options{URLs: []string{s.URL()}, Rules: list})
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
				time.Sleep(time.Duration(40+rand.IntN(150)) * time.Millisecond)
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
