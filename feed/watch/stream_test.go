package watch_test

import (
	"context"
	"fmt"
	"strconv"
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

// fillStream adds n entries, evenly spread over the time before the server's clock, each of
// so many units, with a running total where the stream is to have one.
func fillStream(t *testing.T, c *redis.Client, key string, n, units int, over time.Duration, totals bool) {
	t.Helper()
	ctx := context.Background()
	end := c.Time(ctx).Val().UnixMilli()
	pipe := c.Pipeline()
	for i := range n {
		id := end - over.Milliseconds() + over.Milliseconds()*int64(i)/int64(n)
		values := []any{"count", units}
		if totals {
			values = append(values, "total", units*(i+1))
		}
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: strconv.FormatInt(id, 10) + "-" + strconv.Itoa(i+1), Values: values})
		if pipe.Len() == 1000 || i == n-1 {
			if _, err := pipe.Exec(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLongStreamsAreCounted reads streams of more entries than a look can fetch, with and
// without running totals: one look counts them all, and finds the key over its limit.
func TestLongStreamsAreCounted(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	limit := limiter.Limit{Count: 20_000, Window: 5 * time.Minute}
	for _, totals := range []bool{false, true} {
		key := fmt.Sprintf("rl:totals=%v", totals)
		fillStream(t, c, key, 50_000, 2, 4*time.Minute, totals)
		rule := config.Rule{Match: "rl:*", Algorithm: limiter.StreamCounter, Limit: limit, LimitKnown: true}
		_, got := feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{key}, Rules: []config.Rule{rule}})
		r := got[key]
		g := r.Gauge(r.At)
		if r.Partial || g.Used != (model.Count{Known: true, N: 100_000}) || !g.Throttled() {
			t.Errorf("%s: partial %v, used %+v, throttled %v: want 100000 units and no room", key, r.Partial, g.Used, g.Throttled())
		}
		var told int64
		bins := map[int64]int64{}
		for _, a := range r.Arrivals {
			told += a.N
			bins[int64(r.At.Sub(a.At)/(30*time.Second))] += a.N
		}
		if told != 100_000 {
			t.Errorf("%s: %d of 100000 units were told as arrivals", key, told)
		}
		for ago, n := range bins {
			if ago > 0 && ago < 7 && (n < 11_000 || n > 14_000) {
				t.Errorf("%s: %d units came %d half minutes ago: want about 12500 in each but those at the ends", key, n, ago)
			}
		}
	}
}

// TestUnreadStreamHasNoVerdict follows a stream that takes several looks to be read: until
// it is, what is used is unknown, a note says at least how much, and nothing is called
// admitted or throttled; every unit is told once.
func TestUnreadStreamHasNoVerdict(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	fillStream(t, s.Client(), "rl:long", 60_000, 1, 4*time.Minute, false)
	rule := config.Rule{Match: "rl:*", Algorithm: limiter.StreamCounter, Limit: limiter.Limit{Count: 1000, Window: 5 * time.Minute}, LimitKnown: true}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"rl:long"}, Rules: []config.Rule{rule}, Refresh: 20 * time.Millisecond}))
	partial := 0
	servertest.Await(t, "the stream to be read whole", func() bool {
		r, ok := run.Reading("rl:long")
		if !ok {
			return false
		}
		g := r.Gauge(r.At)
		if r.Partial {
			partial++
			if g.Used.Known || g.NextKnown || g.Remaining.Known || g.Exact.Known || g.RateKnown {
				t.Fatalf("a part of a stream has a verdict: %+v", g)
			}
			if !strings.Contains(fmt.Sprint(r.Notes), "still being read: at least") {
				t.Fatalf("the notes are %q", r.Notes)
			}
			return false
		}
		return g.Used == model.Count{Known: true, N: 60_000} && g.Throttled() && !strings.Contains(fmt.Sprint(r.Notes), "still being read")
	})
	if partial == 0 {
		t.Error("60000 entries were read in one look: the test shows nothing")
	}
	if n := run.Came("rl:long", false); n != 60_000 {
		t.Errorf("%d of 60000 units were told", n)
	}
}
