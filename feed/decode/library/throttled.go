package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// throttled is throttled/throttled: GCRA in a string of any name that holds the theoretical
// arrival time in nanoseconds, of the server's clock and so in whole microseconds. The key
// expires up to a second before that time, for its expiry is rounded down to whole seconds,
// though never below one; what was charged is forgotten with it. Denied requests write nothing.
var throttled = &decode.Library{
	Name: "throttled", Version: "2.15.0", Types: []string{"string"},
	Silent: []string{"limit and window", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if !strings.HasSuffix(s.Text, "000") || !c.Named && namesExpiry(s.Key) {
			return nil
		}
		m := form.MatchTAT(s, c, tatRoundedDown, "", "nanoseconds of now and of its own expiry, rounded down to seconds",
			"whole microseconds, as of the server's clock")
		if m != nil {
			m.Limiter.(*form.TAT).Forgets = true
		}
		return m
	},
}

// redisCell is the module redis-cell: CL.THROTTLE keeps GCRA under the key it is given, the
// theoretical arrival time in nanoseconds, and the key expires with it to the millisecond.
var redisCell = &decode.Library{
	Name: "redis-cell", Version: "0.4", Published: true, Types: []string{"string"},
	Silent: []string{"limit and window", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if !c.Named && namesExpiry(s.Key) {
			return nil
		}
		return form.MatchTAT(s, c, tatOfExpiry, "", "nanoseconds of now that are also when the key expires")
	},
}

// tatRoundedDown reads nanoseconds whose key expires within the second before, or, right after
// an arrival that is nearly due, within the second after.
func tatRoundedDown(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
	at, ok := form.Nanoseconds(s.Text, now)
	late := at.Sub(s.Expiry(now))
	return at, ok && s.TTL > 0 && late > -form.WholeSecond-form.Latency && late < form.WholeSecond+form.Latency
}

// tatOfExpiry reads nanoseconds whose key expires with them.
func tatOfExpiry(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
	at, ok := form.Nanoseconds(s.Text, now)
	return at, ok && s.TTL > 0 && at.Sub(s.Expiry(now)).Abs() <= form.Latency
}

// namesExpiry says whether a key is called as those are whose value is when they expire: locks,
// sessions and tokens.
func namesExpiry(key string) bool {
	key = strings.ToLower(key)
	for _, word := range [...]string{"lock", "mutex", "lease", "sess", "token", "expir", "deadline", "otp"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}
