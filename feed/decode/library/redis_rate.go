package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// redisRate is go-redis/redis_rate: GCRA in a string rate:<key> that holds the theoretical
// arrival time in seconds since 2017, and that expires with it, rounded up to whole seconds.
// Denied requests write nothing. Limit and window are not kept. The library computes what
// remains in doubles and cuts it off, so that its answer is at times one below what it admits.
var redisRate = &decode.Library{
	Name: "redis-rate", Version: "10.0.1", Types: []string{"string"},
	Silent: []string{"limit and window", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if !c.Named && !strings.HasPrefix(s.Key, "rate:") {
			return nil
		}
		return form.MatchTAT(s, c, tatSince2017, "rate:", "named rate:<key>", "a time in seconds since 2017 that is also when the key expires")
	},
}

// redisGCRA is the Ruby gem redis-gcra, which keeps what redis_rate does under a key that the
// caller chooses. The evidence is the relation of value and expiry: a number with a fraction that
// is the instant of its own expiry, counted in seconds from 2017, is nothing else.
var redisGCRA = &decode.Library{
	Name: "redis-gcra", Types: []string{"string"},
	Silent: []string{"limit and window", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if _, fraction, _ := strings.Cut(s.Text, "."); !c.Named && len(fraction) < 4 {
			return nil
		}
		return form.MatchTAT(s, c, tatSince2017, "", "a time in seconds since 2017 that is also when the key expires")
	},
}

// start2017 is where redis_rate's times begin, in seconds of the Unix epoch.
const start2017 = 1483228800

// tatSince2017 reads a double of seconds, which is exact to a tenth of a microsecond: its time is
// rounded down by one more, lest a request too many seems to be charged.
func tatSince2017(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
	v, ok := form.Number(s.Text)
	if !ok || v <= 0 || v > 1e10 || s.TTL <= 0 {
		return 0, false
	}
	at := limiter.Instant(start2017*1e6 + int64(v*1e6) - 1)
	early := s.Expiry(now).Sub(at) // the expiry is the time rounded up to a whole second
	return at, early > -form.Latency && early < form.WholeSecond+form.Latency
}
