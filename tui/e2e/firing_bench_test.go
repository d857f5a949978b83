package e2e

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// BenchmarkFiringBesideTheScreen sends as many requests as there is room for through one connection, by
// the limiter's own script, while a dashboard of 160x48 shows their key, and tells both rates. It goes
// beneath the injector, whose caps are model.MaxRate and fire.InFlight. One iteration is ten seconds.
func BenchmarkFiringBesideTheScreen(b *testing.B) {
	need(b, "script")
	s := startRedis(b)
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: 1, MaxRetries: -1})
	defer c.Close()
	store, err := redisstore.New(c, limiter.SlidingWindow, redisstore.WithBatches(1), redisstore.WithPrefix(""))
	if err != nil {
		b.Fatal(err)
	}
	limit := limiter.Limit{Count: 1_000_000, Window: 10 * time.Second}
	frames := watched(b, program+" --redis "+s.URL())
	servertest.Await(b, "the dashboard", func() bool { return frames.Load() > 10 })
	const callers, span = 1024, 10 * time.Second
	for b.Loop() {
		ctx, stop := context.WithTimeout(b.Context(), span)
		var done atomic.Int64
		var all sync.WaitGroup
		begun, drawn := time.Now(), frames.Load()
		for range callers {
			all.Go(func() {
				for ctx.Err() == nil {
					if _, err := store.AllowN(ctx, "api:search", limit, 1); err == nil {
						done.Add(1)
					} else if ctx.Err() == nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		stop()
		took := time.Since(begun).Seconds()
		b.ReportMetric(float64(done.Load())/took, "requests/s")
		b.ReportMetric(float64(frames.Load()-drawn)/took, "frames/s")
	}
	if n := c.PoolStats().TotalConns; n > 1 { // 0 when the last requests were given up
		b.Errorf("the requests went through %d connections", n)
	}
	b.ReportMetric(0, "ns/op")
}

// watched runs a command in a terminal until the benchmark ends and counts the frames that it draws:
// what it writes without a pause of half a frame.
func watched(b *testing.B, command string) *atomic.Int64 {
	b.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "script", "-qfec", "stty rows 48 cols 160; exec "+command, "/dev/null")
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "XDG_STATE_HOME="+b.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	frames, ended := &atomic.Int64{}, make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 1<<20)
		last := time.Time{}
		for {
			_, err := out.Read(buffer)
			if now := time.Now(); now.Sub(last) > 50*time.Millisecond {
				frames.Add(1)
				last = now
			}
			if err != nil {
				return
			}
		}
	}()
	b.Cleanup(func() {
		_, err := io.WriteString(in, "q")
		select {
		case <-ended:
		case <-time.After(servertest.Patience):
			err = errors.Join(err, errors.New("the dashboard did not end"))
		}
		stop()
		_ = cmd.Wait() // what is measured has happened
		if err != nil {
			b.Error(err)
		}
	})
	return frames
}
