package watch_test

import (
	"strconv"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestRestartThatLostTheLimits kills a server that saves nothing and starts it again: the
// board says how many of its limits were forgotten, also where the server was back before
// the next look, so that it never seemed to be away.
func TestRestartThatLostTheLimits(t *testing.T) {
	t.Parallel()
	for name, refresh := range map[string]time.Duration{"away for some looks": 5 * time.Millisecond, "away between two looks": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loseTheLimits(t, refresh, model.Restarted, func(s *servertest.Server) { s.Kill(); s.Start() })
		})
	}
	t.Run("flushed", func(t *testing.T) {
		t.Parallel()
		loseTheLimits(t, 5*time.Millisecond, model.Emptied, func(s *servertest.Server) { s.CLI("FLUSHALL") })
	})
}

// loseTheLimits waits for the alert that, after a server has lost its limits, counts them all.
func loseTheLimits(t *testing.T, refresh time.Duration, what model.AlertKind, lose func(*servertest.Server)) {
	s := servertest.Start(t)
	const limits = 22
	for i := range limits {
		s.CLI("XADD", "rl:"+strconv.Itoa(i), "*", "count", "1")
	}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, Refresh: refresh, Rules: []config.Rule{hourRule("*", limiter.StreamCounter)}}))
	servertest.Await(t, "all limits, and which run of the server it is", func() bool {
		all := run.All()
		return len(run.Seen()) == limits && all[len(all)-1].Server.RunID != ""
	})
	lose(s)
	for i := range 2 { // two are used again before the next look
		s.CLI("XADD", "rl:"+strconv.Itoa(i), "*", "count", "1")
	}
	var told model.Alert
	defer func() {
		if t.Failed() {
			all := run.All()
			t.Logf("told: %+v\n%d batches, the last: %+v", told, len(all), all[len(all)-1])
		}
	}()
	servertest.Await(t, "word of the loss", func() bool {
		var board model.Board
		for _, b := range run.All() {
			board.Apply(b)
		}
		for _, a := range board.Alerts() {
			if a.What == what {
				told = a
				return a.N >= limits-2
			}
		}
		return false
	})
	if told.N < limits-2 || told.Of != limits {
		t.Errorf("%d of %d limits were forgotten, want %d or more of %d", told.N, told.Of, limits-2, limits)
	}
}
