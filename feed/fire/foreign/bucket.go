package foreign

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// Token buckets in whole seconds, in two strings: the tokens left and the second of the last
// request. A denied request updates both as well, with the tokens refilled by then. Both expire
// after twice the time that an empty bucket takes to fill, in whole seconds.
var (
	goZero        = leftBucket("go-zero", ".ts")
	springGateway = leftBucket("spring-cloud-gateway", ".timestamp")
	stripe        = leftBucket("stripe", ".timestamp")
)

// leftTokens is the suffix of the key with a bucket's tokens.
const leftTokens = ".tokens"

// errFull is the error of a bucket that fills so fast that its library stores nothing.
var errFull = errors.New("its bucket fills so fast that its library keeps nothing of it: fire at its application with --url")

// leftBucket returns the writer for the token buckets of a library; stamp is the suffix of the key
// with the second of the last request.
func leftBucket(library, stamp string) *Writer {
	return &Writer{
		Library: library, Algorithm: limiter.TokenBucket, refund: refundTokens,
		fetch: func(name string, _ *model.Target, _ limiter.Instant) []decode.Fetch {
			return []decode.Fetch{{Key: name, Type: "string"}, {Key: strings.TrimSuffix(name, leftTokens) + stamp, Type: "string"}}
		},
		write: (*Request).drawn,
	}
}

// drawn computes a request at a token bucket of leftBucket.
func (r *Request) drawn() (Written, error) {
	l, full := r.limit(), float64(model.Capacity(*r.Target))
	rate, now := float64(l.Count)/l.Window.Seconds(), int64(r.At)/1e6
	lives := int64(math.Floor(full / rate * 2))
	if lives <= 0 {
		return Written{}, errFull
	}
	tokens, then := full, int64(0)
	if s := &r.Held[0]; s.Exists() {
		v, err := strconv.ParseFloat(s.Text, 64)
		if err != nil || math.IsNaN(v) || math.Abs(v) > limiter.MaxCount {
			return Written{}, errHolds
		}
		tokens = v
	}
	if s := &r.Held[1]; s.Exists() {
		v, err := strconv.ParseInt(s.Text, 10, 64)
		if err != nil || v < 0 || v > 1e11 {
			return Written{}, errHolds
		}
		then = v
	}
	tokens = min(full, tokens+float64(max(now-then, 0))*rate)
	d := limiter.Decision{Allowed: tokens >= float64(r.Cost), At: r.At, Limit: l, Cost: r.Cost}
	wait := func(units float64) time.Duration { // until so many tokens are refilled, at the start of a second
		return limiter.Instant((now + int64(math.Ceil(units/rate))) * 1e6).Sub(r.At)
	}
	switch {
	case d.Allowed:
		tokens -= float64(r.Cost)
	case float64(r.Cost) > full:
		d.RetryAfter = limiter.Never
	default:
		d.RetryAfter = max(wait(float64(r.Cost)-tokens), time.Microsecond)
	}
	d.Remaining = int64(math.Floor(max(tokens, 0)))
	d.Used = int64(full) - d.Remaining
	if tokens < full {
		d.ResetAfter = max(wait(full-tokens), 0)
	}
	return Written{Decision: d, Commands: [][]any{
		{"setex", r.Held[0].Key, lives, strconv.FormatFloat(tokens, 'g', 17, 64)},
		{"setex", r.Held[1].Key, lives, now},
	}}, nil
}
