package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
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

// chosen are names that clients may choose, some of which no other name of a cluster shares a slot with.
var chosen = []string{"{}x", "}{", "a{}b{c}", "a}", "{", "}", "{}", "{%7D}", "{%}", "a{b}c", "{{}}", "%7B%7Dx", "x:{}", "日本{}語", "\x00{}\xff",
	"\x00", "{\x00}", " ", "\n", "{!}", "{a}:", "{a", "}{x}", "{}{}{}", "{%7B%7Dx}", strings.Repeat("x", 10_000), strings.Repeat("{}", 5_000), strings.Repeat("}", 5_000) + "{"}

// TestChosenNamesOnACluster: whatever name a client chooses, it is limited, with denials and with a
// block, also where a store that does not answer would let it through; and no two names share a limit.
func TestChosenNamesOnACluster(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true})
	limit := limiter.Limit{Count: 2, Window: yearly.Window}
	name := func(r *http.Request) string { return strings.Join(r.Header["X-Api-Key"], "") }
	for _, a := range limiter.Algorithms() {
		for what, opt := range map[string]redisstore.Option{"denials": redisstore.WithDenials(), "block": redisstore.WithBlock(time.Hour), "rules": redisstore.WithPrefix("{")} {
			flushAll(t, client)
			l, err := redisstore.New(client, a, opt)
			if err != nil {
				t.Fatal(err)
			}
			c := httplimit.Config{Limiter: l, OnFailure: httplimit.FailOpen}
			if what == "rules" {
				c.Rules = []httplimit.Rule{
					{Name: "address", Key: func(r *http.Request) string { return "192.0.2.1" + name(r) }, Limits: []limiter.Limit{{Count: 9, Window: yearly.Window}}},
					{Name: "user", Key: name, Limits: []limiter.Limit{limit}},
				}
			} else {
				c.Limit, c.Key = limit, name
			}
			m, err := httplimit.New(c)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range chosen {
				codes := map[int]int{}
				for range 5 {
					r := httptest.NewRequest("GET", "/", nil)
					r.Header["X-Api-Key"] = []string{name}
					w := httptest.NewRecorder()
					m.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
					codes[w.Code]++
				}
				if codes[404] != 2 || codes[429] != 3 {
					t.Errorf("%s with %s: %.40q got %v, want 2 admitted and 3 denied", a, what, name, codes)
				}
			}
		}
	}
	for _, prefix := range []string{"{}", "a{}b{c}:"} {
		if _, err := redisstore.New(client, limiter.GCRA, redisstore.WithPrefix(prefix)); !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("the prefix %q: %v", prefix, err)
		}
	}
}

// onNodes returns a name on each of two masters.
func onNodes(t *testing.T, l *redisstore.Store) (first, second string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if l.Node("a") != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the nodes are not known")
		}
	}
	first = "a"
	for i := range 100 {
		if second = fmt.Sprint("b", i); l.Node(second) != l.Node(first) {
			return first, second
		}
	}
	t.Fatal("one node has all names")
	return "", ""
}

// TestFrozenMaster stops one master of a cluster: decisions on the others go on, whatever waits for it,
// and a breaker leaves that one node alone.
func TestFrozenMaster(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true,
		ReadTimeout: servertest.Patience}) // for the decisions on the frozen master, which wait until those on the others are made
	for name, opts := range map[string][]redisstore.Option{"batches": nil, "each by itself": {redisstore.WithBatches(0)}} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, client, limiter.FixedWindow, opts...)
			frozen, healthy := onNodes(t, store)
			var changes []string
			var mu sync.Mutex
			l, err := limiter.NewBreaker(limiter.BreakerConfig{Limiter: store, Timeout: 30 * time.Second, Probe: time.Hour, Failures: 3, OnChange: func(away bool, err error) {
				mu.Lock()
				defer mu.Unlock()
				changes = append(changes, fmt.Sprint(away, err))
			}})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{frozen, healthy} {
				allow(t, l, key, endless, 1)
			}
			for _, s := range nodes {
				if s.Addr() == store.Node(frozen) {
					s.Freeze()
					defer s.Thaw()
				}
			}
			short, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			for range 40 { // more than have a place
				wg.Go(func() {
					if _, err := store.AllowN(short, frozen, endless, 1); !errors.Is(err, context.Canceled) {
						t.Errorf("a decision on the frozen master: %v", err)
					}
				})
			}
			for i := range 500 { // these have all the time they want, and need none
				if _, err := l.AllowN(context.Background(), healthy, endless, 1); err != nil {
					t.Fatalf("decision %d on a healthy master: %v", i, err)
				}
			}
			cancel()
			wg.Wait()
			away, err := limiter.NewBreaker(limiter.BreakerConfig{Limiter: store, Timeout: 5 * time.Millisecond, Probe: time.Hour, Failures: 3, OnChange: func(away bool, err error) {
				changes = append(changes, fmt.Sprint(away, err))
			}})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				_, _ = away.AllowN(context.Background(), frozen, endless, 1)
			}
			if _, err := away.AllowN(context.Background(), frozen, endless, 1); !errors.Is(err, limiter.ErrAway) || !away.Away() {
				t.Errorf("after three failures in a row: %v", err)
			}
			if len(changes) != 1 || !strings.Contains(changes[0], store.Node(frozen)) {
				t.Errorf("the changes were %q, want one that names %s", changes, store.Node(frozen))
			}
			if _, err := away.AllowN(context.Background(), healthy, endless, 1); errors.Is(err, limiter.ErrAway) {
				t.Errorf("the healthy master counts as away: %v", err)
			}
		})
	}
}

// TestDeadlinesHold asks a server that never answers, through every way, and a node of a cluster, whose client
// keeps to deadlines by itself or does not: a decision, one about several limits and a reset end with their context.
func TestDeadlinesHold(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servertest.Start(t)
			client := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: time.Hour, WriteTimeout: time.Hour, MaxRetries: -1})
			t.Cleanup(func() { _ = client.Close() })
			deadlinesHold(t, newStore(t, way(t, client), limiter.GCRA, redisstore.WithBatches(0)), server.Freeze, server.Thaw)
			if client.Options().ContextTimeoutEnabled {
				t.Error("the client itself was changed")
			}
		})
	}
	for name, enabled := range map[string]bool{"cluster": false, "cluster with ContextTimeoutEnabled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := servertest.StartCluster(t, 3)
			client := universal(t, &redis.UniversalOptions{
				Addrs: []string{nodes[0].Addr()}, IsClusterMode: true, ContextTimeoutEnabled: enabled,
				ReadTimeout: time.Hour, WriteTimeout: time.Hour, MaxRetries: -1,
			})
			l := newStore(t, client, limiter.GCRA, redisstore.WithBatches(0))
			onNodes(t, l) // waits until the nodes are known
			node := nodes[slices.IndexFunc(nodes, func(s *servertest.Server) bool { return s.Addr() == l.Node("k") })]
			deadlinesHold(t, l, node.Freeze, node.Thaw)
		})
	}
}

// TestDeadlinesHoldFromTheStart: also the first decision of a client ends with its context, which has to find its
// nodes or its master first, of servers that take connections and never answer.
func TestDeadlinesHoldFromTheStart(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system takes connections for it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	at := []string{silent.Addr().String()}
	for _, enabled := range []bool{false, true} {
		sentinel := &redis.FailoverOptions{MasterName: "m", SentinelAddrs: at, ContextTimeoutEnabled: enabled}
		for name, client := range map[string]redis.UniversalClient{
			"single":           redis.NewClient(&redis.Options{Addr: at[0], ContextTimeoutEnabled: enabled}),
			"cluster":          redis.NewClusterClient(&redis.ClusterOptions{Addrs: at, ContextTimeoutEnabled: enabled}),
			"ring":             redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": at[0]}, ContextTimeoutEnabled: enabled}),
			"sentinel":         redis.NewFailoverClient(sentinel),
			"failover cluster": redis.NewFailoverClusterClient(sentinel),
		} {
			t.Cleanup(func() { _ = client.Close() })
			for _, batches := range []int{2, 0} {
				l := newStore(t, client, limiter.GCRA, redisstore.WithBatches(batches))
				start := time.Now()
				for what, call := range map[string]func(context.Context) error{
					"AllowN": func(ctx context.Context) error { _, err := l.AllowN(ctx, "k", endless, 1); return err },
					"AllowKeys": func(ctx context.Context) error {
						_, err := l.AllowKeys(ctx, 1, limiter.OnKey("k", lasting...)...)
						return err
					},
					"Reset": func(ctx context.Context) error { return l.Reset(ctx, "k", endless) },
				} {
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
					if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s, %d batches, %s: %v", name, batches, what, err)
					}
					cancel()
				}
				if took := time.Since(start); took > 4*time.Second { // a call that waits for its client takes 3 s or more
					t.Errorf("%s (deadlines %v), %d batches: three calls with 20 ms each took %v", name, enabled, batches, took)
				}
			}
		}
	}
}

// deadlinesHold freezes the server of the key "k" and lets each call end with its context, by a deadline and by
// being cancelled.
func deadlinesHold(t *testing.T, l *redisstore.Store, freeze, thaw func()) {
	t.Helper()
	allow(t, l, "k", endless, 1)
	freeze()
	defer thaw()
	for what, call := range map[string]func(context.Context) error{
		"AllowN": func(ctx context.Context) error { _, err := l.AllowN(ctx, "k", endless, 1); return err },
		"AllowKeys": func(ctx context.Context) error {
			_, err := l.AllowKeys(ctx, 1, limiter.OnKey("k", lasting...)...)
			return err
		},
		"Reset": func(ctx context.Context) error { return l.Reset(ctx, "k", endless) },
	} {
		for _, wait := range []func() (context.Context, context.CancelFunc){
			func() (context.Context, context.CancelFunc) { // a deadline
				return context.WithTimeout(context.Background(), 20*time.Millisecond)
			},
			func() (context.Context, context.CancelFunc) { // none, and an end
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(20*time.Millisecond, cancel)
				return ctx, cancel
			},
			func() (context.Context, context.CancelFunc) { // a deadline, and an end long before it
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				time.AfterFunc(20*time.Millisecond, cancel)
				return ctx, cancel
			},
		} {
			ctx, cancel := wait()
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want the end of the context", what, err)
			}
			cancel()
		}
	}
}

// TestOthersStayLimited freezes or kills one node of a cluster, of which the client knows nothing but the map of
// slots: with FailOpen the keys on the others stay limited, also where the client has asked no node before.
func TestOthersStayLimited(t *testing.T) {
	t.Parallel()
	for _, trouble := range []string{"frozen", "killed"} {
		for _, batches := range []int{2, 0} {
			t.Run(fmt.Sprint(trouble, batches), func(t *testing.T) {
				t.Parallel()
				nodes := servertest.StartCluster(t, 3)
				client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true, ContextTimeoutEnabled: batches == 0})
				l := newStore(t, client, limiter.SlidingWindow, redisstore.WithBatches(batches))
				onNodes(t, l)
				m, err := httplimit.New(httplimit.Config{
					Limiter: l, Limit: limiter.Limit{Count: 5, Window: yearly.Window}, OnFailure: httplimit.FailOpen, Timeout: time.Second,
					Failures: 3, Probe: time.Hour, Key: func(r *http.Request) string { return r.Header.Get("X-User") },
				})
				if err != nil {
					t.Fatal(err)
				}
				if trouble == "frozen" {
					nodes[1].Freeze()
					defer nodes[1].Thaw()
				} else {
					nodes[1].Kill()
				}
				var mu sync.Mutex
				passed, keys := 0, map[string]bool{}
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						for i := range 80 {
							r := httptest.NewRequest("GET", "/", nil)
							r.Header.Set("X-User", fmt.Sprint("k", i%20))
							w := httptest.NewRecorder()
							m.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
							if l.Node(r.Header.Get("X-User")) != nodes[1].Addr() {
								mu.Lock()
								keys[r.Header.Get("X-User")] = true
								if w.Code == http.StatusNotFound {
									passed++
								}
								mu.Unlock()
							}
						}
					})
				}
				wg.Wait()
				if len(keys) == 0 || len(keys) == 20 || passed != 5*len(keys) {
					t.Errorf("%d requests of %d users on healthy nodes passed, want 5 of each: %+v", passed, len(keys), m.Counts())
				}
				for i, n := range nodes {
					if (i != 1) && strings.Contains(n.CLI("INFO", "commandstats"), "cmdstat_command:") {
						t.Errorf("the client asked %s for its commands, and may ask the node that does not answer", n.Addr())
					}
				}
			})
		}
	}
}

// TestAnotherKeyStillDenies: where the node of a request's address does not answer and requests are let through,
// the limit of its user, which is on another node, holds exactly, before the breaker opens and after.
func TestAnotherKeyStillDenies(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true})
	l := newStore(t, client, limiter.SlidingWindow)
	onNodes(t, l)
	header := func(name string) func(*http.Request) string {
		return func(r *http.Request) string { return r.Header.Get(name) }
	}
	on := func(rule string, frozen bool) string { // a key of a rule that is on the node to be frozen, or on none such
		for i := 0; ; i++ {
			if key := fmt.Sprint("k", i); (l.Node(rule+":"+key) == nodes[1].Addr()) == frozen {
				return key
			}
		}
	}
	address, user := on("address", true), on("user", false)
	m, err := httplimit.New(httplimit.Config{
		Limiter: l, OnFailure: httplimit.FailOpen, Timeout: time.Second, Failures: 3, Probe: time.Hour,
		Rules: []httplimit.Rule{
			{Name: "address", Key: header("X-Address"), Limits: []limiter.Limit{{Count: 100, Window: yearly.Window}}},
			{Name: "user", Key: header("X-User"), Limits: []limiter.Limit{{Count: 5, Window: yearly.Window}, {Count: 50, Window: yearly.Window / 2}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.Header.Set("X-Address", address)
		r.Header.Set("X-User", user)
		m.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
		return w
	}
	if w := ask(); w.Code != http.StatusNotFound {
		t.Fatalf("a request is answered %d while all nodes are well", w.Code)
	}
	nodes[1].Freeze()
	defer nodes[1].Thaw()
	passed := 1
	for range 12 { // one may be denied for a unit that is given back a moment later
		switch w := ask(); {
		case w.Code == http.StatusNotFound:
			passed++
		case w.Code != http.StatusTooManyRequests || strings.Contains(w.Header().Get("RateLimit"), "address"):
			t.Errorf("a request is answered %d, RateLimit %q", w.Code, w.Header().Get("RateLimit"))
		}
	}
	if c := m.Counts(); passed != 5 || c.FailedOpen != 4 || c.Denied != 8 || c.Skipped == 0 {
		t.Errorf("%d requests of the user passed, want 5: %+v", passed, c)
	}
}

// TestResetAsksTheNodeOfItsKey: the clock of a reset is that of the node that decides, and of no other.
func TestResetAsksTheNodeOfItsKey(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true})
	l := newStore(t, client, limiter.FixedWindow)
	for range 20 {
		allow(t, l, "k", endless, 1)
		if err := l.Reset(context.Background(), "k", endless); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	for _, n := range nodes {
		if strings.Contains(n.CLI("INFO", "commandstats"), "cmdstat_time:") {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("%d nodes were asked for their time, want the one of the key", asked)
	}
}
