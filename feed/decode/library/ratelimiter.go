package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// ratelimiter is tj's ratelimiter: limit:<id>, a sorted set of microseconds whose members are their
// scores. Every call adds one, also a denied one, removes what is a window old, and keeps the newest
// <limit> members alone, so that a caller that goes on is held off for good.
var ratelimiter = &decode.Library{
	Name: "ratelimiter", Version: "3.4.1", Types: []string{"zset"},
	Silent:    []string{"the limit", "which requests were denied: they are recorded as the others"},
	Recognize: recognizeMicroseconds("limit"),
}

// hapiRateLimitor is hapi-rate-limitor, which asks an early async-ratelimiter:
// hapi-rate-limitor:<id>, as ratelimiter's, with fractions of a microsecond.
var hapiRateLimitor = &decode.Library{
	Name: "hapi-rate-limitor", Version: "4.0.0", Types: []string{"zset"},
	Silent:    ratelimiter.Silent,
	Recognize: recognizeMicroseconds("hapi-rate-limitor"),
}

// recognizeMicroseconds recognizes logs named <prefix>:<id>, also behind a prefix that the client of
// Redis gives all names, whose members are their scores in microseconds and which charge what they
// deny. Logs of the package limiter look alike; theirs are told by the prefix that it gives them, or
// by members that are no numbers.
func recognizeMicroseconds(prefix string) func(*decode.Sample, decode.Context) *decode.Match {
	return func(s *decode.Sample, c decode.Context) *decode.Match {
		lives, ok := form.Newest(s, c.Now, time.Microsecond)
		if !ok || !form.BothEnds(s, form.IsScore) || !c.Named && !hasPart(s.Key, prefix) {
			return nil
		}
		return form.Logged(lives, limiter.DeniedCharged, form.PrefixOf(s.Key), "named "+prefix+":<id>",
			"a sorted set whose members are their scores, in microseconds")
	}
}

// hasPart says whether a name has the part before one of its colons, and is not in the package
// limiter's own prefix.
func hasPart(key, part string) bool {
	for i := 0; ; {
		j := strings.Index(key[i:], part+":")
		if j < 0 || strings.HasPrefix(key, redisstore.DefaultPrefix) {
			return false
		}
		if i += j; i == 0 || strings.IndexByte(":/|.{", key[i-1]) >= 0 {
			return true
		}
		i += len(part)
	}
}

// asyncRatelimiter is async-ratelimiter, also inside koa-ratelimit: <namespace>:<id>, by default
// limit:<id>, a sorted set of milliseconds with a fraction, whose members are their scores. A denied
// call only removes what is a window old.
var asyncRatelimiter = &decode.Library{
	Name: "async-ratelimiter", Version: "1.6.10", Types: []string{"zset"},
	Silent: []string{"the limit", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		lives, ok := form.Newest(s, c.Now, time.Millisecond)
		if !ok || !form.BothEnds(s, form.IsScore) || !form.HasFraction(s.First[0]) && !form.HasFraction(s.Last[len(s.Last)-1]) {
			return nil
		}
		return form.Logged(lives, limiter.DeniedFree, form.PrefixOf(s.Key),
			"a sorted set whose members are their scores, in milliseconds with a fraction")
	},
}
