package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// TestRefusedConnection: what cannot be sent because nothing listens is not called a deadline alone.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	// asks returns the error of a call.
	asks := func(l *redisstore.Store, timeout time.Duration) error {
		for {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			_, err := l.AllowN(ctx, "k", endless, 1)
			if cancel(); err != context.DeadlineExceeded { // alone: the time was up before anything was asked
				return err
			}
		}
	}
	const short = 20 * time.Millisecond
	for name, o := range map[string]*redis.UniversalOptions{
		"a cluster": {IsClusterMode: true}, "a cluster with deadlines": {IsClusterMode: true, ContextTimeoutEnabled: true},
	} {
		o.Addrs = []string{address}
		l := newStore(t, universal(t, o), limiter.GCRA)
		servertest.Await(t, "a refused connection", func() bool { return strings.Contains(fmt.Sprint(asks(l, short)), "connection refused") })
		o.DialerRetryTimeout = 2 * time.Second
		if err := asks(newStore(t, universal(t, o), limiter.GCRA), short); err == nil || !strings.Contains(err.Error(), "no node has answered yet") {
			t.Errorf("%s, which tries again: %v, want a cluster of which no node is known", name, err)
		}
		o.DialerRetries = 1
		err := asks(newStore(t, universal(t, o), limiter.GCRA), servertest.Patience)
		if !strings.Contains(fmt.Sprint(err), "cannot be reached") || !strings.Contains(fmt.Sprint(err), "refused") {
			t.Errorf("%s: %v, want a refused connection", name, err)
		}
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": address, "b": "127.0.0.1:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	shards := newStore(t, ring, limiter.GCRA)
	node := shards.Node("k")
	if err := asks(shards, short); !strings.Contains(fmt.Sprint(err), node+" has not answered") {
		t.Errorf("a ring: %v, want that %s has not answered", err, node)
	}
	servertest.Await(t, "a shard that refuses", func() bool {
		return strings.Contains(fmt.Sprint(asks(shards, short)), node+": connect: connection refused")
	})
	servertest.Await(t, "a ring whose shards are away", func() bool { err = asks(shards, short); return strings.Contains(fmt.Sprint(err), "are down") })
	for _, part := range []string{"cannot be reached", address, "127.0.0.1:1", "connection refused"} {
		if !strings.Contains(err.Error(), part) || errors.Is(err, limiter.ErrUnknownOutcome) {
			t.Errorf("a ring: %v, want shards that cannot be reached, with %q", err, part)
		}
	}
	client := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = client.Close() })
	for name, opts := range map[string][]redisstore.Option{"batches": nil, "each by itself": {redisstore.WithBatches(0)}} {
		l := newStore(t, client, limiter.GCRA, opts...)
		if err := asks(l, short); err == nil || !strings.Contains(err.Error(), "cannot be reached") || errors.Is(err, limiter.ErrUnknownOutcome) {
			t.Errorf("%s: %v, want a server that cannot be reached, and nothing sent", name, err)
		}
		var wg sync.WaitGroup
		var unknown atomic.Int64
		for range 40 { // of which most wait for a place
			wg.Go(func() {
				err := asks(l, short)
				if err == nil || !strings.Contains(err.Error(), "no connection in time") && !strings.Contains(err.Error(), "refused") {
					t.Errorf("%s, one of many: %v, want what is wrong with the connection", name, err)
				}
				if errors.Is(err, limiter.ErrUnknownOutcome) {
					unknown.Add(1)
				}
			})
		}
		if wg.Wait(); unknown.Load() > 2+2*4 { // the places, and those given away: of no other may anything be under way
			t.Errorf("%s: of %d in 40 requests it is not known whether they were counted", name, unknown.Load())
		}
	}
}

// TestKilledNodeIsNamed: of a decision that had no time for a connection it is said which node has not answered, or why
// it could not be reached.
func TestKilledNodeIsNamed(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true, ContextTimeoutEnabled: true})
	l := newStore(t, client, limiter.GCRA)
	allow(t, l, "k", endless, 1)
	servertest.Await(t, "the nodes to be known", func() bool { return l.Node("k") != "" })
	addr := l.Node("k")
	for _, s := range nodes {
		if s.Addr() == addr {
			s.Kill()
		}
	}
	short := 0
	for range 40 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err := l.AllowN(ctx, "k", endless, 1)
		cancel()
		if errors.Is(err, limiter.ErrUnknownOutcome) { // what was sent when the node ended
			continue
		}
		if err == nil || !strings.Contains(err.Error(), addr) || strings.Count(err.Error(), "no connection in time") > 1 {
			t.Errorf("a decision on the killed node %s: %v", addr, err)
		} else if strings.Contains(err.Error(), "no connection in time") {
			short++
		}
	}
	if short == 0 {
		t.Error("no decision was without the time for a connection")
	}
}
