package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// redisRateLimiter is redis-rate-limiter: ratelimit:<key> counts, and beside it, from the second
// request of a window on, stands ratelimittemp:<key>, a 0 that every request writes anew with the
// window as its expiry, which is therefore never shorter than the counter's. Denied requests are
// counted.
var redisRateLimiter = &decode.Library{
	Name: "redis-rate-limiter", Version: "1.2.0", Types: []string{"string"},
	Silent: []string{"the limit", "the window, but for the longest expiry", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		id, ok := strings.CutPrefix(s.Key, "ratelimit:")
		if !ok || !form.IsCounter(s) {
			return nil
		}
		t := &counterWithTemp{counter: form.Counter{Key: s.Key, Charged: true}, temp: "ratelimittemp:" + id}
		m := form.Counted(&t.counter, s, "ratelimit:", "named ratelimit:<key>", "its twin ratelimittemp:<key> holds 0 and expires later")
		m.Limiter = t
		if c.Named {
			return m
		}
		ttl := s.TTL
		m.Siblings = t.Fetch(c.Now)[1:]
		m.Confirm = func(got []decode.Sample) bool {
			return got[0].Text == "0" && got[0].TTL >= ttl-form.ClockSlack
		}
		return m
	},
}

// counterWithTemp is a counter, and a key beside it from which the next one is made.
type counterWithTemp struct {
	counter form.Counter
	temp    string
}

// Fetch reads both keys.
func (c *counterWithTemp) Fetch(now limiter.Instant) []decode.Fetch {
	return append(c.counter.Fetch(now), decode.Fetch{Key: c.temp, Type: "string"})
}

// Decode counts the requests; the other key's expiry was the window when it was written.
func (c *counterWithTemp) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := c.counter.Decode(now, got, given)
	d.Members = form.Members(got)
	d.Span = max(d.Span, got[1].TTL)
	return d
}
