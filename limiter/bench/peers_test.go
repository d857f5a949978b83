package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	goredisstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
	"golang.org/x/time/rate"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

var update = flag.Bool("update", false, "write docs/peers.md anew")

// answer is what a peer says about one request.
type answer struct {
	allowed bool
	retry   time.Duration // 0 where the peer does not say, or the request was admitted
}

// peer is a limiter as its users call it, with a limit of count in a window.
type peer struct {
	name string
	// make returns what decides about a cost under a key; nil without a server for x/time/rate.
	make func(c *redis.Client, count int, window time.Duration) func(ctx context.Context, key string, cost int) (answer, error)
	key  string // what "k" is on the server
}

var compared = []peer{
	{"ratescope", func(c *redis.Client, count int, window time.Duration) func(context.Context, string, int) (answer, error) {
		l, err := redisstore.New(c, limiter.GCRA)
		must(err)
		return func(ctx context.Context, key string, cost int) (answer, error) {
			d, err := l.AllowN(ctx, key, limiter.Limit{Count: int64(count), Window: window}, int64(cost))
			return answer{d.Allowed, d.RetryAfter}, err
		}
	}, "ratelimit:k"},
	{"x/time/rate", func(_ *redis.Client, count int, window time.Duration) func(context.Context, string, int) (answer, error) {
		l := rate.NewLimiter(rate.Every(window/time.Duration(max(count, 1))), count)
		return func(_ context.Context, _ string, cost int) (answer, error) {
			return answer{allowed: l.AllowN(time.Now(), cost)}, nil
		}
	}, ""},
	{"redis_rate", func(c *redis.Client, count int, window time.Duration) func(context.Context, string, int) (answer, error) {
		l := redis_rate.NewLimiter(c)
		return func(ctx context.Context, key string, cost int) (answer, error) {
			d, err := l.AllowN(ctx, key, redis_rate.Limit{Rate: count, Burst: count, Period: window}, cost)
			if err != nil {
				return answer{}, err
			}
			return answer{d.Allowed > 0, max(d.RetryAfter, 0)}, nil
		}
	}, "rate:k"},
	{"throttled", func(c *redis.Client, count int, window time.Duration) func(context.Context, string, int) (answer, error) {
		store, err := goredisstore.NewCtx(c, "throttled:")
		must(err)
		l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(count, window), MaxBurst: count - 1})
		if err != nil {
			return func(context.Context, string, int) (answer, error) { return answer{}, err }
		}
		return func(ctx context.Context, key string, cost int) (answer, error) {
			limited, d, err := l.RateLimitCtx(ctx, key, cost)
			return answer{!limited, max(d.RetryAfter, 0)}, err
		}
	}, "throttled:k"},
	{"ulule", func(c *redis.Client, count int, window time.Duration) func(context.Context, string, int) (answer, error) {
		store, err := ululeredis.NewStoreWithOptions(c, ulule.StoreOptions{Prefix: "ulule"})
		must(err)
		l := ulule.New(store, ulule.Rate{Period: window, Limit: int64(count)})
		return func(ctx context.Context, key string, cost int) (answer, error) {
			d, err := l.Increment(ctx, key, int64(cost))
			return answer{!d.Reached, time.Until(time.Unix(d.Reset, 0))}, err
		}
	}, "ulule:k"},
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// point is a row of the table: what is tried, and what came of it with a peer.
type point struct {
	what string
	try  func(t *testing.T, p peer) string
}

// onServer tries something on an empty server of its own; a dash for what needs none.
func onServer(try func(t *testing.T, p peer, s *servertest.Server, c *redis.Client) string) func(*testing.T, peer) string {
	return func(t *testing.T, p peer) string {
		if p.key == "" {
			return "–"
		}
		s := servertest.Start(t)
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		defer func() { _ = c.Close() }()
		return try(t, p, s, c)
	}
}

var points = []point{
	{"shared by processes", func(_ *testing.T, p peer) string { return yes(p.key != "") }},
	{"a request above the limit charges nothing", onServer(func(_ *testing.T, p peer, _ *servertest.Server, c *redis.Client) string {
		decide := p.make(c, 5, time.Hour)
		_, _ = decide(context.Background(), "k", 6)
		a, err := decide(context.Background(), "k", 5)
		return yes(err == nil && a.allowed)
	})},
	{"a denied request says when to come back, and then it is admitted", onServer(func(_ *testing.T, p peer, _ *servertest.Server, c *redis.Client) string {
		decide := p.make(c, 2, 2*time.Second)
		var a answer
		for range 3 {
			a, _ = decide(context.Background(), "k", 1)
		}
		if a.allowed || a.retry <= 0 {
			return "no"
		}
		time.Sleep(a.retry + time.Millisecond)
		again, err := decide(context.Background(), "k", 1)
		return yes(err == nil && again.allowed)
	})},
	{"SCRIPT FLUSH and a restart in the middle: the next decision is made", onServer(func(_ *testing.T, p peer, s *servertest.Server, c *redis.Client) string {
		decide := p.make(c, 5, time.Hour)
		_, _ = decide(context.Background(), "k", 1)
		c.ScriptFlush(context.Background())
		_, flushed := decide(context.Background(), "k", 1)
		s.Restart()
		_, restarted := decide(context.Background(), "k", 1)
		return yes(flushed == nil && restarted == nil)
	})},
	{"leaves another program's value under its key as it is: a number, a hash, a sorted set", onServer(func(_ *testing.T, p peer, _ *servertest.Server, c *redis.Client) string {
		kept, ctx := 0, context.Background()
		for _, put := range []func(){
			func() { c.Set(ctx, p.key, 17, 0) },
			func() { c.HSet(ctx, p.key, "name", "Ada") },
			func() { c.ZAdd(ctx, p.key, redis.Z{Score: 900, Member: "Ada"}) },
		} {
			c.FlushAll(ctx)
			put()
			before := c.Dump(ctx, p.key).Val() + c.PTTL(ctx, p.key).String()
			_, _ = p.make(c, 100, time.Hour)(ctx, "k", 1)
			if c.Dump(ctx, p.key).Val()+c.PTTL(ctx, p.key).String() == before {
				kept++
			}
		}
		return fmt.Sprintf("%d of 3", kept)
	})},
	{"a server that does not answer: a context of 50 ms is kept to", func(t *testing.T, p peer) string {
		took, _ := silently(t, p, 50*time.Millisecond)
		return took
	}},
	{"commands sent for one decision when no answer comes", func(t *testing.T, p peer) string {
		_, sent := silently(t, p, 0)
		return sent
	}},
	{"a limit of 0", onServer(func(_ *testing.T, p peer, _ *servertest.Server, c *redis.Client) (says string) {
		defer func() {
			if recover() != nil {
				says = "panics"
			}
		}()
		a, err := p.make(c, 0, time.Hour)(context.Background(), "k", 1)
		switch {
		case err != nil:
			return "error"
		case a.allowed:
			return "admits"
		}
		return "denies"
	})},
	{"look without writing", has("Peek", "Tokens", "", "cost 0", "Peek")},
	{"give units back", has("Refund", "Reservation", "", "", "")},
	{"several windows in one decision, charged together or not at all", has("AllowKeys", "", "", "", "")},
	{"wait in line, with the context", has("Wait, Queue", "Wait", "", "", "")},
	{"block a key for a while", has("WithBlock", "", "", "", "")},
	{"algorithms", has("7", "token bucket", "GCRA", "GCRA", "fixed window")},
	{"unknown outcome told from an error", has("ErrUnknownOutcome", "–", "", "", "")},
	{"breaker and fallback", has("Breaker", "–", "", "", "")},
	{"test on a clock of your own", has("WithClock, synctest", "synctest", "", "", "")},
	{"net/http, gRPC, Prometheus, OpenTelemetry", has("all four", "", "", "net/http", "net/http")},
}

// has is a point that is read in the documentation: one word a peer, "" is no.
func has(words ...string) func(*testing.T, peer) string {
	return func(_ *testing.T, p peer) string {
		for i := range compared {
			if compared[i].name == p.name && words[i] != "" {
				return words[i]
			}
		}
		return "no"
	}
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// silently asks a server that takes requests and answers no decision.
func silently(t *testing.T, p peer, timeout time.Duration) (kept, sent string) {
	if p.key == "" {
		return "–", "–"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var calls atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				buffer := make([]byte, 1<<16)
				for {
					n, err := conn.Read(buffer)
					if err != nil {
						return
					}
					text := strings.ToLower(string(buffer[:n]))
					calls.Add(int64(strings.Count(text, "eval") + strings.Count(text, "incrby") + strings.Count(text, "$3\r\nget\r\n") + strings.Count(text, "time\r\n")))
					if strings.Contains(text, "script") || strings.Contains(text, "hello") { // what opens a connection
						_, _ = conn.Write([]byte("-ERR unknown command\r\n"))
					}
				}
			}()
		}
	}()
	c := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), Protocol: 2, DisableIdentity: true, ReadTimeout: 300 * time.Millisecond})
	defer func() { _ = c.Close() }()
	var decide func(context.Context, string, int) (answer, error)
	if failed := func() (failed any) {
		defer func() { failed = recover() }()
		decide = p.make(c, 5, time.Hour)
		return nil
	}(); failed != nil {
		return "cannot be made without a server", "–"
	}
	ctx, cancel := context.Background(), func() {}
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	start := time.Now()
	_, err = decide(ctx, "k", 1)
	took := time.Since(start)
	time.Sleep(50 * time.Millisecond)
	kept = "no"
	if took < timeout+50*time.Millisecond {
		kept = "yes"
	}
	if err == nil || errors.Is(err, redis.Nil) {
		kept += ", and decides without one"
	}
	return kept, fmt.Sprint(calls.Load())
}

// TestPeers prints the table of docs/peers.md, and holds the document to it.
func TestPeers(t *testing.T) {
	servertest.Need(t)
	var b strings.Builder
	b.WriteString("| |")
	for _, p := range compared {
		b.WriteString(" " + p.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(compared)) + "\n")
	for _, point := range points {
		b.WriteString("| " + point.what + " |")
		for _, p := range compared {
			b.WriteString(" " + point.try(t, p) + " |")
		}
		b.WriteString("\n")
	}
	t.Logf("\n%s", b.String())
	const name, from, to = "../../docs/peers.md", "<!-- peers -->\n", "<!-- /peers -->"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), from)
	held, tail, _ := strings.Cut(rest, to)
	switch {
	case *update:
		must(os.WriteFile(name, []byte(head+from+b.String()+to+tail), 0o644))
	case held != b.String():
		t.Errorf("%s says something else: go test -run Peers -update .", name)
	}
}
