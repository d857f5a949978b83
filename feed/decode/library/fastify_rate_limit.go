package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
)

// fastifyRateLimit is @fastify/rate-limit: fastify-rate-limit-<address>, or with the method and the
// path of a route before the address. INCR, and PEXPIRE with the first request; denied requests are
// counted. With continueExceeding each of them sets the expiry anew, with exponentialBackoff to twice
// the time of the one before, so that only a counter within its limit tells the window. A ban is
// nowhere in Redis.
var fastifyRateLimit = &decode.Library{
	Name: "fastify-rate-limit", Version: "11.2.0", Types: []string{"string"},
	Silent: []string{"the limit", "the window, but for the longest expiry", "bans",
		"which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		const prefix = "fastify-rate-limit-"
		if !c.Named && !strings.HasPrefix(s.Key, prefix) || !form.IsCounter(s) {
			return nil
		}
		kind := form.PrefixOf(s.Key)
		if kind == "" && strings.HasPrefix(s.Key, prefix) {
			kind = prefix
		}
		return form.Counted(&form.Counter{Key: s.Key, Charged: true, Blocks: true}, s, kind, "named fastify-rate-limit-<client>")
	},
}
