package feed_test

import (
	"context"
	"net"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/demo"
	"ratescope/feed/metrics"
	"ratescope/feed/relay"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

const refresh = 40 * time.Millisecond

// TestConforms holds every kind of source to what feed.Source promises.
func TestConforms(t *testing.T) {
	t.Parallel()
	for name, source := range conforming {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source(t).conform(t)
		})
	}
}

// TestNothingIsLeft ends a source of every kind. It runs alone: other tests have goroutines of their own.
func TestNothingIsLeft(t *testing.T) {
	for name, source := range conforming {
		t.Run(name, func(t *testing.T) {
			c := source(t)
			c.emits(t) // what stays beside the source, as the sessions of an exporter, is there from now on
			c.ends(t)
		})
	}
}

// conforming are the kinds of sources. Those that read a server have traffic through real limiters there.
var conforming = map[string]func(t *testing.T) conformCase{
	"embedded": func(*testing.T) conformCase {
		return conformCase{Refresh: refresh, Keys: 10, Open: func(t *testing.T) (feed.Source, func()) {
			e, err := demo.New(feed.Options{Refresh: refresh})
			if err != nil {
				t.Fatal(err)
			}
			return e, func() { e.Close() }
		}}
	},
	"redis": func(t *testing.T) conformCase { return readsServer(4, "redis://"+busy(t)) },
	"RESP3": func(t *testing.T) conformCase { return readsServer(4, "redis://"+busy(t)+"?protocol=3") },
	"away":  func(*testing.T) conformCase { return readsServer(0, "redis://127.0.0.1:1") }, // a port where nothing listens
	"fed": func(t *testing.T) conformCase { // by an exporter of its own, which listens for writes when it is asked
		addr := busy(t)
		return conformCase{Refresh: refresh, Keys: 4, Open: func(t *testing.T) (feed.Source, func()) {
			exporter, end := exports(t, addr)
			s, err := relay.New(relay.Options{URLs: []string{exporter}})
			if err != nil {
				t.Fatal(err)
			}
			return s, end
		}}
	},
}

// readsServer is a source that reads so many keys of a server.
func readsServer(keys int, url string) conformCase {
	return conformCase{Refresh: refresh, Keys: keys, Open: func(t *testing.T) (feed.Source, func()) {
		r, err := feed.NewRedis(feed.Options{Watch: everyKey, URLs: []string{url}, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return r, func() { r.Close() }
	}}
}

// busy starts a server with traffic and returns its address.
func busy(t *testing.T) string {
	addr := servertest.Start(t).Addr()
	traffic(t, addr)
	return addr
}

// traffic sends requests to a key of each algorithm until the test ends.
func traffic(t *testing.T, addr string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, ReadTimeout: servertest.Patience, WriteTimeout: servertest.Patience})
	ctx := t.Context()
	var all sync.WaitGroup
	for _, a := range limiter.Algorithms() {
		l, err := redisstore.New(client, a, redisstore.WithDenials(), redisstore.WithPrefix(""))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for ctx.Err() == nil {
				limit := limiter.Limit{Count: 50, Window: 5 * time.Second}
				if _, err := l.AllowN(ctx, "traffic:"+a.String(), limit, 1); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(15 * time.Millisecond):
				}
			}
		})
	}
	t.Cleanup(func() { all.Wait(); client.Close() })
}

// exports returns the URL of an exporter of a server, and ends it.
func exports(t *testing.T, addr string) (url string, end func()) {
	t.Helper()
	r, err := feed.NewRedis(feed.Options{Watch: everyKey, URLs: []string{"redis://" + addr}, Refresh: refresh})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- metrics.Serve(ctx, r, l, metrics.New(metrics.Options{})) }()
	return "http://" + l.Addr().String(), func() {
		stop()
		<-served
		r.Close()
	}
}

// TestFedReadingsAreThoseOfRedis: of keys at rest, a dashboard that is fed by an exporter has what one
// that reads the server has.
func TestFedReadingsAreThoseOfRedis(t *testing.T) {
	t.Parallel()
	addr := servertest.Start(t).Addr()
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	defer client.Close()
	for _, a := range limiter.Algorithms() {
		l, err := redisstore.New(client, a, redisstore.WithPrefix(""))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := l.AllowN(t.Context(), "rest:"+a.String(), limiter.Limit{Count: 5, Window: 500 * time.Hour}, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	direct, err := feed.NewRedis(feed.Options{Watch: everyKey, URLs: []string{"redis://" + addr}, Refresh: refresh})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	exporter, end := exports(t, addr)
	defer end()
	fed, err := relay.New(relay.Options{URLs: []string{exporter}})
	if err != nil {
		t.Fatal(err)
	}
	n := len(limiter.Algorithms())
	want, got := readAll(t, direct, n), readAll(t, fed, n)
	for key, w := range want {
		g := got[key]
		same := reflect.DeepEqual(g.Target, w.Target) && reflect.DeepEqual(g.State, w.State)
		if !same || g.Type != w.Type || !slices.Equal(g.Members, w.Members) || !slices.Equal(g.Notes, w.Notes) {
			t.Errorf("%s is\n%+v\nby an exporter, and on the server\n%+v", key, g, w)
		}
	}
}

// readAll runs a source until it has told of so many keys, and returns their latest readings.
func readAll(t *testing.T, s feed.Source, n int) map[string]model.Reading {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	all := map[string]model.Reading{}
	err := s.Run(ctx, func(b model.Batch) {
		for _, r := range b.Readings {
			if !r.Partial && r.Err == "" {
				all[r.Key] = r
			}
		}
		if len(all) >= n {
			stop()
		}
	})
	if err != nil || len(all) < n {
		t.Fatalf("%d keys of %d: %v", len(all), n, err)
	}
	return all
}
