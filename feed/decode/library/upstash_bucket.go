package library

import (
	"slices"
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
	b := &upstashTokens{upstashName: splits[0]}
	b.bucket = form.Reader{Keys: form.Hash(s.Key, "tokens", "refilledAt"), Holds: "token bucket of @upstash/ratelimit", Read: readUpstashBucket,
		Settings: decode.Settings{Algorithm: limiter.TokenBucket, Convention: limiter.Convention{Refill: limiter.RefillInterval}}}
	m := b.bucket.Match(s, c, decode.Match{Prefix: b.prefix, Why: []string{"a hash of tokens and refilledAt, in milliseconds", "it expires"}})
	if m == nil {
		return nil
	}
	if m.Limiter = b; len(splits) > 1 {
		chosen := upstashTraces(splits, c.Now)
		m.Siblings, m.Confirm = chosen.siblings, func(got []decode.Sample) bool {
			b.upstashName, _ = chosen.pick(got)
			m.Prefix = b.prefix
			return true
		}
	}
	return m
}

func readUpstashBucket(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
	s := &got[0]
	tokens, ok := form.Signed(s.Fields["tokens"])
	ms, timed := form.Count(s.Fields["refilledAt"])
	d.State.Level, d.State.Filled = float64(max(tokens, 0)), limiter.Instant(ms*1000)
	return ok && timed && s.Length == 2 && s.TTL > 0 && decode.UnitOf(float64(ms), now) == time.Millisecond
}

// upstashTokens is a token bucket in a hash.
type upstashTokens struct {
	bucket form.Reader
	upstashName
	events upstashEvents
}

// Fetch reads the bucket, the dynamic limit, and what analytics recorded of the identifier.
func (u *upstashTokens) Fetch(now limiter.Instant) []decode.Fetch {
	all := slices.Concat(u.bucket.Keys, form.Texts(u.dynamicKey()))
	return append(all, u.events.fetch(u.prefix, u.id, now)...)
}

// Decode returns the bucket. Of the limit that a rule gives, the count is what comes back each window,
// the interval, and the burst is the size, unless a dynamic limit says it.
func (u *upstashTokens) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := u.bucket.Decode(now, got[:1], given)
	if most, ok := upstashLimit(&got[1]); ok && given.LimitFrom != model.NoLimit {
		d.Limit, d.LimitFrom, d.LimitKey = given.Limit, model.LimitOfSibling, u.dynamicKey()
		d.Limit.Burst = most
	}
	d.Denied, d.NewlyDenied = u.events.take(now, d.Window, got[2:])
	return d
}
