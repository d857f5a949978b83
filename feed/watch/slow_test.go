package watch_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/connect"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/model"
)

// slowServer starts a server with limiters whose value and time to live have to agree, behind a
// proxy: n of redis_rate, of gin-rate-limit and of go-redisstore each.
func slowServer(t *testing.T, n int) (*servertest.Server, *servertest.Proxy) {
	t.Helper()
	s := servertest.Start(t)
	ctx, pipe, now := context.Background(), s.Client().Pipeline(), time.Now()
	const start2017 = 1483228800
	for i := range n {
		at := now.Add(time.Hour + time.Duration(i)*7*time.Millisecond)
		pipe.Set(ctx, "rate:user"+strconv.Itoa(i), fmt.Sprintf("%.6f", float64(at.UnixMicro())/1e6-start2017), 0)
		pipe.ExpireAt(ctx, "rate:user"+strconv.Itoa(i), at.Add(time.Second).Truncate(time.Second))
		client := fmt.Sprintf("10.0.%d.%d/api/", i/250, i%250)
		ends := time.Unix(now.Unix()+7200, 0)
		pipe.Set(ctx, client+"hits", 3, 0)
		pipe.Set(ctx, client+"ts", now.Unix(), 0)
		pipe.ExpireAt(ctx, client+"hits", ends)
		pipe.ExpireAt(ctx, client+"ts", ends)
		store := "store:user" + strconv.Itoa(i)
		pipe.HSet(ctx, store, "s", now.UnixNano(), "t", 0, "k", 7, "m", 10)
		pipe.PExpireAt(ctx, store, now.Add(3*time.Hour))
	}
	if _, err := pipe.Exec(ctx); err != nil && err != redis.Nil {
		t.Fatal(err)
	}
	p := servertest.StartProxy(t, s.Addr())
	t.Cleanup(p.Close)
	return s, p
}

// TestASlowLinkMakesNoKeySick watches limiters over 64 kB/s: none is unreadable, at first sight or when
// the link becomes slow, and all are found.
func TestASlowLinkMakesNoKeySick(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("slow from the first: %v", first), func(t *testing.T) {
			t.Parallel()
			const each = 100
			_, p := slowServer(t, each)
			slow := func(p *servertest.Proxy) { p.Rate, p.Delay = 64_000, 20*time.Millisecond }
			if first {
				p.Set(slow)
			}
			run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{"redis://" + p.Listener.Addr().String()}, Refresh: 50 * time.Millisecond}))
			servertest.Await(t, "all keys", func() bool { return len(run.Seen()) == 3*each })
			p.Set(slow)
			reads := make(map[string]int)
			read := run.Count()
			servertest.Await(t, "each key three times", func() bool {
				all := run.All()
				for _, b := range all[read:] {
					for _, r := range b.Readings {
						reads[r.Key]++
					}
				}
				read = len(all)
				for _, key := range run.Seen() {
					if reads[key] < 3 {
						return false
					}
				}
				return true
			})
			for _, b := range run.All() {
				for _, r := range b.Readings {
					if r.Err != "" || r.Partial || r.Target.Evidence != model.Known {
						t.Fatalf("over a slow link %s is said to be %q, partial %v, %v", r.Key, r.Err, r.Partial, r.Target.Evidence)
					}
				}
			}
		})
	}
}

// TestAStallFarAwayIsNotDown: a link of 1.5 s that stands still for three is far and not away, also where an order times out
// meanwhile; one over which nothing comes any more is away.
func TestAStallFarAwayIsNotDown(t *testing.T) {
	t.Parallel()
	s, p := slowServer(t, 10)
	go func(ctx context.Context, c *redis.Client) { // so that it is always waited for an answer
		for value := c.Get(ctx, "rate:user0").Val(); ctx.Err() == nil; <-time.After(20 * time.Millisecond) {
			c.Set(ctx, "rate:user0", value, redis.KeepTTL)
		}
	}(t.Context(), s.Client())
	far := func(p *servertest.Proxy) { p.Delay = 1500 * time.Millisecond }
	p.Set(far)
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{"redis://" + p.Listener.Addr().String()}, Watch: []string{"rate:*"}}))
	for seen := range 2 {
		servertest.Await(t, "answers", func() bool {
			return run.Count() > 3*seen && run.Last().Server.RTT > time.Second && len(run.Last().Readings) > 0
		})
		<-time.After(time.Second) // the next order is under way
		p.Set(func(p *servertest.Proxy) { far(p); p.Hold = true })
		<-time.After(3400 * time.Millisecond)
		p.Set(far)
	}
	for i, b := range run.All() {
		if b.Server.Link == model.Down {
			t.Fatalf("batch %d says that it is down: %s", i, b.Server.Err)
		}
	}
	p.Set(func(p *servertest.Proxy) { p.Hold = true })
	defer p.Set(far)
	servertest.Within(t, 20*time.Second, "the link is down", func() bool { return run.Last().Server.Link == model.Down })
}

// TestFarAwayInFewRoundTrips: 2,600 keys of four forms at a server that is far away are found and read in few round trips
// after each other, those that connect included: in 13, and in up to 17 where a round leaves just before keys are found, so that they
// wait for the next one.
func TestFarAwayInFewRoundTrips(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx, pipe, now := t.Context(), s.Client().Pipeline(), s.Now()
	const each = 650
	for i := range each {
		n := strconv.Itoa(i)
		pipe.ZAdd(ctx, "log:"+n, feedtest.Z(float64(now)-1e6, "a"), feedtest.Z(float64(now), "b"))
		pipe.PExpire(ctx, "log:"+n, time.Hour)
		pipe.Set(ctx, "count:"+n, i%100, time.Hour)
		pipe.HSet(ctx, "bucket:"+n, "tokens", 5, "at", int64(now))
		pipe.PExpire(ctx, "bucket:"+n, time.Hour)
		pipe.Set(ctx, "gcra:"+n, int64(now)+1e6, time.Hour)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	p := servertest.StartProxy(t, s.Addr())
	t.Cleanup(p.Close)
	p.Set(func(p *servertest.Proxy) { p.Delay = 400 * time.Millisecond })
	type span struct{ from, to time.Time }
	var mu sync.Mutex
	var trips []span
	_, got := feedtest.Once(t, feed.Options{URLs: []string{"redis://" + p.Listener.Addr().String()}, Watch: []string{"*:*"}, Trace: func(r connect.RoundTrip) {
		if r.Commands["type"]+r.Commands["pttl"]+r.Commands["zrangebyscore"]+r.Commands["scan"]+r.Commands["hello"]+r.Commands["client setname"] > 0 {
			now := time.Now()
			mu.Lock()
			defer mu.Unlock()
			trips = append(trips, span{now.Add(-r.Took), now})
		}
	}})
	if len(got) != 4*each {
		t.Fatalf("%d keys were read, want %d", len(got), 4*each)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.SortFunc(trips, func(a, b span) int { return a.to.Compare(b.to) })
	after, last := 0, time.Time{}
	for _, s := range trips {
		if !s.from.Before(last) {
			after, last = after+1, s.to
		}
	}
	if after > 17 {
		t.Errorf("%d round trips after each other, of %d in all, find and read the keys", after, len(trips))
	}
	t.Logf("%d round trips after each other, of %d in all", after, len(trips))
}
