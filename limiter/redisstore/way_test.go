package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/limitertest"
	"ratescope/limiter/redisstore"
)

// way is how decisions get to a server.
type way func(*testing.T, *redis.Client) redisstore.Client

// single is a client without pipelines: each decision is sent by itself.
type single struct{ redisstore.Client }

// ways are all of them: the plain pool, which is the default, and those that are a
// choice. What is promised of one is promised of each.
var ways = map[string]way{
	"pool":   func(_ *testing.T, c *redis.Client) redisstore.Client { return c },
	"single": func(_ *testing.T, c *redis.Client) redisstore.Client { return single{c} },
	"autopipeline": func(t *testing.T, c *redis.Client) redisstore.Client {
		piped, err := c.AutoPipeline()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = piped.Close() })
		return piped
	},
	"async autopipeline": func(t *testing.T, c *redis.Client) redisstore.Client {
		piped, err := c.AsyncAutoPipeline()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = piped.Close() })
		return piped
	},
}

// TestWays runs the whole suite over those that the conformance test leaves out.
func TestWays(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		if name == "pool" {
			continue
		}
		client := servertest.Client(t)
		way := way(t, client)
		for _, a := range limiter.Algorithms() {
			t.Run(name+"/"+a.String(), func(t *testing.T) {
				limitertest.Run(t, limitertest.Subject{Algorithm: a, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
					if err := client.FlushAll(context.Background()).Err(); err != nil {
						t.Fatal(err)
					}
					return newStore(t, way, a, redisstore.WithClock(now), redisstore.WithConvention(c))
				}})
			})
		}
	}
}

// silent starts a server that takes requests and never answers a decision, and a client
// with its usual retries, which would send one four times.
func silent(t *testing.T) (*redis.Client, *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var calls atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go swallow(conn, &calls)
		}
	}()
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), Protocol: 2, DisableIdentity: true, Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &impatient{Conn: conn}, err
	}})
	t.Cleanup(func() { _ = client.Close() })
	return client, &calls
}

// impatient is a connection that waits long for the answers to its introduction, and 50 ms for one to a
// decision: a machine that stands still does not end it before the decision is sent.
type impatient struct {
	net.Conn
	called atomic.Bool
}

func (c *impatient) Write(p []byte) (int, error) {
	if strings.Contains(strings.ToLower(string(p)), "evalsha") {
		c.called.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *impatient) Read(p []byte) (int, error) {
	if c.called.Load() {
		if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(p)
}

// TestTimeoutIsNotRepeated asks a silent server: the outcome of each decision is unknown,
// and none is sent twice, whichever caller it left with.
func TestTimeoutIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, calls := silent(t)
			l := newStore(t, way(t, client), limiter.SlidingLog)
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					_, err := l.AllowN(context.Background(), fmt.Sprint("k", i), yearly, 1)
					if !errors.Is(err, limiter.ErrUnknownOutcome) || !strings.Contains(err.Error(), "timeout") {
						t.Errorf("%v, want an unknown outcome", err)
					}
				})
			}
			wg.Wait()
			if got := settled(calls, 20); got != 20 {
				t.Errorf("20 decisions were sent %d times", got)
			}
		})
	}
}

// settled returns how many calls a silent server has read once these are as many as were
// sent: it may read them after the client has given up.
func settled(calls *atomic.Int64, sent int64) int64 {
	for deadline := time.Now().Add(10 * time.Second); calls.Load() < sent && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	return calls.Load()
}

// swallow answers everything but script calls, which it counts, also those whose name two reads share.
func swallow(conn net.Conn, calls *atomic.Int64) {
	const call = "evalsha"
	buf, rest, called := make([]byte, 4096), "", false
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		text := rest + strings.ToLower(string(buf[:n]))
		rest = text[max(len(text)-len(call)+1, 0):]
		calls.Add(int64(strings.Count(text, call)))
		if called = called || strings.Contains(text, call); called { // all that follows is of scripts
			continue
		}
		answer := "+OK\r\n"
		if strings.Contains(text, "hello") {
			answer = "-ERR unknown command 'hello'\r\n"
		}
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// TestFlushUnderLoad takes the scripts away again and again while clients ask: no decision
// is lost and none is counted twice.
func TestFlushUnderLoad(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := servertest.Client(t)
			ctx := context.Background()
			l := newStore(t, way(t, client), limiter.FixedWindow)
			const each = 60
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					for i := range each {
						if i%20 == 7 {
							client.ScriptFlush(ctx)
						}
						if _, err := l.AllowN(ctx, "k", endless, 1); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if d, err := l.Peek(ctx, "k", endless, 1); err != nil || d.Used != 20*each {
				t.Errorf("%d decisions are counted as %d, %v", 20*each, d.Used, err)
			}
		})
	}
}

// gate is a client whose departures wait until it opens.
type gate struct {
	*redis.Client
	departed chan struct{}
	open     chan struct{}
}

func (g *gate) Process(ctx context.Context, cmd redis.Cmder) error {
	g.departed <- struct{}{}
	<-g.open
	return g.Client.Process(ctx, cmd)
}

// watched is a context that tells when a goroutine begins to wait for its end.
type watched struct {
	context.Context
	seen chan struct{}
}

func (w *watched) Done() <-chan struct{} {
	select {
	case w.seen <- struct{}{}:
	default:
	}
	return w.Context.Done()
}

// TestBatchContext says whose context ends what: a decision that waits is not sent, one
// that has left has an unknown outcome, and the others are none the wiser.
func TestBatchContext(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	g := &gate{Client: client, departed: make(chan struct{}, 9), open: make(chan struct{})}
	l := newStore(t, g, limiter.GCRA, redisstore.WithBatches(1))
	allowed := func(ctx context.Context, key string) <-chan error {
		end := make(chan error, 1)
		go func() {
			_, err := l.AllowN(ctx, key, yearly, 1)
			end <- err
		}()
		return end
	}
	leaving, cancelLeaving := context.WithCancel(context.Background())
	first := allowed(leaving, "left")
	<-g.departed
	waiting, cancelWaiting := context.WithCancel(context.Background())
	watched := &watched{Context: waiting, seen: make(chan struct{}, 1)}
	second := allowed(watched, "waits")
	<-watched.seen
	third := allowed(context.Background(), "stays")
	cancelWaiting()
	if err := <-second; !errors.Is(err, context.Canceled) || errors.Is(err, limiter.ErrUnknownOutcome) {
		t.Errorf("a decision that had not left: %v", err)
	}
	cancelLeaving()
	if err := <-first; !errors.Is(err, limiter.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
		t.Errorf("a decision that had left: %v", err)
	}
	close(g.open)
	if err := <-third; err != nil {
		t.Errorf("a decision that was not cancelled: %v", err)
	}
	if n := client.Exists(context.Background(), "waits").Val(); n != 0 {
		t.Error("a decision that was cancelled before it left was counted")
	}
}
