package watch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
)

// TestRuleTakesLikelyRows holds that a rule that reads keys as rows of other names takes the rows away that were likely limiters, so
// that no limiter is listed twice.
func TestRuleTakesLikelyRows(t *testing.T) {
	s := servertest.Start(t)
	day := s.Now().Time().UTC().Format("20060102")
	for i := range 4 {
		s.CLI("SET", fmt.Sprintf("ratelimit:10.0.7.%d:%s", i+1, day), "3", "EX", "90000")
	}
	source := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond})
	run := feedtest.Run(t, source)
	key := "ratelimit:10.0.7.1:" + day
	servertest.Await(t, "the likely row", func() bool { _, ok := run.Reading(key); return ok })
	c, err := config.Parse([]byte(`rules: [{name: "ratelimit:{who}:{window:%Y%m%d}", read: value, limit: 10/1d}]`))
	if err != nil {
		t.Fatal(err)
	}
	source.SetRules(c.Rules)
	servertest.Await(t, "the row of the rule", func() bool { _, ok := run.Reading("ratelimit:10.0.7.1"); return ok })
	if !slices.Contains(run.Gone(), key) {
		t.Errorf("%s is listed beside the row of its rule", key)
	}
}
