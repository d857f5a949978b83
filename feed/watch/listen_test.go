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

// TestStreamsAreHeard sends requests to a stream on screen one after the other, each once
// the one before was seen: every request is counted once.
func TestStreamsAreHeard(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx := context.Background()
	s.CLI("XADD", "k", "*", "count", "1")
	r := feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Rules: []config.Rule{hourRule("k", limiter.StreamCounter)}})
	r.Focus([]string{"k"})
	run := feedtest.Run(t, r)
	for n := range int64(20) {
		servertest.Await(t, fmt.Sprintf("request %d", n), func() bool { return run.Came("k", false) == n+1 })
		if err := c.XAdd(ctx, feedtest.XAdd("k", "1")).Err(); err != nil {
			t.Fatal(err)
		}
	}
	servertest.Await(t, "the last request", func() bool { return run.Came("k", false) == 21 })
}

// TestQuittingDoesNotWaitForAFrozenServer ends a source while its server hangs.
func TestQuittingDoesNotWaitForAFrozenServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("XADD", "k", "*", "count", "1")
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"k"}, Refresh: 30 * time.Millisecond})
	run := feedtest.Run(t, r)
	servertest.Await(t, "the first reading", func() bool { _, ok := run.Reading("k"); return ok })
	s.Freeze()
	defer s.Thaw()
	servertest.Await(t, "word of the silence", func() bool { return run.Last().Server.Link == model.Down })
	begun := time.Now()
	run.Stop()
	if took := time.Since(begun); took > 500*time.Millisecond {
		t.Errorf("it ended after %v, as if it had waited for an answer", took)
	}
}
