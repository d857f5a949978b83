package watch_test

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
	"sync"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/model"
)

// The load of BenchmarkOthersLatency and its slices.
const (
	othersRate   = 5000 // requests a second
	othersConns  = 16
	othersKeys   = 100
	searchedKeys = 1_000_000
	slice        = 2500 * time.Millisecond
	settling     = 500 * time.Millisecond // left out at the beginning of a slice: a stopped watcher has budget saved up
	sliced       = 32                     // slices with the search
	tenth        = 100 * time.Millisecond // the part of a slice that has percentiles of its own
	fewTenths    = 5                      // so many are needed of a slice
)

// BenchmarkOthersLatency tells how much longer the requests of others take while a server of a million
// keys is searched for limiters. The search begins on an idle server; then 5,000 decisions a second
// are sent, at random instants and whether or not those before were answered, and the process that
// searches is stopped and let go on every two and a half seconds:
//
//	go test ./feed/watch -run '^$' -bench OthersLatency -benchtime 1x -timeout 20m
//
// The server has a core to itself, and this process and the watcher share another, on which the
// watcher runs when nothing else does: as on machines of their own, it does not make those who send
// requests wait, but by what it does to the server. Tenths of a second in which the host of a virtual
// machine took a core away are left out; %calm is the share of the others. Each slice with the search
// is compared with those before and after it; %p99 is the Hodges-Lehmann estimate with its interval of 95 %.
func BenchmarkOthersLatency(b *testing.B) {
	s := servertest.Start(b, "--enable-debug-command", "yes")
	s.CLI("DEBUG", "POPULATE", strconv.Itoa(searchedKeys), "item", "16")
	pin(b, s)
	for _, pid := range []int{s.PID(), os.Getpid()} {
		hurry(b, pid)
	}
	for b.Loop() {
		o := watcher(b, s, 1, "*", 0)
		adjust(b, "chrt", "--idle", "-a", "-p", "0", strconv.Itoa(o.pid))
		l := sendOpenly(b, s)
		o.off()
		var p50, p99 [2][]time.Duration // without the search, and with it
		var more [2]sample              // percent, of the medians and of the 99th percentiles
		calm := 0                       // tenths of a second
		take := func(i int) (mid, high time.Duration) {
			time.Sleep(settling)
			mid, high, tenths := l.slice(slice - settling)
			calm += tenths
			if tenths < fewTenths {
				return 0, 0
			}
			p50[i], p99[i] = append(p50[i], mid), append(p99[i], high)
			return mid, high
		}
		midBefore, highBefore := take(0)
		for range sliced {
			o.on()
			mid, high := take(1)
			o.off()
			midAfter, highAfter := take(0)
			if min(high, highBefore, highAfter) > 0 {
				more[0] = append(more[0], 100*(2*float64(mid)/float64(midBefore+midAfter)-1))
				more[1] = append(more[1], 100*(2*float64(high)/float64(highBefore+highAfter)-1))
			}
			midBefore, highBefore = midAfter, highAfter
		}
		b.ReportMetric(100*float64(calm)/float64((2*sliced+1)*((slice-settling)/tenth)), "%calm")
		b.ReportMetric(float64(len(more[1])), "compared")
		if o.passes.Load() > 0 {
			b.Error("the search was over before the last slice")
		}
		o.end()
		l.stop()
		if len(more[1]) == 0 {
			b.Fatal("the host of this machine left no slice whole to compare with those beside it")
		}
		for i, name := range [...]string{"off", "on"} {
			slices.Sort(p50[i])
			slices.Sort(p99[i])
			b.Logf("search %s: median %v (%v to %v), p99 %v (%v to %v)", name,
				p50[i][len(p50[i])/2], p50[i][0], p50[i][len(p50[i])-1], p99[i][len(p99[i])/2], p99[i][0], p99[i][len(p99[i])-1])
			b.ReportMetric(float64(p99[i][len(p99[i])/2].Microseconds()), "µs-p99-"+name)
		}
		more[0].report(b, "%p50")
		more[1].report(b, "%p99")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkMillionKeys tells how long the first search of a million keys takes on a server that no
// other client uses, and what it takes of the server meanwhile.
func BenchmarkMillionKeys(b *testing.B) {
	s := servertest.Start(b, "--enable-debug-command", "yes")
	s.CLI("DEBUG", "POPULATE", strconv.Itoa(searchedKeys), "item", "16")
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		begun, before := time.Now(), s.CPU()
		if err := feedtest.NewRedis(b, feed.Options{URLs: []string{s.URL()}}).Run(ctx, func(batch model.Batch) {
			if batch.Sweep.Passes > 0 {
				cancel()
			}
		}); err != nil {
			b.Fatal(err)
		}
		took := time.Since(begun)
		b.ReportMetric(took.Seconds(), "s-first-pass")
		b.ReportMetric(100*float64(s.CPU()-before)/float64(took), "%server")
	}
	b.ReportMetric(0, "ns/op")
}

// adjust runs a program that changes how processes are scheduled, and says where it cannot.
func adjust(b *testing.B, name string, args ...string) {
	b.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		b.Logf("%s %v: %v: %s", name, args, err, out)
	}
}

// hurry lets all threads of a process run before others, where that is allowed.
func hurry(b *testing.B, pid int) {
	b.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		b.Log(err)
		return
	}
	args := []string{"-n", "-20", "-p"}
	for _, t := range threads {
		args = append(args, t.Name())
	}
	adjust(b, "renice", args...)
}

// openLoad sends decisions at random instants, at a rate that does not depend on the answers.
type openLoad struct {
	conns []net.Conn
	all   sync.WaitGroup

	mu   sync.Mutex
	took []time.Duration // of the requests of this tenth of a second
}

// sendOpenly begins the load.
func sendOpenly(b *testing.B, s *servertest.Server) *openLoad {
	b.Helper()
	sha := s.CLI("SCRIPT", "LOAD", slidingLog)
	l := &openLoad{}
	for range othersConns {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			b.Fatal(err)
		}
		l.conns = append(l.conns, conn)
		l.all.Go(func() { l.send(conn, sha) })
	}
	return l
}

// send sends one connection's part of the load until it is closed. What a request takes counts from
// when it was to be sent, or from when this process woke up to send it, if nothing else was late.
func (l *openLoad) send(conn net.Conn, sha string) {
	answer := make([]byte, len(":1\r\n"))
	var request []byte
	for due := time.Now(); ; {
		due = due.Add(time.Duration(rand.ExpFloat64() * float64(time.Second) * othersConns / othersRate))
		from := due
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
			from = time.Now()
		}
		request = fmt.Appendf(request[:0], "*4\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$6\r\nk:%04d\r\n", sha, rand.IntN(othersKeys))
		if _, err := conn.Write(request); err != nil {
			return
		}
		if _, err := io.ReadFull(conn, answer); err != nil {
			return
		}
		took := time.Since(from)
		l.mu.Lock()
		l.took = append(l.took, took)
		l.mu.Unlock()
	}
}

// slice returns the median and the 99th percentile of what requests take in a tenth of a second, the
// medians of all tenths in which the host took no core away, and how many these were in that time.
func (l *openLoad) slice(d time.Duration) (mid, high time.Duration, calm int) {
	var mids, highs []time.Duration
	l.take()
	stolen := stolenTime()
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(tenth)
		took, was := l.take(), stolen
		if stolen = stolenTime(); len(took) > 0 && stolen == was {
			slices.Sort(took)
			mids, highs = append(mids, took[len(took)/2]), append(highs, took[len(took)*99/100])
		}
	}
	if calm = len(mids); calm == 0 {
		return 0, 0, 0
	}
	slices.Sort(mids)
	slices.Sort(highs)
	return mids[calm/2], highs[calm/2], calm
}

// take returns what the requests took since the call before.
func (l *openLoad) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	took := l.took
	l.took = nil
	return took
}

func (l *openLoad) stop() {
	for _, c := range l.conns {
		c.Close()
	}
	l.all.Wait()
}
