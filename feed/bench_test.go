package feed_test

import (
	"bufio"
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
	"syscall"
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

// yield is how many decisions a server makes a second of its processor's time, which
// other work on the machine disturbs less than a second of the clock.
func yield(b *testing.B, s *servertest.Server, d time.Duration) float64 {
	b.Helper()
	decisions := func() float64 {
		_, rest, _ := strings.Cut(s.CLI("INFO", "commandstats"), "cmdstat_evalsha:calls=")
		n, err := strconv.ParseFloat(strings.SplitN(rest, ",", 2)[0], 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	n, cpu := decisions(), s.CPU()
	time.Sleep(d)
	return (decisions() - n) / (s.CPU() - cpu).Seconds()
}

// BenchmarkWatching saturates a server on one core and tells how much of its throughput
// is lost to whoever watches it, beside MONITOR and a subscriber to all notifications. The
// watcher is stopped and let go on again and again, and each stretch is compared with those
// before and after it. While it stands still it saves budget, which it spends when it goes
// on, so that the figures are higher than those of one that watches all the time.
func BenchmarkWatching(b *testing.B) {
	const with, without, turns = 1500 * time.Millisecond, 800 * time.Millisecond, 7
	s := servertest.Start(b)
	pin(b, s)
	ctx, cancel := context.WithCancel(context.Background())
	load := saturate(ctx, b, s, 10_000)
	defer load.Wait()
	defer cancel()
	time.Sleep(3 * time.Second) // the logs fill up
	for _, c := range []struct {
		name  string
		begin func() (on, off, end func())
	}{
		{"100 keys", func() (on, off, end func()) { return watcher(b, s, "k:00*", 100) }},
		{"1000 keys", func() (on, off, end func()) { return watcher(b, s, "k:0*", 1000) }},
		{"10000 keys", func() (on, off, end func()) { return watcher(b, s, "k:*", 10_000) }},
		{"MONITOR", func() (on, off, end func()) { return raw(b, s, "MONITOR\r\n") }},
		{"notifications", func() (on, off, end func()) {
			s.CLI("CONFIG", "SET", "notify-keyspace-events", "KEA")
			on, off, _ = raw(b, s, "PSUBSCRIBE __key*@*__:*\r\n")
			return on, off, func() { s.CLI("CONFIG", "SET", "notify-keyspace-events", "") }
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			on, off, end := c.begin()
			var lost []float64
			off()
			before := yield(b, s, without)
			for range turns {
				on()
				time.Sleep(200 * time.Millisecond)
				watched := yield(b, s, with)
				off()
				after := yield(b, s, without)
				lost = append(lost, 100*(1-watched/((before+after)/2)))
				before = after
			}
			end()
			slices.Sort(lost)
			b.ReportMetric(before, "decisions/s")
			b.ReportMetric(lost[turns/4], "%lost-p25")
			b.ReportMetric(lost[turns/2], "%lost")
			b.ReportMetric(lost[turns*3/4], "%lost-p75")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// watcher runs a source in a process of its own, as a user would, which can be stopped and
// let go on.
func watcher(b *testing.B, s *servertest.Server, pattern string, n int) (on, off, end func()) {
	b.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^TestWatchOnBehalf$", "-test.v")
	c.Env = append(os.Environ(), "WATCH_URL="+s.URL(), "WATCH_PATTERN="+pattern, fmt.Sprint("WATCH_KEYS=", n))
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "keys read") {
			b.Log(lines.Text())
			break
		}
	}
	return func() { c.Process.Signal(syscall.SIGCONT) },
		func() { c.Process.Signal(syscall.SIGSTOP) },
		func() { c.Process.Kill(); c.Wait() }
}

// TestWatchOnBehalf is the process of watcher; it is no test.
func TestWatchOnBehalf(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("WATCH_KEYS"))
	if err != nil {
		t.Skip("is the watcher of BenchmarkWatching")
	}
	r := newRedis(t, feed.Options{URLs: []string{os.Getenv("WATCH_URL")}, Watch: []string{os.Getenv("WATCH_PATTERN")},
		Rules: []rules.Rule{{Match: "*", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 20, Window: 10 * time.Second}, LimitKnown: true}}})
	var screen []string
	for i := range 40 {
		screen = append(screen, fmt.Sprintf("k:%04d", i))
	}
	r.Focus(screen)
	seen := make(map[string]bool)
	begun, told := time.Now(), false
	r.Run(context.Background(), func(batch model.Batch) {
		for _, x := range batch.Readings {
			seen[x.Key] = true
		}
		if all := len(seen) == n; !told && (all || time.Since(begun) > 40*time.Second) {
			told = true
			fmt.Printf("%d of %d keys read after %v\n", len(seen), n, time.Since(begun).Round(100*time.Millisecond))
		}
	})
}

// raw sends a command on a connection of its own, and reads whatever comes.
func raw(b *testing.B, s *servertest.Server, command string) (on, off, end func()) {
	end = func() {}
	on = func() {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprint(c, command)
		done := make(chan struct{})
		go func() { io.Copy(io.Discard, c); close(done) }()
		end = func() { c.Close(); <-done }
	}
	return on, func() { end(); end = func() {} }, func() {}
}

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
			run := runSource(b, newRedis(b, feed.Options{URLs: []string{"redis://" + p.Listener.Addr().String()}}))
			link := func(l model.Link) func() bool { return func() bool { return run.last().Server.Link == l } }
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
			run.stop()
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
