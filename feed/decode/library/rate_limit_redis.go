package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
)

// rateLimitRedis is the Redis store of express-rate-limit, and of express-slow-down, whose keys are
// the same: rl:<address of the client>, SET to 1 with the window in milliseconds as its expiry, then
// INCR. Denied requests are counted. A counter without an expiry is what is left of requests that
// were given back too late, and counts for nothing. The prefix rl: is that of many programs, so that
// another name than an address decides nothing.
var rateLimitRedis = &decode.Library{
	Name: "rate-limit-redis", Version: "6.0.1", Types: []string{"string"},
	Silent: []string{"the limit", "the window, but for the longest expiry", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		client, ok := strings.CutPrefix(s.Key, "rl:")
		if !c.Named && (!ok || !form.IsAddress(client)) || !form.IsCounter(s) {
			return nil
		}
		return form.Counted(&form.Counter{Key: s.Key, Charged: true, Renewed: true}, s, form.PrefixOf(s.Key), "named rl:<address of a client>")
	},
}
