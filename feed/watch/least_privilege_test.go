package watch_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// refusals counts the NOPERM replies that a server has given.
func refusals(s *servertest.Server) int {
	for line := range strings.Lines(s.CLI("INFO", "errorstats")) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "errorstat_NOPERM:count="); ok {
			count, _ := strconv.Atoi(n)
			return count
		}
	}
	return 0
}

// TestLeastPrivilege watches as a user who may read the limiters and nothing beside them: it
// is refused a few times at the start and hardly ever after that, with limiters that come
// and with one that it may not read, and the denials are said to be unreadable.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("ACL", "SETUSER", "watcher", "on", ">pw", "~rl:*", "+@read", "+ping", "+info", "+time", "+scan", "+type")
	const keys = 60
	for i := range keys {
		s.CLI("XADD", "rl:"+strconv.Itoa(i), "*", "count", "1")
	}
	s.CLI("XADD", "secret", "*", "count", "1")
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{
		URLs: []string{"redis://watcher:pw@" + s.Addr()}, Watch: []string{"rl:*"}, Keys: []string{"secret", "rl:none"}, Refresh: 20 * time.Millisecond,
		Rules: []config.Rule{hourRule("*", limiter.StreamCounter)},
	}))
	servertest.Await(t, "all keys", func() bool { return len(run.Last().Server.Lacks) > 0 && run.Last().Sweep.Matched >= keys+2 })
	servertest.Await(t, "word of the denials", func() bool { return strings.Contains(words(run), "recorded denials cannot be read") })
	settled := refusals(s)
	if settled > 40 {
		t.Errorf("%d refusals to begin with", settled)
	}
	before, since := run.Count(), time.Now()
	for i := range keys / 2 {
		s.CLI("XADD", "rl:more"+strconv.Itoa(i), "*", "count", "1")
	}
	servertest.Await(t, "a hundred batches with those that came", func() bool { return run.Count() > before+100 && run.Last().Sweep.Matched >= keys*3/2 })
	took := time.Since(since)
	// A key that cannot be read is refused every 5 s, and each connection that is still made a few
	// times. One refusal for each of the limiters that came would be too many.
	if n := refusals(s) - settled; n >= keys/2+2*int(took/(5*time.Second)) {
		t.Errorf("%d refusals in %v, while %d limiters came: want fewer than one for each", n, took, keys/2)
	}
}
