package watch_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// TestAHotLogThatLosesMembers counts a sorted set that is too busy to be fetched, whose owner
// keeps a shorter window than the rule says, and which is deleted and begun again.
func TestAHotLogThatLosesMembers(t *testing.T) {
	t.Parallel()
	const window = 10 * time.Minute // of which nothing leaves during the test, however long it takes
	s := servertest.Start(t)
	c := s.Client()
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"hot"}, Refresh: 50 * time.Millisecond, Rules: []config.Rule{{Match: "hot", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 100, Window: window}, LimitKnown: true}}})
	r.Focus([]string{"hot"})
	run := feedtest.Run(t, r)
	// fill puts the key there at once, so that all of it is old enough to be counted once.
	fill := func(members int, over time.Duration) {
		now := s.Now()
		for from := 0; from < members; from += 1000 {
			var batch []redis.Z
			for k := from; k < from+1000; k++ {
				at := now.Add(-over * time.Duration(k) / time.Duration(members))
				batch = append(batch, redis.Z{Score: float64(at.Millis()), Member: strconv.Itoa(k)})
			}
			if err := c.ZAdd(context.Background(), "made", batch...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		s.CLI("RENAME", "made", "hot")
	}
	agree := func(what string) {
		t.Helper()
		var got, want int64
		servertest.Await(t, what, func() bool {
			want = c.ZCount(context.Background(), "hot", fmt.Sprint(s.Now().Add(-window).Millis()), "+inf").Val()
			r, ok := run.Reading("hot")
			got = feedtest.Used(r) // as of its own instant
			return ok && r.Approximate && got == want
		})
	}
	fill(20_000, 500*time.Second)
	agree("the count of all")
	cut := s.Now().Add(-250 * time.Second)
	if err := c.ZRemRangeByScore(context.Background(), "hot", "-inf", fmt.Sprint(cut.Millis())).Err(); err != nil {
		t.Fatal(err)
	}
	agree("the count of what its owner left")
	fill(9_000, 10*time.Second)
	agree("the count of the new one")
}

// TestACounterThatIsDeleted: a program that deletes the counter of the window before frees a weighted
// counter, as the reading says.
func TestACounterThatIsDeleted(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: feedtest.EveryKey, Refresh: 50 * time.Millisecond,
		Rules: []config.Rule{{Match: "*", Algorithm: limiter.SlidingWindow, Limit: limiter.Limit{Count: 100, Window: time.Hour}, LimitKnown: true}}}))
	cur := s.Now().Floor(time.Hour)
	name := func(start limiter.Instant) string { return fmt.Sprintf("rl:api:alice:%d", start.Millis()/1000) }
	s.CLI("SET", name(cur), "20", "PX", "7200000")
	s.CLI("SET", name(cur.Add(-time.Hour)), "100000", "PX", "7200000")
	servertest.Await(t, "both windows", func() bool {
		r, ok := run.Reading("rl:api:alice")
		return ok && r.State.Previous == 100_000 && r.State.Current == 20
	})
	s.CLI("DEL", name(cur.Add(-time.Hour)))
	servertest.Await(t, "the window before to be nothing", func() bool {
		r, _ := run.Reading("rl:api:alice")
		return r.State.Previous == 0 && feedtest.Used(r) == 20
	})
}

// TestAServerThatIsEmptied: the limiters of a server that was emptied are gone soon, though their windows were an hour,
// and one that was deleted alone is waited for.
func TestAServerThatIsEmptied(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"FLUSHALL"}, {"SWAPDB", "0", "1"}} {
		t.Run(command[0], func(t *testing.T) {
			t.Parallel()
			emptied(t, command...)
		})
	}
}

// emptied watches a server that a command empties, and that is filled again.
func emptied(t *testing.T, command ...string) {
	s := servertest.Start(t)
	c, ctx := s.Client(), t.Context()
	fill := func() {
		for i := range 40 {
			if err := c.Set(ctx, "rl:"+strconv.Itoa(i), 5, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, Refresh: 50 * time.Millisecond,
		Rules: []config.Rule{{Match: "rl:*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 100, Window: time.Hour}, LimitKnown: true}}}))
	servertest.Await(t, "all keys", func() bool { return len(run.Seen()) == 40 })
	gone := map[string]bool{}
	read := 0
	left := func() int {
		all := run.All()
		for _, b := range all[read:] {
			for _, k := range b.Gone {
				gone[k] = true
			}
		}
		read = len(all)
		return len(gone)
	}
	s.CLI("DEL", "rl:7")
	servertest.Await(t, "one key that does not exist", func() bool { r, _ := run.Reading("rl:7"); return r.Type == "none" })
	s.CLI(command...)
	servertest.Await(t, "all to be gone", func() bool { return left() == 40 })
	fill()
	there := func() (n int) {
		for i := range 40 {
			if r, _ := run.Reading(fmt.Sprintf("rl:%d", i)); r.Type == "string" {
				n++
			}
		}
		return n
	}
	servertest.Await(t, "all keys again", func() bool { return there() == 40 })
}
