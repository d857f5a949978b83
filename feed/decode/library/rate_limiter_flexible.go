package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/model"
)

// rateLimiterFlexible is rate-limiter-flexible, whose default prefix is rlflx:, and what is built
// on it. SET <key> 0 EX <seconds> NX, then INCRBY: denied requests are counted in full, a reward may
// take the counter below zero, and a duration of 0 leaves it without an expiry, for ever. With
// blockDuration the request that crosses the limit writes the counter anew with the block as its
// expiry, which may be longer than the window. A request that is denied in the memory of its process
// leaves no trace.
var rateLimiterFlexible = &decode.Library{
	Name: "rate-limiter-flexible", Version: "11.4.0", Types: []string{"string"},
	Silent: []string{"the limit", "the window, but for the longest expiry", "a block no longer than the window",
		"what the insurance limiter admits while Redis is away", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if !c.Named && !strings.HasPrefix(s.Key, "rlflx:") || s.TTL <= 0 && s.TTL != model.Forever {
			return nil
		}
		if _, ok := form.Signed(s.Text); !ok {
			return nil
		}
		return form.Counted(&form.Counter{Key: s.Key, Charged: true, Blocks: true}, s, form.PrefixOf(s.Key), "named rlflx:<id>")
	},
}
