package feed_test

import (
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

const refresh = 40 * time.Millisecond

func TestEmbeddedConforms(t *testing.T) {
	feedtest.Conform(t, feedtest.Case{Refresh: refresh, Keys: 10, Open: func(t *testing.T) (feed.Source, func()) {
		e, err := feed.NewEmbedded(feed.Options{Refresh: refresh})
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
	feedtest.Conform(t, feedtest.Case{Refresh: refresh, Keys: 4, Open: func(t *testing.T) (feed.Source, func()) {
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
	feedtest.Conform(t, feedtest.Case{Refresh: refresh, Keys: 4, Open: func(t *testing.T) (feed.Source, func()) {
		r, err := feed.NewRedis(feed.Options{Watch: everyKey, URLs: []string{"redis://" + addr + "?protocol=3"}, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return r, func() { r.Close() }
	}})
}

// TestAwayConforms watches a port where nothing listens.
func TestAwayConforms(t *testing.T) {
	feedtest.Conform(t, feedtest.Case{Refresh: refresh, Open: func(t *testing.T) (feed.Source, func()) {
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
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	ctx := t.Context()
	var all sync.WaitGroup
	for _, a := range limiter.Algorithms() {
		l, err := redisstore.New(client, a, redisstore.WithDenials(), redisstore.WithPrefix(""))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := l.AllowN(ctx, "traffic:"+a.String(), limiter.Limit{Count: 50, Window: 5 * time.Second}, 1); err != nil && ctx.Err() == nil {
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
