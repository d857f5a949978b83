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
	for name, refresh := range map[string]time.Duration{"away for some looks": 5 * time.Millisecond, "away between two looks": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loseTheLimits(t, refresh)
		})
	}
}

func loseTheLimits(t *testing.T, refresh time.Duration) {
	s := servertest.Start(t)
	const limits = 22
	for i := range limits {
		s.CLI("XADD", "rl:"+strconv.Itoa(i), "*", "count", "1")
	}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, Refresh: refresh, Rules: []config.Rule{hourRule("*", limiter.StreamCounter)}}))
	servertest.Await(t, "all limits", func() bool { return len(run.Seen()) == limits })
	s.Kill()
	s.Start()
	for i := range 2 { // two are used again before the next look
		s.CLI("XADD", "rl:"+strconv.Itoa(i), "*", "count", "1")
	}
	var told model.Alert
	servertest.Await(t, "word of the restart", func() bool {
		var board model.Board
		for _, b := range run.All() {
			board.Apply(b)
		}
		for _, a := range board.Alerts() {
			if a.What == model.Restarted {
				told = a
				return true
			}
		}
		return false
	})
	if told.N < limits-2 || told.Of != limits {
		t.Errorf("%d of %d limits were forgotten, want %d or more of %d", told.N, told.Of, limits-2, limits)
	}
}
