package watch_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter/layout"
)

// TestRuleTakesLikelyRows holds that a rule that reads keys as rows of other names takes the rows away that were likely limiters, so
// that no limiter is listed twice.
func TestRuleTakesLikelyRows(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	servertest.Await(t, "a window that has just begun", func() bool { return int64(s.Now())%20e6 < 12e6 })
	day := strconv.FormatInt(int64(s.Now())/20e6, 10)
	for i := range 4 {
		s.CLI("SET", fmt.Sprintf("ratelimit:10.0.7.%d:%s", i+1, day), "3", "EX", "40")
	}
	source := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond})
	run := feedtest.Run(t, source)
	key := "ratelimit:10.0.7.1:" + day
	servertest.Await(t, "the likely row", func() bool { _, ok := run.Reading(key); return ok })
	c, err := config.Parse([]byte(`rules: [{name: "ratelimit:{who}:{window:index}", read: value, limit: 10/20s}]`))
	if err != nil {
		t.Fatal(err)
	}
	source.SetRules(c.Rules)
	source.SetRules(c.Rules) // as where the program that wrote the file sees it change
	servertest.Await(t, "the row of the rule", func() bool { _, ok := run.Reading("ratelimit:10.0.7.1"); return ok })
	if !slices.Contains(run.Gone(), key) {
		t.Errorf("%s is listed beside the row of its rule", key)
	}
}

// TestScratchCopiesAreNoRows: what a burst was tried out at is no key of a user, whatever else covers its name.
func TestScratchCopiesAreNoRows(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for _, key := range []string{layout.ScratchKey("rl:a"), "rl:a"} {
		s.CLI("SET", key, "3", "EX", "40")
	}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"*rl:*"}, Refresh: 50 * time.Millisecond}))
	servertest.Await(t, "two passes over the keys", func() bool {
		_, ok := run.Reading("rl:a")
		return ok && run.Last().Sweep.Passes >= 2
	})
	if _, ok := run.Reading(layout.ScratchKey("rl:a")); ok {
		t.Error("the scratch copy is a row")
	}
}
