package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// tyk is the rolling window of Tyk: a sorted set rate-limit-<scope>-<hash> whose members are their
// scores, the nanosecond of each request, denied ones too. Each request sets the expiry to the
// window. Where the sentinel is on, a string <key>.BLOCKED denies everything until it expires, and
// one request less is admitted.
var tyk = &decode.Library{
	Name: "tyk", Version: "5.x", Published: true, Types: []string{"zset"},
	Silent: []string{"the limit", "which requests were denied: they are kept with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if !c.Named && !strings.HasPrefix(s.Key, "rate-limit-") || s.TTL <= 0 || len(s.First) == 0 || len(s.Last) == 0 {
			return nil
		}
		if !form.BothEnds(s, func(e decode.Element) bool {
			at, ok := form.Nanoseconds(e.Member, c.Now)
			return ok && at.Sub(decode.InstantIn(e.Score, time.Nanosecond)).Abs() <= time.Microsecond
		}) {
			return nil
		}
		lives, _ := form.Newest(s, c.Now, time.Nanosecond)
		m := form.LoggedSeconds(lives, limiter.DeniedCharged, "rate-limit-", "named rate-limit-<scope>-<hash>",
			"a sorted set whose members are their scores, in nanoseconds")
		m.Blocks = s.Key + ".BLOCKED"
		return m
	},
}
