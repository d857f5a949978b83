package watch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestThrottledKeysAreCounted: of many keys that are not on screen, a few at a time come to their limit on a server that
// others use. The board counts them all soon; where the budget does not allow to look so often, it says that it does not know.
func TestThrottledKeysAreCounted(t *testing.T) {
	t.Parallel()
	const keys, step, steps = 150, 20, 2
	const lateTold = 10 * time.Second // a write is known once it is announced, for which a busy machine lets a program wait
	for name, budget := range map[string]float64{"the usual budget": 0, "a tenth of a percent": 0.001} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t)
			c, ctx := s.Client(), context.Background()
			hit := func(from, to, times int) {
				p := c.Pipeline()
				for i := from; i < to; i++ {
					key := fmt.Sprintf("rl:user%d", i)
					p.IncrBy(ctx, key, int64(times))
					p.Expire(ctx, key, time.Hour)
				}
				if _, err := p.Exec(ctx); err != nil {
					t.Fatal(err)
				}
			}
			hit(0, keys, 1)
			rule := hourRule("rl:*", limiter.FixedWindow)
			rule.Limit.Count, rule.LimitKnown = 10, true
			run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, Budget: budget,
				Rules: []config.Rule{rule}}))
			var board model.Board
			applied, begun, filled := 0, limiter.Instant(0), 0
			counted := func() int {
				c.Incr(ctx, "other") // the server is never idle
				for _, b := range run.All()[applied:] {
					applied++
					board.Apply(b)
					if begun > 0 && b.Sweep.Behind == 0 && b.At.Sub(begun) > lateTold && board.Totals().Throttled < filled {
						t.Fatalf("%v after %d keys were filled, %d are counted, and none is said not to have been read",
							b.At.Sub(begun), filled, board.Totals().Throttled)
					}
				}
				return board.Totals().Throttled
			}
			servertest.Await(t, "every key is read", func() bool { counted(); return board.Len() == keys && board.Sweep.Passes > 0 })
			for filled < step*steps {
				hit(filled, filled+step, 9)
				filled, begun = filled+step, s.Now()
				servertest.Await(t, fmt.Sprintf("%d keys are counted as throttled, or some are said not to have been read", filled), func() bool {
					return counted() == filled || board.Sweep.Behind > 0
				})
			}
			what, want := "nothing is missed", func() bool { return board.Sweep.Behind == 0 && board.Totals().Throttled == filled }
			if budget > 0 {
				what, want = "with so small a budget some keys are said not to have been read within a second", func() bool {
					hit(0, keys, 0) // a write that changes nothing
					return board.Sweep.Behind > 0
				}
			}
			servertest.Await(t, what, func() bool { counted(); return want() })
		})
	}
}
