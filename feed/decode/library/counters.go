package library

import (
	"slices"
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// redisRate recognizes the two forms of redis_rate: that of its releases from 8 on, and the counters of those before.
func redisRate(s *decode.Sample, c decode.Context) *decode.Match {
	if m := redisRateTAT(s, c); m != nil {
		return m
	}
	base, last, _ := form.LastPart(s.Key, '-')
	index, ok := form.Count(last)
	w, usual, fits := form.WindowOfIndex(index, c.Now)
	if !ok || !fits || !usual || !form.IsCounter(s) || s.TTL > w || !c.Named && !strings.HasPrefix(base, "rate:") {
		return nil
	}
	x := aligned(limiter.FixedWindow, w, form.Numbered(base+"-", w, ""))
	x.Charged = true
	return x.Match(base, "rate:", "named rate:<key>-<index of a window>", "an integer that expires a window after the last request")
}

func redisRateLimiter(s *decode.Sample, c decode.Context) *decode.Match {
	id, ok := strings.CutPrefix(s.Key, "ratelimit:")
	if !ok || !form.IsCounter(s) {
		return nil
	}
	twin := form.Texts("ratelimittemp:" + id)
	m := counted(s, true, "ratelimit:", "named ratelimit:<key>", "its twin ratelimittemp:<key> holds 0 and expires later")
	m.Limiter = &form.Beside{Of: m.Limiter, Keys: func(limiter.Instant) []decode.Fetch { return twin },
		Take: func(d *decode.Decoded, _ limiter.Instant, own, beside []decode.Sample, _ decode.Settings) {
			d.Members, d.Span = form.Members(append(own, beside...)), max(d.Span, beside[0].TTL)
		}}
	if c.Named {
		return m
	}
	ttl := s.TTL
	m.Siblings = twin
	m.Confirm = func(got []decode.Sample) bool { return got[0].Text == "0" && got[0].TTL >= ttl-form.ClockSlack }
	return m
}

// The libraries whose state is a theoretical arrival time (TAT). Under a name of any other kind, a number with a fraction that
// is the instant of its own expiry, counted in seconds from 2017, is nothing else, and nanoseconds of now are so where the name does
// not say that it holds an expiry.
var (
	redisRateTAT = tatOf(func(s *decode.Sample) bool { return strings.HasPrefix(s.Key, "rate:") },
		tatSince(start2017), false, "rate:", "named rate:<key>", since2017)
	redisGCRA = tatOf(func(s *decode.Sample) bool {
		_, fraction, _ := strings.Cut(s.Text, ".")
		return len(fraction) >= 4
	}, tatSince(start2017), false, "", since2017)
	throttled = tatOf(holdsState, tatRoundedDown, true, "", "nanoseconds of now and of its own expiry, rounded down to seconds",
		"whole microseconds, as of the server's clock")
	redisCell = tatOf(holdsState, tatOfExpiry, false, "", "nanoseconds of now that are also when the key expires")
)

// readTAT reads a TAT; ok is false where the value is none, or its expiry does not agree.
type readTAT = func(s *decode.Sample, now limiter.Instant) (at limiter.Instant, ok bool)

// tatOf recognizes a TAT in a string that fits, or of which a rule names the library; see form.MatchTAT.
func tatOf(
	fits func(*decode.Sample) bool, read readTAT, forgets bool, prefix string, why ...string,
) func(*decode.Sample, decode.Context) *decode.Match {
	return func(s *decode.Sample, c decode.Context) *decode.Match {
		if !c.Named && !fits(s) {
			return nil
		}
		return form.MatchTAT(s, c, read, forgets, prefix, why...)
	}
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
func tatSince(start int64) readTAT {
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

// tatRoundedDown reads nanoseconds whose key expires within the second before, or, right after
// an arrival that is nearly due, within the second after.
func tatRoundedDown(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
	at, ok := form.Nanoseconds(s.Text, now)
	late := at.Sub(s.Expiry(now))
	return at, ok && strings.HasSuffix(s.Text, "000") && s.TTL > 0 && late > -form.WholeSecond-form.Latency &&
		late < form.WholeSecond+form.Latency
}

// tatOfExpiry reads nanoseconds whose key expires with them.
func tatOfExpiry(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
	at, ok := form.Nanoseconds(s.Text, now)
	return at, ok && s.TTL > 0 && at.Sub(s.Expiry(now)).Abs() <= form.Latency
}

// holdsState says whether a key is not called as those are whose value is when they expire: locks,
// sessions and tokens.
func holdsState(s *decode.Sample) bool {
	key := strings.ToLower(s.Key)
	return !slices.ContainsFunc(expiryWords, func(word string) bool { return strings.Contains(key, word) })
}

var expiryWords = []string{"lock", "mutex", "lease", "sess", "token", "expir", "deadline", "otp"}
