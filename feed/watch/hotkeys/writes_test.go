package hotkeys

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/layout"
)

func now() limiter.Instant { return limiter.InstantOf(time.Now()) }

// TestTheAttacker: a million keys, one of which is written a hundredth as often as all the
// others together, is told from them for less than a percent of the server.
func TestTheAttacker(t *testing.T) {
	c := startServer(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var crowd sync.WaitGroup
	defer crowd.Wait()
	defer cancel()
	crowd.Go(func() { // about 4,000 writes a second all over the keyspace, and 40 of one key
		n := 0
		for tick := time.Tick(5 * time.Millisecond); ctx.Err() == nil; <-tick {
			p := c.Pipeline()
			for range 20 {
				n++
				p.Incr(ctx, "{rl:"+strconv.Itoa(n*7919%1_000_000)+"}:sw:60000")
			}
			if n/20%5 == 0 {
				p.Incr(ctx, "{rl:attacker}:sw:60000")
			}
			p.Exec(ctx)
		}
	})
	w := NewWrites(WritesOptions{Share: 0.0025, Prefixes: []string{"{rl:"}, Now: now, Name: func(key string) (string, bool) {
		name, _, _, ok := layout.ParseKey(key)
		return name, ok
	}})
	moments := 0
	var found time.Duration
	begun := time.Now()
	w.Run(ctx, func(context.Context) []*redis.Client {
		moments++
		if top := w.Top(1); len(top) > 0 && top[0].Name == "rl:attacker" && top[0].Rate-top[0].Err > 0 {
			found = time.Since(begun)
			cancel()
		}
		if time.Since(begun) > 90*time.Second {
			cancel()
		}
		return []*redis.Client{c}
	})
	rate, bound, duty := w.Sampling()
	t.Logf("found after %v and %d moments: %+v; %.0f writes/s in all, listened to for %.1f %% of the time, other keys have at most %.1f/s",
		found, moments, w.Top(1), rate, 100*duty, bound)
	if found == 0 {
		t.Fatalf("not found in 90 s: %+v", w.Top(5))
	}
	if top := w.Top(1)[0]; top.Key != "{rl:attacker}:sw:60000" {
		t.Errorf("its key is %q", top.Key)
	}
	if share := float64(w.Cost()) / float64(time.Since(begun)); share > 0.01 {
		t.Errorf("listening took %.2f %% of the server", 100*share)
	}
}

// TestWritesRefused: a server that does not let itself be listened to is named, and left
// alone.
func TestWritesRefused(t *testing.T) {
	c := startServer(t)
	o := *c.Options()
	o.Protocol = 2
	old := redis.NewClient(&o)
	defer old.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	w := NewWrites(WritesOptions{Share: 0.0025, Now: now, Name: func(k string) (string, bool) { return k, true }})
	turns := 0
	w.Run(ctx, func(context.Context) []*redis.Client { turns++; return []*redis.Client{old} })
	if err := w.Lack(); err == nil || !strings.Contains(err.Error(), "RESP3") || turns != 1 {
		t.Errorf("%v after %d turns", err, turns)
	}
	if top := w.Top(3); len(top) != 0 {
		t.Errorf("ranked %v of nothing", top)
	}
}
