package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// springGateway is the request rate limiter of Spring Cloud Gateway: a bucket of what is left in
// request_rate_limiter.{<route>.<id>}.tokens and .timestamp, in the server's whole seconds.
// Nothing is stored where the expiry would be 0, as it is when the capacity is below half of the
// rate. capacity/rate alone follows from the expiry; neither is kept.
var springGateway = &decode.Library{
	Name: "spring-cloud-gateway", Version: "5.0.4", Published: true, Types: []string{"string"},
	Silent: []string{"replenish rate and burst capacity: their ratio alone follows from the expiry", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		base, ok := leftBase(s, ".timestamp")
		if !ok || !strings.HasSuffix(base, "}") || !c.Named && !strings.HasPrefix(base, "request_rate_limiter.{") {
			return nil
		}
		b := &form.LeftBucket{Tokens: base + ".tokens", Stamp: base + ".timestamp"}
		return b.Match(c, "request_rate_limiter.{", "named request_rate_limiter.{<id>}.tokens")
	},
}

// stripe is the two limiters of the gist that Stripe published: the bucket of
// request_rate_limiter.<user>, on the clock of the client, and the requests under way of
// concurrent_requests_limiter.<user>. Its load shedders keep nothing for a user.
var stripe = &decode.Library{
	Name: "stripe", Version: "2017", Published: true, Types: []string{"string", "zset"},
	Silent: []string{"replenish rate and capacity: their ratio alone follows from the expiry", "denied requests",
		"when a request under way counts as lost"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if s.Type == "zset" {
			return matchStripeConcurrent(s, c)
		}
		base, ok := leftBase(s, ".timestamp")
		if !ok || strings.HasSuffix(base, "}") || !c.Named && !strings.HasPrefix(base, "request_rate_limiter.") {
			return nil
		}
		b := &form.LeftBucket{Tokens: base + ".tokens", Stamp: base + ".timestamp"}
		return b.Match(c, "request_rate_limiter.", "named request_rate_limiter.<user>.tokens")
	},
}

// goZero is the two limiters of go-zero. TokenLimiter keeps a bucket of what is left in
// {<key>}.tokens and .ts, on the clock of the client; where a rule gives its burst, its rate
// follows from the expiry. PeriodLimit is a counter of whole seconds under a prefix that the
// program chooses, denied requests included, so that a rule has to name it.
var goZero = &decode.Library{
	Name: "go-zero", Version: "1.10.3", Types: []string{"string"},
	Silent: []string{"the limit", "denied requests, except those that PeriodLimit counts with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		base, ok := leftBase(s, ".ts")
		if ok && strings.HasPrefix(base, "{") && strings.HasSuffix(base, "}") {
			b := &form.LeftBucket{Tokens: base + ".tokens", Stamp: base + ".ts", Derive: true}
			return b.Match(c, "{", "named {<key>}.tokens")
		}
		return matchCounter(s, c, "", "")
	},
}

// leftBase returns what the names of the two strings of a bucket have in common; ok is false
// where s is neither, or holds what neither can.
func leftBase(s *decode.Sample, stamp string) (base string, ok bool) {
	if base, ok = strings.CutSuffix(s.Key, ".tokens"); !ok {
		base, ok = strings.CutSuffix(s.Key, stamp)
	}
	if _, numeric := form.Number(s.Text); !ok || !numeric || s.TTL <= 0 {
		return "", false
	}
	return base, true
}

// matchStripeConcurrent returns the match of the requests under way of one user: four random
// bytes each, with the second of its beginning, in a key that never expires.
func matchStripeConcurrent(s *decode.Sample, c decode.Context) *decode.Match {
	ok := len(s.First) > 0 && len(s.Last) > 0 && s.TTL < 0
	for _, e := range append(s.First, s.Last...) {
		ok = ok && len(e.Member) <= 4 && form.IsSecond(e.Score, c.Now)
	}
	if !ok || !c.Named && !strings.HasPrefix(s.Key, "concurrent_requests_limiter.") {
		return nil
	}
	return &decode.Match{
		Kind: decode.Log, Settings: decode.Settings{Algorithm: limiter.SlidingLog},
		Prefix: "concurrent_requests_limiter.",
		Why:    []string{"named concurrent_requests_limiter.<user>", "a sorted set of requests under way, by the second of their beginning"},
	}
}
