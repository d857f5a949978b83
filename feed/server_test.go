package feed

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// server is a redis-server of the test's own.
type server struct {
	t    testing.TB
	port int
	args []string
	dir  string
	cmd  *exec.Cmd
	log  *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func needRedis(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("RATESCOPE_REQUIRE_REDIS") != "" {
			t.Fatal("redis-server is not installed: run make test, which installs it")
		}
		t.Skip("SKIPPED: redis-server is not installed, so nothing was tested on a real server")
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	needRedis(t)
	s := &server{t: t, port: freePort(t), args: args, dir: t.TempDir()}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *server) start() {
	s.t.Helper()
	s.log = &lockedBuffer{}
	args := append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.dir}, s.args...)
	s.cmd = exec.Command("redis-server", args...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	within(s.t, 10*time.Second, "the server to listen", func() bool {
		c, err := net.DialTimeout("tcp", s.addr(), time.Second)
		if err != nil {
			return false
		}
		defer c.Close()
		fmt.Fprintf(c, "PING\r\n")
		c.SetReadDeadline(time.Now().Add(time.Second))
		line, err := bufio.NewReader(c).ReadString('\n')
		return err == nil && !strings.Contains(line, "LOADING")
	})
}

func (s *server) kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.cmd = nil
}

func (s *server) addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }
func (s *server) url() string  { return "redis://" + s.addr() }

// cli runs redis-cli, so that data is written by no code of ours.
func (s *server) cli(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("redis-cli", append([]string{"-p", strconv.Itoa(s.port)}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("redis-cli %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// ask is cli for a server that may hang up, as one does that changes its role.
func (s *server) ask(args ...string) string {
	out, err := exec.Command("redis-cli", append([]string{"-p", strconv.Itoa(s.port)}, args...)...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func (s *server) client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.addr(), Protocol: 2})
	s.t.Cleanup(func() { c.Close() })
	return c
}

// now is the server's clock.
func (s *server) now() limiter.Instant {
	f := strings.Fields(s.cli("TIME"))
	sec, _ := strconv.ParseInt(f[0], 10, 64)
	us, _ := strconv.ParseInt(f[1], 10, 64)
	return limiter.Instant(sec*1e6 + us)
}

// within polls a condition until it holds.
func within(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(d)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", d, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// running is a source that runs, with what it emitted.
type running struct {
	t       testing.TB
	mu      sync.Mutex
	batches []model.Batch
	latest  map[string]model.Reading
	arrived map[string]map[bool]int64 // key → denied → units
	gone    []string
	cancel  context.CancelFunc
	done    chan error
}

func runSource(t testing.TB, s Source) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, latest: map[string]model.Reading{}, arrived: map[string]map[bool]int64{}, cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- s.Run(ctx, func(b model.Batch) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.batches = append(r.batches, b)
			for _, x := range b.Readings {
				r.latest[x.Key] = x
				if r.arrived[x.Key] == nil {
					r.arrived[x.Key] = map[bool]int64{}
				}
				for _, a := range x.Arrivals {
					r.arrived[x.Key][a.Denied] += a.N
				}
			}
			r.gone = append(r.gone, b.Gone...)
		})
	}()
	t.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	r.cancel()
	select {
	case err := <-r.done:
		r.done <- err
		if err != nil {
			r.t.Errorf("Run returned %v", err)
		}
	case <-time.After(5 * time.Second):
		r.t.Error("Run did not return within 5 s of its context's end")
	}
}

func (r *running) last() model.Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.batches) == 0 {
		return model.Batch{}
	}
	return r.batches[len(r.batches)-1]
}

func (r *running) reading(key string) (model.Reading, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.latest[key]
	return x, ok
}

func (r *running) came(key string, denied bool) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived[key][denied]
}

func newRedis(t testing.TB, o Options) *Redis {
	t.Helper()
	r, err := NewRedis(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func once(t testing.TB, o Options) (model.Batch, map[string]model.Reading) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	b, err := Once(ctx, newRedis(t, o))
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]model.Reading{}
	for _, r := range b.Readings {
		if _, twice := m[r.Key]; twice {
			t.Errorf("two readings of %q in one batch", r.Key)
		}
		m[r.Key] = r
	}
	return b, m
}

func xadd(key, count string) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: key, Values: []string{"count", count}}
}

// cpu returns the processor time that the server has taken, by its own account.
func (s *server) cpu() time.Duration {
	s.t.Helper()
	f := parseInfo(s.cli("INFO", "cpu"))
	user, _ := strconv.ParseFloat(f["used_cpu_user"], 64)
	sys, _ := strconv.ParseFloat(f["used_cpu_sys"], 64)
	return time.Duration((user + sys) * float64(time.Second))
}

func zed(score float64, member any) redis.Z { return redis.Z{Score: score, Member: member} }
