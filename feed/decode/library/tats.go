package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

func redisRate(s *decode.Sample, c decode.Context) *decode.Match {
	if !c.Named && !strings.HasPrefix(s.Key, "rate:") {
		return nil
	}
	return form.MatchTAT(s, c, tatSince(start2017), false, "rate:", "named rate:<key>", since2017)
}

// redisGCRA recognizes the keys of redis-gcra. A number with a fraction that is the instant of its own expiry,
// counted in seconds from 2017, is nothing else.
func redisGCRA(s *decode.Sample, c decode.Context) *decode.Match {
	if _, fraction, _ := strings.Cut(s.Text, "."); !c.Named && len(fraction) < 4 {
		return nil
	}
	return form.MatchTAT(s, c, tatSince(start2017), false, "", since2017)
}

const since2017 = "a time in seconds since 2017 that is also when the key expires"

// Where the times of redis_rate and of throttled-py begin, in seconds of the Unix epoch.
const (
	start2017 = 1483228800
	start2025 = 1735660800
)

// tatSince reads a double of seconds from a start, whose key expires with it, rounded up to a whole second.
// It is exact to a tenth of a microsecond, so that it is rounded down by one more, lest a request too many seems
// to be charged.
func tatSince(start int64) func(*decode.Sample, limiter.Instant) (limiter.Instant, bool) {
	return func(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
		v, ok := form.Number(s.Text)
		if !ok || v <= 0 || v > 1e10 || s.TTL <= 0 {
			return 0, false
		}
		at := limiter.Instant(start*1e6 + int64(v*1e6) - 1)
		early := s.Expiry(now).Sub(at)
		return at, early > -form.Latency && early < form.WholeSecond+form.Latency
	}
}

func throttled(s *decode.Sample, c decode.Context) *decode.Match {
	if !strings.HasSuffix(s.Text, "000") || !c.Named && namesExpiry(s.Key) {
		return nil
	}
	return form.MatchTAT(s, c, tatRoundedDown, true, "", "nanoseconds of now and of its own expiry, rounded down to seconds",
		"whole microseconds, as of the server's clock")
}

func redisCell(s *decode.Sample, c decode.Context) *decode.Match {
	if !c.Named && namesExpiry(s.Key) {
		return nil
	}
	return form.MatchTAT(s, c, tatOfExpiry, false, "", "nanoseconds of now that are also when the key expires")
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
