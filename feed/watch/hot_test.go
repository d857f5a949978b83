package watch_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/model"
	"ratescope/model/collect"
)

// crowded fills a server with n logs of one old request each, and lets a client hit one of them 500 times a second, from when
// attacked is set, while a crowd hits the others 2,000 times a second in all; both less often on a busy machine.
func crowded(t testing.TB, s *servertest.Server, n int, attacked *atomic.Bool) (attacker string) {
	t.Helper()
	c := s.Client()
	ctx, cancel := context.WithCancel(context.Background())
	const fill = `local t = redis.call('TIME') local now = t[1] * 1000000 + t[2]
		for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do redis.call('ZADD', 'rl:user:' .. i, now - i % 50000000, i) end`
	for i := 0; i < n; i += 20_000 {
		if err := c.Eval(ctx, fill, nil, i, min(i+20_000, n)-1).Err(); err != nil && err != redis.Nil {
			t.Fatal(err)
		}
	}
	attacker = "rl:user:" + strconv.Itoa(n*2/3)
	done := make(chan bool)
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			p := c.Pipeline()
			at := time.Now().UnixMicro()
			for k := range 20 {
				p.ZAdd(ctx, "rl:user:"+strconv.Itoa((i*20+k)*7919%n), redis.Z{Score: float64(at), Member: fmt.Sprint(at, "-", k)})
			}
			for k := range collect.If(attacked.Load(), 5, 0) {
				p.ZAdd(ctx, attacker, redis.Z{Score: float64(at), Member: fmt.Sprint(at, "+", k)})
			}
			p.Exec(ctx)
			<-tick.C
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return attacker
}

// TestAttackerAmongMany: far more limiters than may be read, of which one is hit again and again once the board is full. It
// comes on the board and on top, the others are counted, and the server gives about its budget. RATESCOPE_CROWD sets how many
// keys there are.
func TestAttackerAmongMany(t *testing.T) {
	t.Parallel()
	n, most := 4_000, 100
	if v, err := strconv.Atoi(os.Getenv("RATESCOPE_CROWD")); err == nil {
		n, most = v, 500
	}
	s := servertest.Start(t)
	var attacked atomic.Bool
	attacker := crowded(t, s, n, &attacked)
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, MaxKeys: most, Budget: 0.01, Rules: []config.Rule{hourRule("rl:*", 0)}})
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	var board model.Board
	var found, full time.Duration
	var cost model.Cost
	begun := time.Now()
	if err := r.Run(ctx, func(b model.Batch) {
		board.Apply(b)
		if board.Len() > most {
			t.Errorf("%d keys on the board, at most %d are allowed", board.Len(), most)
		}
		if full == 0 && board.Len() == most {
			full = time.Since(begun)
			attacked.Store(true)
		}
		top := board.Hottest(1)
		if found == 0 && len(top) > 0 && top[0].Key == attacker && top[0].Watched && top[0].Writes.Known {
			found = time.Since(begun)
		}
		if found > 0 {
			cost.Server += b.Cost.Server
			cost.Over += b.Cost.Over
			cost.Commands += b.Cost.Commands
		}
		k := board.Key(attacker)
		if found > 0 && cost.Over > 3*time.Second && board.Sweep.Dropped >= 100 && k != nil && k.Gauge.Used.N >= 100 {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	top := board.Hottest(3)
	t.Logf("%d keys: the board was full after %v, the attacker on top after %v; %d dropped, %.0f %% of the keyspace seen; %.2f %% of the server, %.0f commands/s; heard %+v\n%+v",
		n, full, found, board.Sweep.Dropped, 100*float64(board.Sweep.Scanned)/float64(max(board.Sweep.Total, 1)), 100*float64(cost.Server)/float64(cost.Over), float64(cost.Commands)/cost.Over.Seconds(), board.HotKeys.Sources, top)
	if found == 0 {
		t.Fatalf("not found: %+v", top)
	}
	if d := board.Sweep.Dropped; d < 100 || d > n {
		t.Errorf("%d keys are said to be dropped of %d", d, n)
	}
	// The budget is 1 %: what commands cost is measured, and on a busy machine by a server that is
	// interrupted, so that only a cost without bounds is found here. BenchmarkWatching tells it exactly.
	if share := float64(cost.Server) / float64(cost.Over); share > 0.1 {
		t.Errorf("watching took %.2f %% of the server", 100*share)
	}
	if k := board.Key(attacker); k == nil || k.Gauge.Used.N < 100 {
		t.Errorf("%s is read as %+v, want at least its limit of 100 used", attacker, k)
	}
}

// readOften starts a server that keeps LFU counters with many logs, of which one is read and
// never written, as a limiter does that denies and charges nothing.
func readOften(t *testing.T, args ...string) (s *servertest.Server, key string) {
	t.Helper()
	s = servertest.Start(t, args...)
	c := s.Client()
	ctx, cancel := context.WithCancel(context.Background())
	at := float64(s.Now())
	p := c.Pipeline()
	for i := range 300 {
		p.ZAdd(ctx, "rl:user:"+strconv.Itoa(i), redis.Z{Score: at, Member: "m"})
	}
	if _, err := p.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	key = "rl:user:210"
	done := make(chan bool)
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			p := c.Pipeline()
			for range 20 {
				p.ZCard(ctx, key)
			}
			p.Exec(ctx)
			<-tick.C
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return s, key
}

// ranked waits until a key is on top of the ranking, read, and with a figure that ok likes.
func ranked(t *testing.T, o feed.Options, key string, ok func(model.Hottest) bool) model.Board {
	t.Helper()
	r := feedtest.NewRedis(t, o)
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	var board model.Board
	found := false
	if err := r.Run(ctx, func(b model.Batch) {
		board.Apply(b)
		top := board.Hottest(1)
		if len(top) == 1 && top[0].Key == key && top[0].Watched && ok(top[0]) {
			found = true
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Fatalf("%s is not on top: %+v, %q", key, board.Hottest(3), board.HotKeys.Sources)
	}
	return board
}

// TestReadAndNeverWritten finds a key by its LFU counter, among more than are read.
func TestReadAndNeverWritten(t *testing.T) {
	t.Parallel()
	s, key := readOften(t, "--maxmemory", "200mb", "--maxmemory-policy", "allkeys-lfu")
	board := ranked(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, MaxKeys: 100, Rules: []config.Rule{hourRule("rl:*", 0)}}, key,
		func(h model.Hottest) bool { return h.Counter.Known && h.Counter.V > 1000 })
	if h := board.Hottest(2); h[1].Counter.V > h[0].Counter.V/10 {
		t.Errorf("a key that no client uses has the counter %+v", h[1])
	}
	t.Log(board.HotKeys.Sources, board.Hottest(1))
}
