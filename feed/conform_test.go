package feed_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/feedtest"
	"ratescope/limiter"
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
	addr := startRedis(t)
	traffic(t, addr)
	feedtest.Conform(t, feedtest.Case{Refresh: refresh, Keys: 4, Open: func(t *testing.T) (feed.Source, func()) {
		r, err := feed.NewRedis(feed.Options{URLs: []string{"redis://" + addr}, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return r, func() { r.Close() }
	}})
}

// TestRESP3Conforms does the same with a reading client that speaks RESP3.
func TestRESP3Conforms(t *testing.T) {
	addr := startRedis(t)
	traffic(t, addr)
	feedtest.Conform(t, feedtest.Case{Refresh: refresh, Keys: 4, Open: func(t *testing.T) (feed.Source, func()) {
		r, err := feed.NewRedis(feed.Options{URLs: []string{"redis://" + addr + "?protocol=3"}, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return r, func() { r.Close() }
	}})
}

// TestAwayConforms watches a port where nothing listens.
func TestAwayConforms(t *testing.T) {
	feedtest.Conform(t, feedtest.Case{Refresh: refresh, Open: func(t *testing.T) (feed.Source, func()) {
		r, err := feed.NewRedis(feed.Options{URLs: []string{"redis://127.0.0.1:1"}, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		return r, func() { r.Close() }
	}})
}

func startRedis(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("RATESCOPE_REQUIRE_REDIS") != "" {
			t.Fatal("redis-server is not installed: run make test, which installs it")
		}
		t.Skip("SKIPPED: redis-server is not installed, so nothing was tested on a real server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command("redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return addr
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not listen")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// traffic sends requests to a key of each algorithm until the test ends.
func traffic(t *testing.T, addr string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	ctx := t.Context()
	var all sync.WaitGroup
	for _, a := range limiter.Algorithms() {
		l, err := limiter.NewRedis(client, a, limiter.WithDenials())
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
