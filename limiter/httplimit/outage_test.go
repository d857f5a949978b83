package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/httplimit"
	"ratescope/limiter/redisstore"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

const (
	perAddress = 40
	perUser    = 25
	// longest is the bound of a request while Redis is away and the timeout is 50 ms: a timeout and what a
	// busy machine adds, and less than the three seconds after which the client itself gives up.
	longest = 2 * time.Second
)

// api is a service with a limit for an address and one for a user on a Redis server behind a proxy.
type api struct {
	*httplimit.Middleware
	store  *redisstore.Store
	server *servertest.Server
	proxy  *servertest.Proxy

	mu       sync.Mutex
	codes    map[int]int
	admitted map[string]int
	slowest  time.Duration
}

func startAPI(t *testing.T, c httplimit.Config) *api {
	t.Helper()
	server := servertest.Start(t)
	a := &api{server: server, proxy: servertest.StartProxy(t, server.Addr()), admitted: map[string]int{}}
	t.Cleanup(a.proxy.Close)
	client := redis.NewClient(&redis.Options{Addr: a.proxy.Listener.Addr().String()})
	t.Cleanup(func() { _ = client.Close() })
	store, err := redisstore.New(client, limiter.SlidingLog)
	if err != nil {
		t.Fatal(err)
	}
	a.store, c.Limiter = store, store
	c.Rules = []httplimit.Rule{
		{Name: "address", Key: httplimit.RemoteHost, Limits: []limiter.Limit{{Count: perAddress, Window: time.Hour}}},
		{Name: "user", Key: user, Limits: []limiter.Limit{{Count: perUser, Window: time.Hour}}},
	}
	a.Middleware = newMiddleware(t, c)
	return a
}

// storm sends requests of two users at one address from eight goroutines, and notes what each is told.
func (a *api) storm(t *testing.T, each int) {
	t.Helper()
	a.codes, a.slowest = map[int]int{}, 0
	h := a.Handler(hello)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range each {
				who, start := []string{"ada", "bob"}[i%2], time.Now()
				w := as(h, "203.0.113.9", who)
				took := time.Since(start)
				a.mu.Lock()
				a.codes[w.Code]++
				a.slowest = max(a.slowest, took)
				if w.Code == http.StatusOK {
					a.admitted[who]++
				}
				a.mu.Unlock()
				left, again := w.Header().Get("RateLimit"), w.Header().Get("Retry-After")
				decided := w.Code == http.StatusTooManyRequests || w.Code == http.StatusOK && left != ""
				if items := strings.Count(left, ";r="); decided != (items == 2) || (again != "") != (w.Code == http.StatusTooManyRequests) {
					t.Errorf("%d with RateLimit %q and Retry-After %q", w.Code, left, again)
				}
			}
		})
	}
	wg.Wait()
}

// holds checks that no more than the limits was admitted so far, and returns how many requests.
func (a *api) holds(t *testing.T) int {
	t.Helper()
	all := a.admitted["ada"] + a.admitted["bob"]
	if all > perAddress || a.admitted["ada"] > perUser || a.admitted["bob"] > perUser {
		t.Errorf("admitted %v", a.admitted)
	}
	return all
}

// TestRedisAwayFor20Milliseconds: clients wait and notice nothing else.
func TestRedisAwayFor20Milliseconds(t *testing.T) {
	t.Parallel()
	a := startAPI(t, httplimit.Config{OnFailure: httplimit.FailClosed, Timeout: 30 * time.Second})
	a.proxy.Set(func(p *servertest.Proxy) { p.Hold = true })
	time.AfterFunc(20*time.Millisecond, func() { a.proxy.Set(func(*servertest.Proxy) {}) })
	a.storm(t, 10)
	if got := fmt.Sprint(a.codes); got != "map[200:40 429:40]" || a.holds(t) != perAddress {
		t.Errorf("%s, admitted %v", got, a.admitted)
	}
}

// TestRedisAwayForTwoSeconds: clients are told so at once, and decided about again afterwards. What was
// under way is charged or not, and never admitted twice.
func TestRedisAwayForTwoSeconds(t *testing.T) {
	t.Parallel()
	a := startAPI(t, httplimit.Config{
		OnFailure: httplimit.FailClosed, Timeout: 50 * time.Millisecond, Failures: 3, Probe: 100 * time.Millisecond,
	})
	a.storm(t, 1)
	a.proxy.Set(func(p *servertest.Proxy) { p.Hold = true })
	for start := time.Now(); time.Since(start) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
		a.storm(t, 1)
		if a.codes[503] != 8 || a.slowest > longest {
			t.Fatalf("while Redis is away: %v within %v", a.codes, a.slowest)
		}
	}
	if a.Counts().Skipped == 0 {
		t.Errorf("Redis was asked for every request: %+v", a.Counts())
	}
	a.proxy.Set(func(*servertest.Proxy) {})
	servertest.Await(t, "the limits are used up", func() bool { a.storm(t, 1); return a.codes[429] == 8 })
	all, err := a.store.PeekKeys(context.Background(), 0,
		limiter.KeyLimit{Key: "address:203.0.113.9", Limit: limiter.Limit{Count: perAddress, Window: time.Hour}})
	if admitted := a.holds(t); err != nil || all[0].Used < int64(admitted) || all[0].Used != perAddress {
		t.Errorf("%d are admitted, and %d charged (%v)", admitted, all[0].Used, err)
	}
}

// TestRedisAwayForGood: every client is answered in time, as was chosen.
func TestRedisAwayForGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config httplimit.Config
		codes  string
	}{
		"open":   {httplimit.Config{OnFailure: httplimit.FailOpen}, "map[200:80]"},
		"closed": {httplimit.Config{OnFailure: httplimit.FailClosed}, "map[503:80]"},
		"over":   {httplimit.Config{OnFailure: httplimit.FailOver, Fallback: memory(t)}, "map[200:40 429:40]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes []string
			c.config.Timeout, c.config.Failures, c.config.Probe = 50*time.Millisecond, 3, time.Hour
			c.config.OnChange = func(away bool, _ error) { changes = append(changes, fmt.Sprint(away)) }
			a := startAPI(t, c.config)
			a.server.Kill()
			a.storm(t, 10)
			counts := a.Counts()
			if got := fmt.Sprint(a.codes); got != c.codes || a.slowest > longest || counts.Skipped == 0 || fmt.Sprint(changes) != "[true]" {
				t.Errorf("%s within %v, %+v, changes %v", got, a.slowest, counts, changes)
			}
			if name == "over" {
				a.holds(t)
			}
		})
	}
}
