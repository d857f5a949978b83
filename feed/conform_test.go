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

func TestEmbeddedConforms(t *testing.T) {
	conform(t, conformCase{Refresh: refresh, Keys: 10, Open: func(t *testing.T) (feed.Source, func()) {
		e, err := demo.New(feed.Options{Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return e, func() { e.Close() }
	}})
}

// TestRedisConforms watches a real server while traffic goes through real limiters.
func TestRedisConforms(t *testing.T) {
	addr := servertest.Start(t).Addr()
	traffic(t, addr)
	conform(t, conformCase{Refresh: refresh, Keys: 4, Open: func(t *testing.T) (feed.Source, func()) {
		r, err := feed.NewRedis(feed.Options{Watch: everyKey, URLs: []string{"redis://" + addr}, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return r, func() { r.Close() }
	}})
}

// TestRESP3Conforms does the same with a reading client that speaks RESP3.
func TestRESP3Conforms(t *testing.T) {
	addr := servertest.Start(t).Addr()
	traffic(t, addr)
	conform(t, conformCase{Refresh: refresh, Keys: 4, Open: func(t *testing.T) (feed.Source, func()) {
		r, err := feed.NewRedis(feed.Options{Watch: everyKey, URLs: []string{"redis://" + addr + "?protocol=3"}, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return r, func() { r.Close() }
	}})
}

// TestAwayConforms watches a port where nothing listens.
func TestAwayConforms(t *testing.T) {
	conform(t, conformCase{Refresh: refresh, Open: func(t *testing.T) (feed.Source, func()) {
		r, err := feed.NewRedis(feed.Options{Watch: everyKey, URLs: []string{"redis://127.0.0.1:1"}, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return r, func() { r.Close() }
	}})
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

// TestFedConforms reads an exporter that watches a real server while traffic goes through real limiters.
func TestFedConforms(t *testing.T) {
	addr := servertest.Start(t).Addr()
	traffic(t, addr)
	exporter := exports(t, addr)
	conform(t, conformCase{Refresh: refresh, Keys: 4, Open: func(t *testing.T) (feed.Source, func()) {
		s, err := relay.New(relay.Options{URLs: []string{exporter}})
		if err != nil {
			t.Fatal(err)
		}
		return s, func() {}
	}})
}

// exports returns the URL of an exporter of a server, which runs until the test ends.
func exports(t *testing.T, addr string) string {
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
	t.Cleanup(func() {
		stop()
		<-served
		r.Close()
	})
	return "http://" + l.Addr().String()
}

// TestFedReadingsAreThoseOfRedis: of keys at rest, a dashboard that is fed by an exporter has what one
// that reads the server has.
func TestFedReadingsAreThoseOfRedis(t *testing.T) {
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
	fed, err := relay.New(relay.Options{URLs: []string{exports(t, addr)}})
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
