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
	_, _, ok := readUpstashBucket(s, c.Now)
	if !ok || s.Length != 2 {
		return nil
	}
	splits := upstashSplits(s.Key)
	b := &upstashTokens{key: s.Key, upstashName: splits[0]}
	m := &decode.Match{Prefix: b.prefix, Limiter: b, Why: []string{"a hash of tokens and refilledAt, in milliseconds", "it expires"}}
	m.Algorithm, m.Convention.Refill = limiter.TokenBucket, limiter.RefillInterval
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

func readUpstashBucket(s *decode.Sample, now limiter.Instant) (tokens int64, at limiter.Instant, ok bool) {
	tokens, ok = form.Signed(s.Fields["tokens"])
	ms, timed := form.Count(s.Fields["refilledAt"])
	ok = ok && timed && s.TTL > 0 && decode.UnitOf(float64(ms), now) == time.Millisecond
	return max(tokens, 0), limiter.Instant(ms * 1000), ok
}

// upstashTokens is a token bucket in a hash.
type upstashTokens struct {
	key string
	upstashName
	events upstashEvents
}

// Fetch reads the bucket, the dynamic limit, and what analytics recorded of the identifier.
func (u *upstashTokens) Fetch(now limiter.Instant) []decode.Fetch {
	all := []decode.Fetch{
		{Key: u.key, Type: "hash", Fields: []string{"tokens", "refilledAt"}},
		{Key: u.dynamicKey(), Type: "string"},
	}
	return append(all, u.events.fetch(u.prefix, u.id, now)...)
}

// Decode returns the bucket. Of the limit that a rule gives, the count is what comes back each window,
// the interval, and the burst is the size, unless a dynamic limit says it.
func (u *upstashTokens) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: form.Members(got[:1])}
	d.Algorithm, d.Convention.Refill, d.Window = limiter.TokenBucket, limiter.RefillInterval, given.Window
	if most, ok := upstashLimit(&got[1]); ok && given.LimitFrom != model.NoLimit {
		d.Limit, d.LimitFrom, d.LimitKey = given.Limit, model.LimitOfSibling, u.dynamicKey()
		d.Limit.Burst = most
	}
	d.Denied, d.NewlyDenied = u.events.take(now, d.Window, got[2:])
	if !s.Exists() {
		return d
	}
	tokens, at, ok := readUpstashBucket(s, now)
	if !ok {
		d.Err = "holds no token bucket of @upstash/ratelimit: correct its rule, or remove the key"
		return d
	}
	d.State.Level, d.State.Filled = float64(tokens), at
	return d
}
