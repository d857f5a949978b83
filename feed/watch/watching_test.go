package watch_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/watch"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// BenchmarkWatching saturates a server on one core and tells how much of its throughput
// is lost to a watcher, beside MONITOR and a subscriber to all notifications.
//
// The speed of a shared machine swings by tens of percent within seconds, so that one watcher
// is lost in the noise. Therefore some watch together, each as if it were alone, and an equal
// part of what they take is told. They are let go on and stopped again and
// again; each watched stretch is compared with the unwatched ones before and after it, and
// the Hodges-Lehmann estimate of these comparisons is told, with its interval of confidence of
// 95 % (by Wilcoxon's signed ranks, which ask only that the noise be symmetric):
//
//	%lost       decisions a second of the server's processor time
//	%lost-wall  decisions a second of the clock
//	%told       what a watcher itself says that it took of the server
//
// A process that was stopped finds some budget saved up, which it spends within the first
// moments of going on: those are left out.
func BenchmarkWatching(b *testing.B) {
	s := servertest.Start(b)
	pin(b, s)
	load := saturate(b, s, 10_000)
	defer load.stop()
	for _, c := range []struct {
		name  string
		turns int
		begin func() *other
	}{
		{"100 keys", 100, func() *other { return watcher(b, s, 8, "k:00*", 100) }},
		{"1000 keys", 100, func() *other { return watcher(b, s, 8, "k:0*", 1000) }},
		{"10000 keys", 100, func() *other { return watcher(b, s, 4, "k:*", 10_000) }},
		{"MONITOR", 15, func() *other { return raw(b, s, "MONITOR\r\n") }},
		{"notifications", 15, func() *other {
			s.CLI("CONFIG", "SET", "notify-keyspace-events", "KEA")
			o := raw(b, s, "PSUBSCRIBE __key*@*__:*\r\n")
			o.end = func() { s.CLI("CONFIG", "SET", "notify-keyspace-events", "") }
			return o
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			o := c.begin()
			o.off()
			lost := compare(load, o, c.turns)
			o.end()
			lost.cpu.report(b, "%lost")
			lost.wall.report(b, "%lost-wall")
			if o.told.Load() > 0 {
				lost.told.report(b, "%told")
			}
			b.ReportMetric(lost.rate, "decisions/s")
			b.ReportMetric(100*lost.idle, "%idle-client-core")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// The lengths of turns: watched ones are whole refreshes.
const (
	left      = 200 * time.Millisecond // out, at the beginning of a watched turn
	watched   = 2 * watch.DefaultRefresh
	unwatched = 300 * time.Millisecond
)

// comparison is what pairs of turns have told of one of those who watch, in percent.
type comparison struct {
	cpu, wall, told sample
	rate, idle      float64 // decisions a second while nothing watches; share of the clients' core
}

// compare lets a watcher run, and stops it, in turns.
func compare(load *load, o *other, turns int) *comparison {
	c := &comparison{}
	var idle, over time.Duration
	before := load.turn(unwatched)
	for range turns {
		o.on()
		time.Sleep(left)
		told, idled, from := o.told.Load(), idleTime(1), time.Now()
		w := load.turn(watched)
		over += time.Since(from)
		idle += idleTime(1) - idled
		c.told = append(c.told, 100*float64(o.told.Load()-told)/float64(time.Since(from))/o.many)
		o.off()
		after := load.turn(unwatched)
		c.cpu = append(c.cpu, 100*(1-2*w.perCPU/(before.perCPU+after.perCPU))/o.many)
		c.wall = append(c.wall, 100*(1-2*w.perClock/(before.perClock+after.perClock))/o.many)
		before = after
	}
	c.rate, c.idle = before.perClock, float64(idle)/float64(over)
	return c
}

// sample is a number of figures that differ by noise.
type sample []float64

// report tells the Hodges-Lehmann estimate, which is the median of the means of all pairs, and
// the bounds of its interval.
func (s sample) report(b *testing.B, unit string) {
	var means []float64
	for i, x := range s {
		for _, y := range s[i:] {
			means = append(means, (x+y)/2)
		}
	}
	slices.Sort(means)
	n, last := float64(len(s)), len(means)-1
	lo := max(int(float64(len(means))/2-1.96*math.Sqrt(n*(n+1)*(2*n+1)/24)), 0)
	b.ReportMetric(means[last/2], unit)
	b.ReportMetric(means[lo], unit+"-lo")
	b.ReportMetric(means[last-lo], unit+"-hi")
}

// pin puts the server on one core and this process, with those that it starts, on another,
// where that can be had.
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

// slidingLog is a limiter as many write it: 60 requests in three seconds. The load keeps each
// key at a third of that, from random instants on, so that every decision is the same work:
// one member comes, one goes.
const slidingLog = `local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 3000000)
if redis.call('ZCARD', KEYS[1]) >= 60 then return 0 end
redis.call('ZADD', KEYS[1], now, now)
redis.call('PEXPIRE', KEYS[1], 3000)
return 1`

// load asks a server for decisions as fast as it answers.
type load struct {
	b         *testing.B
	info      *redis.Client
	conns     []net.Conn
	decisions atomic.Int64
	all       sync.WaitGroup
}

// saturate begins a load about n keys, whose windows are full of requests when it returns.
func saturate(b *testing.B, s *servertest.Server, n int) *load {
	b.Helper()
	const clients, batch, batches = 4, 64, 512
	l := &load{b: b, info: s.Client()}
	sha, err := l.info.ScriptLoad(context.Background(), slidingLog).Result()
	if err != nil {
		b.Fatal(err)
	}
	for range clients {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			b.Fatal(err)
		}
		l.conns = append(l.conns, conn)
		l.all.Go(func() {
			// What is sent is made beforehand: this core is for the watcher, too.
			var requests [batches][]byte
			for i := range requests {
				for range batch {
					requests[i] = fmt.Appendf(requests[i], "*4\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$6\r\nk:%04d\r\n", sha, rand.IntN(n))
				}
			}
			answers := make([]byte, batch*len(":1\r\n"))
			for i := 0; ; i = (i + 1) % batches {
				if _, err := conn.Write(requests[i]); err != nil {
					return
				}
				if _, err := io.ReadFull(conn, answers); err != nil {
					return
				}
				l.decisions.Add(batch)
			}
		})
	}
	time.Sleep(4 * time.Second)
	return l
}

func (l *load) stop() {
	for _, c := range l.conns {
		c.Close()
	}
	l.all.Wait()
}

// turn is what came of a stretch of time.
type turn struct{ perCPU, perClock float64 }

func (l *load) turn(d time.Duration) turn {
	cpu, n, begun := l.cpu(), l.decisions.Load(), time.Now()
	time.Sleep(d)
	made, took := float64(l.decisions.Load()-n), time.Since(begun)
	return turn{perCPU: made / (l.cpu() - cpu).Seconds(), perClock: made / took.Seconds()}
}

// cpu is the processor time that the server has taken.
func (l *load) cpu() time.Duration {
	text, err := l.info.Info(context.Background(), "cpu").Result()
	if err != nil {
		l.b.Fatal(err)
	}
	return servertest.CPUOf(text)
}

// other is another program that watches the server.
type other struct {
	many         float64 // how many they are
	on, off, end func()
	told         atomic.Int64 // of the server's time, by its own account, in ns
	passes       atomic.Int64 // of the search for limiters
	pid          int          // of watcher
}

// watcher runs sources in a process of their own, as users would, which can be stopped and
// let go on: as many as are asked for. It is returned when they have read all of their n keys.
func watcher(b *testing.B, s *servertest.Server, many int, pattern string, n int) *other {
	b.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "WATCH_URL="+s.URL(), "WATCH_PATTERN="+pattern, fmt.Sprint("WATCHERS=", many))
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	o := &other{
		many: float64(many), pid: c.Process.Pid,
		on:  func() { c.Process.Signal(syscall.SIGCONT) },
		off: func() { c.Process.Signal(syscall.SIGSTOP) },
		end: func() { c.Process.Kill(); c.Wait() },
	}
	ready := make(chan struct{})
	begun := time.Now()
	go func() {
		ready := sync.OnceFunc(func() { close(ready) })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var keys int
			var told, passes int64
			if k, _ := fmt.Sscanf(lines.Text(), "%d keys, %d ns, %d passes", &keys, &told, &passes); k == 3 {
				o.told.Store(told)
				o.passes.Store(passes)
				if keys >= n || time.Since(begun) > 40*time.Second {
					ready()
				}
			}
		}
		ready()
	}()
	<-ready
	b.Logf("%d keys were read within %v", n, time.Since(begun).Round(100*time.Millisecond))
	time.Sleep(3 * time.Second) // the first pass may cost more
	return o
}

// watchOnBehalf is the process of watcher: as many sources as WATCHERS says.
func watchOnBehalf() error {
	many, err := strconv.Atoi(os.Getenv("WATCHERS"))
	if err != nil {
		return err
	}
	var screen []string
	for i := range 40 {
		screen = append(screen, fmt.Sprintf("k:%04d", i))
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	told, read := time.Duration(0), 0
	for range many {
		r, err := feed.NewRedis(feed.Options{URLs: []string{os.Getenv("WATCH_URL")}, Watch: []string{os.Getenv("WATCH_PATTERN")},
			Rules: []config.Rule{{Match: "*", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 60, Window: 3 * time.Second}, LimitKnown: true}}})
		if err != nil {
			return err
		}
		r.Focus(screen)
		seen := make(map[string]bool)
		all.Go(func() {
			r.Run(context.Background(), func(batch model.Batch) {
				mu.Lock()
				defer mu.Unlock()
				for _, x := range batch.Readings {
					if !seen[x.Key] {
						seen[x.Key] = true
						read++
					}
				}
				told += batch.Cost.Server
				fmt.Printf("%d keys, %d ns, %d passes\n", read/many, told.Nanoseconds(), batch.Sweep.Passes)
			})
		})
	}
	all.Wait()
	return nil
}

// raw sends a command on a connection of its own, and reads whatever comes.
func raw(b *testing.B, s *servertest.Server, command string) *other {
	hang := func() {}
	return &other{
		many: 1,
		on: func() {
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				b.Fatal(err)
			}
			fmt.Fprint(c, command)
			done := make(chan struct{})
			go func() { io.Copy(io.Discard, c); close(done) }()
			hang = func() { c.Close(); <-done }
		},
		off: func() { hang(); hang = func() {} },
		end: func() {},
	}
}
