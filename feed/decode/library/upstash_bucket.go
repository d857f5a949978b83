package library

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// upstashBucket recognizes the token bucket of @upstash/ratelimit: tokens were left at refilledAt, a
// time in milliseconds, from which on a batch of tokens comes each interval. A denied request writes
// nothing.
func upstashBucket(s *decode.Sample, c decode.Context) *decode.Match {
	splits := upstashSplits(s.Key)
	b := &upstashBeside{upstashName: splits[0]}
	bucket := &form.Reader{Keys: form.Hash(s.Key, "tokens", "refilledAt"), Holds: "token bucket of @upstash/ratelimit",
		Settings: decode.Settings{Algorithm: limiter.TokenBucket, Convention: limiter.Convention{Refill: limiter.RefillInterval}},
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			s := &got[0]
			tokens, ok := form.Signed(s.Fields["tokens"])
			ms, timed := form.Count(s.Fields["refilledAt"])
			d.State.Level, d.State.Filled = float64(max(tokens, 0)), limiter.Instant(ms*1000)
			return ok && timed && s.Length == 2 && s.TTL > 0 && decode.UnitOf(float64(ms), now) == time.Millisecond
		}}
	m := bucket.Match(s, c, decode.Match{Prefix: b.prefix, Why: []string{"a hash of tokens and refilledAt, in milliseconds", "it expires"}})
	if m == nil {
		return nil
	}
	// Of the limit that a rule gives, the count is what comes back each window, the interval, and the burst is the
	// size, unless a dynamic limit says it.
	m.Limiter = b.beside(bucket, func(d *decode.Decoded, _ []decode.Sample, most int64, given decode.Settings) {
		if most > 0 && given.LimitFrom != model.NoLimit {
			d.Limit, d.LimitFrom, d.LimitKey = given.Limit, model.LimitOfSibling, b.dynamicKey()
			d.Limit.Burst = most
		}
	})
	if len(splits) > 1 {
		chosen := upstashTraces(splits, c.Now)
		m.Siblings, m.Confirm = chosen.siblings, func(got []decode.Sample) bool {
			b.upstashName, _ = chosen.pick(got)
			m.Prefix = b.prefix
			return true
		}
	}
	return m
}
