package fire_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

func target(a limiter.Algorithm, count int64, w time.Duration) model.Target {
	return model.Target{Algorithm: a, Limit: limiter.Limit{Count: count, Window: w}, LimitKnown: true, Window: w}
}

// TestFiringShowsInTheReadings fires at a log and sees ZCARD move, and the reading with it.
func TestFiringShowsInTheReadings(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	rule := config.Rule{Match: "api:*", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 3, Window: time.Hour}, LimitKnown: true}
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	r := newRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"api:alice"}, Rules: []config.Rule{rule}, Refresh: 50 * time.Millisecond})
	i := r.Injector(fire.Options{Armed: true, AuditPath: path, Denials: true, Timeout: servertest.Patience})
	run := runSource(t, r)
	servertest.Await(t, "the first reading", func() bool { x, ok := run.Reading("api:alice"); return ok && x.Type == "none" })
	x, _ := run.Reading("api:alice")
	first := time.Now()
	for n := range 4 {
		begun := time.Now()
		outcomes, err := i.Fire(context.Background(), model.Order{Key: "api:alice", Target: mustAim(t, x), Cost: 1, N: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := model.Outcomes{Admitted: 1}
		if n == 3 {
			want = model.Outcomes{Denied: 1}
		}
		if outcomes != want {
			t.Fatalf("order %d: %+v, want %+v", n+1, outcomes, want)
		}
		servertest.Await(t, "the reading to follow", func() bool {
			x, _ := run.Reading("api:alice")
			return used(x) == int64(min(n+1, 3)) && run.Came("api:alice", false) == int64(min(n+1, 3))
		})
		t.Logf("order %d was seen after %v", n+1, time.Since(begun))
	}
	if n := s.CLI("ZCARD", "api:alice"); n != "3" {
		t.Errorf("ZCARD is %s, want 3", n)
	}
	servertest.Await(t, "the denial to be seen", func() bool { return run.Came("api:alice", true) == 1 })
	checkAudit(t, path, time.Since(first))
}

// checkAudit holds the audit file to three admitted requests and a denied one, all sent within a while.
func checkAudit(t *testing.T, path string, within time.Duration) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the audit file has mode %v, want 0600", info.Mode().Perm())
	}
	text, _ := os.ReadFile(path)
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.Contains(line, `"outcome":"begun"`) || strings.Contains(line, `"outcome":"ended"`) {
			if !strings.Contains(line, `"request":""`) {
				t.Errorf("the line of an order is about a request: %s", line)
			}
			continue
		}
		lines = append(lines, line)
	}
	if len(lines) != 8 {
		t.Fatalf("%d audit lines of requests, want two for each of 4", len(lines))
	}
	request := ""
	for n, line := range lines {
		var e struct {
			At, Request, Server, Key, Algorithm, Limit, Outcome, User string
			Cost                                                      int64
			PID                                                       int
			RetryAfterMS                                              *int64 `json:"retry_after_ms"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		outcome := "admitted"
		switch {
		case n%2 == 0:
			outcome = "pending"
		case n == 7:
			outcome = "denied"
			if hour := time.Hour.Milliseconds(); e.RetryAfterMS == nil || *e.RetryAfterMS < hour-within.Milliseconds()-1 || *e.RetryAfterMS > hour {
				t.Errorf("line 8: retry_after_ms %v", e.RetryAfterMS)
			}
		}
		if first := n%2 == 0; e.Request == "" || first == (e.Request == request) {
			t.Errorf("line %d is about request %q, the one before about %q", n+1, e.Request, request)
		}
		request = e.Request
		if e.Outcome != outcome || e.Key != "api:alice" || e.Algorithm != "sliding-log" || e.Limit != "3/1h0m0s" || e.Cost != 1 || e.PID != os.Getpid() || e.User == "" || e.At == "" || !strings.HasPrefix(e.Server, "redis://127.0.0.1") {
			t.Errorf("line %d: %s", n+1, line)
		}
	}
}

// TestACrashLeavesTheIntent kills a program whose request is on the way: the audit file says
// that it was to be sent, and not what came of it.
func TestACrashLeavesTheIntent(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), "FIRE_URL="+s.URL(), "FIRE_AUDIT="+path)
	s.CLI("CLIENT", "PAUSE", "60000", "WRITE") // the request is not answered
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	read := func() string { text, _ := os.ReadFile(path); return string(text) }
	servertest.Await(t, "the intent", func() bool { return strings.Contains(read(), "pending") && strings.HasSuffix(read(), "\n") })
	program.Process.Kill()
	program.Wait()
	if text := read(); strings.Count(text, "\n") != 2 || !strings.Contains(text, `"outcome":"begun"`) || !strings.Contains(text, `"key":"k"`) || !strings.Contains(text, `"outcome":"pending"`) {
		t.Errorf("the audit file holds\n%s", text)
	}
}

// TestKilledInABurst kills a program with SIGKILL in the middle of a burst, at every algorithm: what its
// key holds is at least what the audit file calls admitted and at most what it announces, and the two
// differ by no more than the requests that may be on the wire.
func TestKilledInABurst(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	defer c.Close()
	for _, a := range limiter.Algorithms() {
		for shape, wire := range map[string]int64{"burst": 1, "rate": fire.InFlight} {
			t.Run(a.String()+"/"+shape, func(t *testing.T) {
				count := killedInAnOrder(t, s, a, shape)
				servertest.Await(t, "the server to have read what was sent", func() bool { return !strings.Contains(s.CLI("CLIENT", "LIST"), "name=ratescope-fire") })
				store, err := redisstore.New(c, a, redisstore.WithPrefix(""))
				if err != nil {
					t.Fatal(err)
				}
				d, err := store.Peek(context.Background(), "k", aboutAYear, 0)
				if err != nil {
					t.Fatal(err)
				}
				announced, admitted := count("pending"), count("admitted")
				if d.Used < admitted || d.Used > announced || announced-admitted > wire {
					t.Errorf("the key holds %d, the audit file announces %d and calls %d admitted", d.Used, announced, admitted)
				}
				t.Logf("announced %d, admitted %d, the key holds %d", announced, admitted, d.Used)
			})
		}
	}
}

// killedInAnOrder fires from a program of its own and kills it after a hundred requests. It returns how many
// lines of the audit file have an outcome.
func killedInAnOrder(t *testing.T, s *servertest.Server, a limiter.Algorithm, shape string) (count func(outcome string) int64) {
	t.Helper()
	s.CLI("FLUSHALL")
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), "FIRE_URL="+s.URL(), "FIRE_AUDIT="+path, "FIRE_ALGORITHM="+a.String(), "FIRE_SHAPE="+shape)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		program.Process.Kill()
		program.Wait()
	}()
	count = func(outcome string) int64 {
		text, _ := os.ReadFile(path)
		return int64(strings.Count(string(text), `"outcome":"`+outcome+`"`))
	}
	servertest.Await(t, "a hundred requests", func() bool { return count("admitted") >= 100 })
	return count
}

// aboutAYear is a limit of which nothing comes back while a test runs.
var aboutAYear = limiter.Limit{Count: model.MaxRequests, Window: 8000 * time.Hour}

// fireOnBehalf is the program that tests kill: it fires one request, or an order at FIRE_ALGORITHM.
func fireOnBehalf() error {
	r, err := feed.NewRedis(feed.Options{Watch: everyKey, URLs: []string{os.Getenv("FIRE_URL")}})
	if err != nil {
		return err
	}
	order := model.Order{Key: "k", Target: target(limiter.SlidingLog, 5, time.Minute), Cost: 1, N: 1}
	if name := os.Getenv("FIRE_ALGORITHM"); name != "" {
		a, err := limiter.ParseAlgorithm(name)
		if err != nil {
			return err
		}
		order.Target, order.N = target(a, aboutAYear.Count, aboutAYear.Window), model.MaxRequests
	}
	if os.Getenv("FIRE_SHAPE") == "rate" {
		order.Rate = model.MaxRate
	}
	_, err = r.Injector(fire.Options{Armed: true, AuditPath: os.Getenv("FIRE_AUDIT"), Timeout: time.Hour}).Fire(context.Background(), order, nil)
	return err
}

func mustAim(t *testing.T, r model.Reading) model.Target {
	t.Helper()
	a, err := r.Aim()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestEightInjectorsShareALimit fires 8 × 200 requests at once against a limit of 100.
func TestEightInjectorsShareALimit(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingLog, limiter.SlidingWindow, limiter.StreamCounter} {
		t.Run(a.String(), func(t *testing.T) {
			var all sync.WaitGroup
			var mu sync.Mutex
			var sum model.Outcomes
			for range 8 {
				r := newRedis(t, feed.Options{Watch: everyKey, URLs: []string{s.URL()}})
				i := patient(t, r, filepath.Join(t.TempDir(), "audit"))
				all.Go(func() {
					outcomes, err := i.Fire(context.Background(), model.Order{Key: "k:" + a.String(), Target: target(a, 100, 500*time.Hour), Cost: 1, N: 200}, nil)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					sum.Admitted += outcomes.Admitted
					sum.Denied += outcomes.Denied
				})
			}
			all.Wait()
			if sum.Admitted != 100 || sum.Denied != 1500 {
				t.Errorf("%d admitted and %d denied, want 100 and 1500", sum.Admitted, sum.Denied)
			}
		})
	}
}

// TestFireIsRefused covers what stops an order before the first request.
func TestFireIsRefused(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	r := newRedis(t, feed.Options{Watch: everyKey, URLs: []string{s.URL()}})
	dir := t.TempDir()
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := model.Order{Key: "k", Target: target(limiter.SlidingLog, 5, time.Minute), Cost: 1, N: 1}
	with := func(change func(*model.Order)) model.Order { s := good; change(&s); return s }
	for name, c := range map[string]struct {
		order model.Order
		audit string
		want  string
	}{
		"too many":     {with(func(s *model.Order) { s.N = 10_001 }), "", "10001 requests are out of range"},
		"too fast":     {with(func(s *model.Order) { s.Rate = 1001 }), "", "rate of 1001/s"},
		"no cost":      {with(func(s *model.Order) { s.Cost = 0 }), "", "cost of 0"},
		"no limit":     {with(func(s *model.Order) { s.Target.LimitKnown = false }), "", "limit is not known"},
		"no audit":     {good, filepath.Join(blocked, "audit.jsonl"), "audit file"},
		"no algorithm": {with(func(s *model.Order) { s.Target.Algorithm = limiter.Unknown }), "", "algorithm"},
	} {
		if c.audit == "" {
			c.audit = filepath.Join(dir, "audit")
		}
		i := patient(t, r, c.audit)
		if outcomes, err := i.Fire(context.Background(), c.order, nil); err == nil || !strings.Contains(err.Error(), c.want) || outcomes.Total() != 0 {
			t.Errorf("%s: %+v, error %v, want one about %q", name, outcomes, err, c.want)
		}
	}
	if n := s.CLI("DBSIZE"); n != "0" {
		t.Errorf("the server holds %s keys after refusals", n)
	}
}
