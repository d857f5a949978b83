package watch_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
)

// TestRetryStorm reads the figure of calls that added nothing from a real server: beside scripts that each
// write at keys that are not watched there are none, and a storm of refusals at one key among them is seen.
func TestRetryStorm(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c, ctx := s.Client(), context.Background()
	counter := redis.NewScript(`local n = redis.call('INCR', KEYS[1]) redis.call('PEXPIRE', KEYS[1], 60000) return n`)
	log := redis.NewScript(`redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
		if redis.call('ZCARD', KEYS[1]) >= 5 then return 0 end
		redis.call('ZADD', KEYS[1], ARGV[2], ARGV[2]) redis.call('PEXPIRE', KEYS[1], 60000) return 1`)
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, Refresh: 50 * time.Millisecond}))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	storm := make(chan bool)
	go func() {
		defer close(storm)
		for denied, tick := false, time.Tick(10*time.Millisecond); ; {
			select {
			case <-ctx.Done():
				return
			case denied = <-storm:
			case <-tick:
				counter.Run(ctx, c, []string{"other"})
				if now := time.Now(); denied {
					log.Run(ctx, c, []string{"rl:storm"}, now.Add(-time.Hour).UnixMilli(), now.UnixMicro())
				}
			}
		}
	}()
	examinations := func(n int) (least, most float64) {
		t.Helper()
		from := run.Count()
		var seen []float64
		servertest.Await(t, "examinations of the server", func() bool {
			seen = nil
			for _, b := range run.All()[from:] {
				if b.Health != nil && b.Health.Fruitless.Known {
					seen = append(seen, b.Health.Fruitless.V)
				}
			}
			return len(seen) >= n
		})
		return min(seen[n-1], seen[n-2]), max(seen[n-1], seen[n-2])
	}
	if _, most := examinations(3); most > 0 {
		t.Errorf("scripts that each added something: %.1f a second are said to have added nothing", most)
	}
	storm <- true
	if least, _ := examinations(3); least <= 0 { // how many come is for the machine to say
		t.Errorf("with calls that are denied beside them, %.1f a second are said to have added nothing", least)
	}
	cancel()
	<-storm
}
