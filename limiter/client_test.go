package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
)

// TestAutoPipeline runs the whole suite through go-redis' automatic pipeliner, which is
// experimental there, and a choice here.
func TestAutoPipeline(t *testing.T) {
	client := limitertest.Client(t)
	piped, err := client.AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = piped.Close() })
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			limitertest.Run(t, limitertest.Subject{Algorithm: a, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
				if err := client.FlushAll(context.Background()).Err(); err != nil {
					t.Fatal(err)
				}
				return newRedis(t, piped, a, limiter.WithClock(now), limiter.WithConvention(c))
			}})
		})
	}
}

// TestCluster runs the whole suite on a cluster, where everything that a decision touches
// has to be in one slot.
func TestCluster(t *testing.T) {
	client := limitertest.Cluster(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			limitertest.Run(t, limitertest.Subject{Algorithm: a, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
				if err := client.FlushAll(ctx).Err(); err != nil {
					t.Fatal(err)
				}
				return newRedis(t, client, a, limiter.WithClock(now), limiter.WithConvention(c))
			}})
		})
		l := newRedis(t, client, a, limiter.WithDenials(), limiter.WithBlock(time.Minute))
		for _, key := range []string{"user:42", "{user:42}:api", "a{b}c{d}"} {
			for range 7 {
				allow(t, l, key, minute, 1)
			}
			if n := client.XLen(ctx, limiter.DeniedKey(key)).Val(); n != 2 {
				t.Errorf("%s, key %q: %d denials recorded, want 2", a, key, n)
			}
			together := newRedis(t, client, a, limiter.WithDenials())
			if all, err := together.AllowAll(ctx, key, 1, pair...); err != nil || !limiter.Together(all).Allowed {
				t.Errorf("%s, key %q: several limits: %v", a, key, err)
			}
			if err := l.Reset(ctx, key); err != nil {
				t.Errorf("%s, key %q: reset: %v", a, key, err)
			}
		}
	}
	l := newRedis(t, client, limiter.SlidingLog, limiter.WithDenials())
	if _, err := l.AllowN(ctx, "a}", minute, 1); err == nil || !strings.Contains(err.Error(), "hash tag") {
		t.Errorf("a key whose slot no other name has: %v", err)
	}
}

// TestRestartUnderLoad takes the server away and brings it back empty, without its
// scripts, while clients ask. Every answer in between is an error that says so, and
// afterwards decisions go on.
func TestRestartUnderLoad(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		limitertest.Address(t) // skips or fails, and says why
	}
	address := limitertest.Address(t)
	client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second})
	t.Cleanup(func() { _ = client.Close() })
	l := newRedis(t, client, limiter.StreamCounter)
	limit := limiter.Limit{Count: 1 << 30, Window: time.Minute}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var mu sync.Mutex
	ok, failed := 0, 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				d, err := l.AllowN(context.Background(), "k", limit, 1)
				mu.Lock()
				switch {
				case err != nil:
					failed++
				case d.Allowed:
					ok++
				}
				mu.Unlock()
				if err != nil && (errors.Is(err, limiter.ErrBadRequest) || errors.Is(err, limiter.ErrWrongType)) {
					t.Errorf("a server that is away was taken for %v", err)
				}
			}
		})
	}
	count := func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		return ok, failed
	}
	await := func(what string, done func(ok, failed int) bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !done(count()); {
			if time.Now().After(deadline) {
				stop()
				t.Fatalf("%s did not happen", what)
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	await("deciding", func(ok, _ int) bool { return ok > 100 })
	_ = client.Shutdown(ctx).Err() // the connection ends without an answer
	await("failing", func(_, failed int) bool { return failed > 20 })
	_, port, _ := cut(address)
	again := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = again.Process.Kill()
		_ = again.Wait()
	})
	before, _ := count()
	await("deciding again", func(ok, _ int) bool { return ok > before+100 })
	stop()
	wg.Wait()
}

func cut(address string) (host, port string, err error) {
	_, err = fmt.Sscanf(address, "127.0.0.1:%s", &port)
	return "127.0.0.1", port, err
}

// FuzzParseLimit reads whatever is typed: what is accepted means the same when it is
// written out again.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"100/1m", "100/60s", "10/s", "5/500ms", "1/2d", "", "/", "100/", "-5/1m", "10/0s", "1/1e9s", "9223372036854775807/9999999d", "１/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := limiter.ParseLimit(s)
		if err != nil {
			return
		}
		again, err := limiter.ParseLimit(fmt.Sprintf("%d/%v", l.Count, l.Window))
		if err != nil || again != l {
			t.Fatalf("%q is %+v, which is read back as %+v, %v", s, l, again, err)
		}
	})
}
