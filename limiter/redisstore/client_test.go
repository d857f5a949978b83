package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/limitertest"
	"ratescope/limiter/redisstore"
)

func universal(t *testing.T, o *redis.UniversalOptions) redis.UniversalClient {
	t.Helper()
	client := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// conforms runs the whole suite through a client.
func conforms(t *testing.T, client redis.UniversalClient) {
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			limitertest.Run(t, limitertest.Subject{Algorithm: a, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
				flushAll(t, client)
				return newStore(t, client, a, redisstore.WithClock(now), redisstore.WithConvention(c))
			}})
		})
	}
}

// flushAll empties every master.
func flushAll(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	flush := func(ctx context.Context, c *redis.Client) error { return c.FlushAll(ctx).Err() }
	err := error(nil)
	if cluster, ok := client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, flush)
	} else {
		err = client.FlushAll(ctx).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCluster runs the whole suite on a cluster, where everything that a decision touches
// has to be in one slot.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true})
	conforms(t, client)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		flushAll(t, client)
		l := newStore(t, client, a, redisstore.WithDenials(), redisstore.WithConvention(limiter.Convention{Block: time.Minute}))
		for _, key := range []string{"user:42", "{user:42}:api", "a{b}c{d}"} {
			for range 7 {
				allow(t, l, key, yearly, 1)
			}
			if n := client.XLen(ctx, layout.DeniedKey(key)).Val(); n != 2 {
				t.Errorf("%s, key %q: %d denials recorded, want 2", a, key, n)
			}
			together := newStore(t, client, a, redisstore.WithDenials())
			if all, err := together.AllowKeys(ctx, 1, limiter.OnKey(key, lasting...)...); err != nil || !limiter.Combine(all).Allowed {
				t.Errorf("%s, key %q: several limits: %v", a, key, err)
			}
			if err := l.Reset(ctx, key, yearly); err != nil {
				t.Errorf("%s, key %q: reset: %v", a, key, err)
			}
		}
	}
	l := newStore(t, client, limiter.SlidingLog, redisstore.WithDenials())
	if _, err := l.AllowN(ctx, "a}", yearly, 1); err == nil || !strings.Contains(err.Error(), "hash tag") {
		t.Errorf("a key whose slot no other name has: %v", err)
	}
}

// load is what clients saw who asked without a pause.
type load struct {
	ok, unknown, refused atomic.Int64
	stop                 context.CancelFunc
	wg                   sync.WaitGroup
}

// asking lets eight clients ask about one key until stop is called. One that gets an error rests a moment.
func asking(t *testing.T, l limiter.Limiter, key string, limit limiter.Limit) *load {
	ctx, stop := context.WithCancel(context.Background())
	w := &load{stop: stop}
	for range 8 {
		w.wg.Go(func() {
			for ctx.Err() == nil {
				d, err := l.AllowN(context.Background(), key, limit, 1)
				switch {
				case err == nil && d.Allowed:
					w.ok.Add(1)
				case errors.Is(err, limiter.ErrUnknownOutcome):
					w.unknown.Add(1)
					<-time.After(25 * time.Millisecond)
				case errors.Is(err, limiter.ErrBadRequest), errors.Is(err, limiter.ErrWrongType), err == nil:
					t.Errorf("%+v, %v", d, err)
				default:
					w.refused.Add(1)
					<-time.After(25 * time.Millisecond)
				}
			}
		})
	}
	t.Cleanup(w.end)
	return w
}

func (w *load) end() {
	w.stop()
	w.wg.Wait()
}

// until waits for something that the clients bring about.
func (w *load) until(t *testing.T, what string, happens func() bool) {
	t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !happens(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.end()
			t.Fatalf("%s did not happen: %d decided, %d unknown, %d refused", what, w.ok.Load(), w.unknown.Load(), w.refused.Load())
		}
	}
}

// more waits for a number of decisions from now on.
func (w *load) more(t *testing.T, what string) {
	t.Helper()
	before := w.ok.Load()
	w.until(t, what, func() bool { return w.ok.Load() > before+100 })
}

var endless = limiter.Limit{Count: 1 << 30, Window: yearly.Window}

// TestSlotMovesUnderLoad moves a slot to the other master while clients ask about a key in
// it. Redirections are no second try: every decision is counted once.
func TestSlotMovesUnderLoad(t *testing.T) {
	t.Parallel()
	for _, a := range []limiter.Algorithm{limiter.GCRA, limiter.SlidingLog, limiter.SlidingWindow} {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			nodes := servertest.StartCluster(t, 3)
			client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true})
			ctx := context.Background()
			l := newStore(t, client, a)
			slot := int(client.ClusterKeySlot(ctx, "moving").Val())
			owner := slices.IndexFunc(nodes, func(s *servertest.Server) bool { return !strings.Contains(s.CLI("EXISTS", "moving"), "MOVED") })
			w := asking(t, l, "moving", endless)
			w.more(t, "deciding")
			moveSlot(t, slot, nodes[owner], nodes[(owner+1)%len(nodes)])
			w.more(t, "deciding on the other master")
			w.end()
			d, err := l.Peek(ctx, "moving", endless, 0)
			if err != nil || w.unknown.Load() != 0 || a != limiter.GCRA && d.Used != w.ok.Load() {
				t.Errorf("%d decisions, %d of unknown outcome, are counted as %d, %v", w.ok.Load(), w.unknown.Load(), d.Used, err)
			}
		})
	}
}

// TestFailoverUnderLoad kills a master while clients ask, and lets the replica take over,
// which has never seen the scripts. Who asked in between is told so; nothing is sent twice,
// so no more is counted than was admitted or may have been.
func TestFailoverUnderLoad(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sentinel, master, _ := startWatched(t)
			client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "ratescope", SentinelAddrs: []string{sentinel.Addr()}, DialerRetries: 1})
			t.Cleanup(func() { _ = client.Close() })
			l := newStore(t, way(t, client), limiter.FixedWindow)
			w := asking(t, l, "watched", endless)
			w.more(t, "deciding")
			master.Kill()
			w.until(t, "failing", func() bool { return w.unknown.Load()+w.refused.Load() > 8 })
			w.more(t, "deciding on the replica")
			w.end()
			var d limiter.Decision
			w.until(t, "a peek", func() bool { // the first may be given an old connection
				var err error
				d, err = l.Peek(context.Background(), "watched", endless, 0)
				return err == nil
			})
			if most := w.ok.Load() + w.unknown.Load(); d.Used == 0 || d.Used > most {
				t.Errorf("at most %d were charged, and %d are counted", most, d.Used)
			}
		})
	}
}

// TestRestartUnderLoad takes the server away and brings it back empty, without its
// scripts, while clients ask.
func TestRestartUnderLoad(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servertest.Start(t)
			client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second})
			t.Cleanup(func() { _ = client.Close() })
			w := asking(t, newStore(t, way(t, client), limiter.StreamCounter), "restarted", endless)
			w.more(t, "deciding")
			server.Kill()
			w.until(t, "failing", func() bool { return w.unknown.Load()+w.refused.Load() > 20 })
			server.Restart()
			w.more(t, "deciding again")
		})
	}
}

// TestSentinel runs the whole suite through a client that asks a sentinel for the master.
func TestSentinel(t *testing.T) {
	t.Parallel()
	sentinel, _, _ := startWatched(t)
	conforms(t, universal(t, &redis.UniversalOptions{Addrs: []string{sentinel.Addr()}, MasterName: "ratescope"}))
}

// startWatched starts a master, a replica of it, and a sentinel that watches them under the
// name "ratescope" and lets the replica take over servertest.DownAfter after the master is gone.
func startWatched(t *testing.T) (sentinel, master, replica *servertest.Server) {
	t.Helper()
	master = servertest.Start(t)
	replica = servertest.Start(t, "--replicaof", "127.0.0.1", strconv.Itoa(master.Port))
	sentinel = servertest.StartSentinel(t, fmt.Sprintf(`sentinel monitor ratescope 127.0.0.1 %d 1
sentinel down-after-milliseconds ratescope %d
sentinel failover-timeout ratescope 3000
`, master.Port, servertest.DownAfter.Milliseconds()))
	servertest.Await(t, "the sentinel to know the replica", func() bool {
		return strings.Contains(sentinel.CLI("SENTINEL", "REPLICAS", "ratescope"), strconv.Itoa(replica.Port)) &&
			strings.Contains(replica.CLI("INFO", "replication"), "master_link_status:up")
	})
	return sentinel, master, replica
}

// moveSlot moves one slot from a node to another one with the keys in it, as an operator
// would: while it lasts, neither knows all of them.
func moveSlot(t testing.TB, slot int, from, to *servertest.Server) {
	t.Helper()
	ctx := context.Background()
	source, target := from.Client(), to.Client()
	fromID, toID := source.ClusterMyID(ctx).Val(), target.ClusterMyID(ctx).Val()
	must := func(s *servertest.Server, args ...string) {
		t.Helper()
		if said := s.CLI(args...); said != "OK" {
			t.Fatalf("%q: %s", args, said)
		}
	}
	n := strconv.Itoa(slot)
	must(to, "CLUSTER", "SETSLOT", n, "IMPORTING", fromID)
	must(from, "CLUSTER", "SETSLOT", n, "MIGRATING", toID)
	for _, key := range source.ClusterGetKeysInSlot(ctx, slot, 1000).Val() {
		must(from, "MIGRATE", "127.0.0.1", strconv.Itoa(to.Port), key, "0", "5000")
	}
	must(to, "CLUSTER", "SETSLOT", n, "NODE", toID)
	must(from, "CLUSTER", "SETSLOT", n, "NODE", toID)
}
