package watch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// askedKeys returns the keys that the newest ranking says are asked again and again at their limits.
func askedKeys(run *feedtest.Running) string {
	all := run.All()
	for _, b := range slices.Backward(all) {
		if b.HotKeys != nil {
			var names []string
			for _, h := range b.HotKeys.Keys {
				if h.Asked.Known {
					names = append(names, h.Key)
				}
			}
			return strings.Join(names, " ")
		}
	}
	return ""
}

// TestAskedAtItsLimit: of 500 keys one is asked 40 times a second by a script that denies without writing, beside scripts that write
// elsewhere. It alone is named: not those at their limits that are at rest, nor a counter that shares the object of its value with a key
// that is read. After the storm none is, nor beside another ratescope, whose reads look the same.
func TestAskedAtItsLimit(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx, cancel := context.WithCancel(context.Background())
	log := redis.NewScript(`redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
		if redis.call('ZCARD', KEYS[1]) >= 5 then return 0 end
		redis.call('ZADD', KEYS[1], ARGV[2], ARGV[2]) redis.call('PEXPIRE', KEYS[1], 3600000) return 1`)
	ask := func(key string) {
		now := time.Now()
		log.Run(ctx, c, []string{key}, now.Add(-time.Hour).UnixMicro(), now.UnixMicro())
	}
	for i := range 500 {
		ask(fmt.Sprint("rl:user:", i))
	}
	for range 6 {
		ask("rl:user:434")
		ask("rl:user:77")
	}
	c.Set(ctx, "rlc:full", 5, time.Hour)
	c.Set(ctx, "elsewhere", 5, 0)
	rule := func(match string, a limiter.Algorithm) config.Rule {
		r := hourRule(match, a)
		r.Limit.Count = 5
		return r
	}
	o := feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*", "rlc:*"},
		Rules: []config.Rule{rule("rl:*", limiter.SlidingLog), rule("rlc:*", limiter.FixedWindow)}}
	storm, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for on, n, tick := true, 0, time.Tick(25*time.Millisecond); ; n++ {
			select {
			case <-ctx.Done():
				return
			case on = <-storm:
			case <-tick:
				c.Incr(ctx, "written")
				c.Get(ctx, "elsewhere")
				if on {
					ask("rl:user:434")
				}
				if n%4 == 0 {
					ask(fmt.Sprint("rl:user:", n%480))
				}
			}
		}
	}()
	run := feedtest.Run(t, feedtest.NewRedis(t, o))
	named := func(want string) {
		t.Helper()
		servertest.Await(t, fmt.Sprintf("asked at their limits: %q", want), func() bool {
			got := askedKeys(run)
			if got != "" && got != "rl:user:434" {
				t.Fatalf("%q are said to be asked at their limits", got)
			}
			return got == want
		})
	}
	named("rl:user:434")
	var b model.Board
	for _, batch := range run.All() {
		b.Apply(batch)
	}
	if top := b.Hottest(1); top[0].Key != "rl:user:434" {
		t.Errorf("the hottest key is said to be %q", top[0].Key)
	}
	storm <- false
	named("")
	storm <- true
	named("rl:user:434")
	feedtest.Run(t, feedtest.NewRedis(t, o))
	named("")
	cancel()
	<-ended
}

// TestFlushIsSeenAtTheNextLook: when a database is emptied beside other writes, the next reading of a key at its limit is of the whole
// key, and not only of what is new.
func TestFlushIsSeenAtTheNextLook(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c, ctx := s.Client(), t.Context()
	for i := range 40 {
		for n := range 5 {
			c.ZAdd(ctx, fmt.Sprint("rl:", i), redis.Z{Score: float64(time.Now().UnixMicro() - int64(n)), Member: n})
		}
		c.Expire(ctx, fmt.Sprint("rl:", i), time.Hour)
	}
	rule := hourRule("rl:*", limiter.SlidingLog)
	rule.Limit.Count = 5
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, Rules: []config.Rule{rule}}))
	written := time.NewTicker(50 * time.Millisecond)
	defer written.Stop()
	readings := func(from limiter.Instant) map[string]int {
		n := map[string]int{}
		for _, b := range run.All() {
			for _, r := range b.Readings {
				if r.At > from {
					n[r.Key]++
				}
			}
		}
		return n
	}
	await := func(what string, done func() bool) {
		t.Helper()
		servertest.Await(t, what, func() bool {
			c.Set(ctx, "other", 1, 0)
			<-written.C
			return done()
		})
	}
	await("three readings of a key at rest", func() bool { return readings(0)["rl:39"] > 6 })
	c.FlushAll(ctx)
	flushed := limiter.InstantOf(c.Time(ctx).Val())
	await("every key is read again", func() bool { return len(readings(flushed)) == 40 })
	for _, b := range run.All() {
		for _, r := range b.Readings {
			if r.At > flushed && len(r.State.Log) > 0 && r.Type != "none" {
				t.Errorf("%s after it is gone: %s of %d requests", r.Key, r.Type, len(r.State.Log))
			}
		}
	}
}
