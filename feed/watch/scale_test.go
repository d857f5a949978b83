package watch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/model"
)

// fillKeys writes n logs, streams and counters, each with a few requests in the last minute.
func fillKeys(t testing.TB, s *servertest.Server, n int) {
	t.Helper()
	c := s.Client()
	ctx := context.Background()
	now := s.Now()
	p := c.Pipeline()
	for i := range n {
		switch i % 3 {
		case 0:
			for k := range 5 {
				at := int64(now) - int64(k)*7_000_000
				p.ZAdd(ctx, "z:"+strconv.Itoa(i), redis.Z{Score: float64(at), Member: strconv.FormatInt(at, 10)})
			}
		case 1:
			for range 5 {
				p.XAdd(ctx, feedtest.XAdd("s:"+strconv.Itoa(i), "1"))
			}
		default:
			p.Set(ctx, fmt.Sprintf("{c:%d}:sw:%d", i, now.Floor(time.Minute).Millis()), 5, 2*time.Minute)
		}
		if p.Len() > 1000 {
			if _, err := p.Exec(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := p.Exec(ctx); err != nil {
		t.Fatal(err)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestThousandsOfKeys watches two thousand keys: all are read, the server is asked for about
// its share, and memory stays flat. RATESCOPE_SOAK=10m makes them ten thousand, for ten
// minutes, and logs how far batches are apart; BenchmarkWatching measures the rest.
func TestThousandsOfKeys(t *testing.T) {
	n, soak := 2000, time.Second
	if v, err := time.ParseDuration(os.Getenv("RATESCOPE_SOAK")); err == nil {
		n, soak = 10_000, v
	}
	s := servertest.Start(t)
	fillKeys(t, s, n)
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: feedtest.EveryKey, MaxKeys: n,
		Rules: []config.Rule{{Match: "*", Window: time.Minute}}})
	r.Focus([]string{"z:0", "s:1", "c:2"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	traffic := s.Client()
	go func() { // another client is always writing
		for ctx.Err() == nil {
			i := rand.IntN(n)
			at := time.Now().UnixMicro()
			traffic.ZAdd(ctx, "z:"+strconv.Itoa(i-i%3), redis.Z{Score: float64(at), Member: at})
			time.Sleep(2 * time.Millisecond)
		}
	}()
	seen := map[string]bool{}
	var cost model.Cost
	var before, after uint64
	var gaps []time.Duration
	var last, full time.Time
	var proc, busy time.Duration
	var from time.Time
	begun := time.Now()
	if err := r.Run(ctx, func(b model.Batch) {
		if !last.IsZero() {
			gaps = append(gaps, b.Local.Sub(last))
		}
		last = b.Local
		for _, x := range b.Readings {
			seen[x.Key] = true
		}
		if len(seen) == n && full.IsZero() && b.Sweep.Passes > 0 {
			full = time.Now()
			before = heap()
			t.Logf("all %d keys were read and the first pass done %v after the start", n, time.Since(begun))
		}
		if settled := !full.IsZero() && time.Since(full) > soak/2; settled { // the first pass may cost more
			if busy == 0 {
				busy, proc, from = s.CPU(), cpu(), time.Now()
			}
			cost.Commands += b.Cost.Commands
			cost.Server += b.Cost.Server
			cost.Over += b.Cost.Over
			if time.Since(from) > soak {
				cancel()
			}
		}
		if time.Since(begun) > soak+2*servertest.Patience {
			t.Errorf("only %d keys were read: %+v", len(seen), b.Sweep)
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	after = heap()
	slices.Sort(gaps)
	share := float64(cost.Server) / float64(cost.Over)
	t.Logf("server: %.2f %% of its time by our estimate, %.2f %% of a core in all (with the traffic), %.0f commands/s; here: %.1f %% of a core, heap %d → %d KiB; gap between batches: median %v, p99 %v",
		100*share, 100*float64(s.CPU()-busy)/float64(time.Since(from)), float64(cost.Commands)/cost.Over.Seconds(), 100*float64(cpu()-proc)/float64(time.Since(from)), before>>10, after>>10, gaps[len(gaps)/2], gaps[len(gaps)*99/100])
	if share > 0.03 { // of 0.01, by prices that a busy machine raises while they are measured
		t.Errorf("watching took %.2f %% of the server, want about 1 %%", 100*share)
	}
	if after > before+before/3+4<<20 {
		t.Errorf("the heap grew from %d to %d KiB", before>>10, after>>10)
	}
}
