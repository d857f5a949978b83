package form

import (
	"math"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// LeftBucket is the token bucket of the script that Stripe published, which Spring Cloud Gateway
// and go-zero took over: two strings, the tokens LEFT, and the whole second of the last call,
// also of a denied one. Tokens come in batches of the rate at whole seconds. Both strings expire
// after twice the time that an empty bucket takes to fill, in whole seconds, set anew with every
// call.
type LeftBucket struct {
	Tokens, Stamp string
	Derive        bool // the rate follows from the burst that a rule gives and from the expiry

	lives int64 // the expiry in seconds that a call sets; 0 while it is not known
}

// Fetch reads both strings.
func (b *LeftBucket) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: b.Tokens, Type: "string"}, {Key: b.Stamp, Type: "string"}}
}

// Match returns the match of the two strings, which have to agree with each other.
func (b *LeftBucket) Match(c decode.Context, prefix string, why ...string) *decode.Match {
	return &decode.Match{
		Settings: decode.Settings{Algorithm: limiter.TokenBucket},
		Name:     b.Tokens, Prefix: prefix,
		Why:      append(why, "its twin holds a second of now"),
		Limiter:  b,
		Siblings: b.Fetch(c.Now),
		Confirm: func(got []decode.Sample) bool {
			_, _, ok := b.read(got, c.Now)
			return ok
		},
	}
}

func (b *LeftBucket) read(got []decode.Sample, now limiter.Instant) (tokens float64, at limiter.Instant, ok bool) {
	tokens, ok = Number(got[0].Text)
	second, good := Count(got[1].Text)
	if !ok || !good || tokens < 0 || second > 1e11 {
		return 0, 0, false
	}
	at = limiter.Instant(second * 1e6)
	lives := got[0].TTL + now.Sub(at) // the expiry that the last call set
	return tokens, at, got[0].TTL > 0 && got[1].TTL > 0 && (got[0].TTL-got[1].TTL).Abs() <= 2*Latency &&
		now.Sub(at) > -5*time.Second && lives > 0 && lives < 48*time.Hour
}

// Decode returns the bucket. The limit is the rate a second, the burst is the capacity: both have
// to be given, for the keys hold what is left and not what it is left of.
func (b *LeftBucket) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := decode.Decoded{Type: got[0].Type, TTL: got[0].TTL}
	d.Algorithm, d.Window = limiter.TokenBucket, given.Window
	d.NeedsBurst = true
	if got[0].Exists() {
		d.Members = Members(got)
		tokens, at, ok := b.read(got, now)
		if !ok {
			d.Err = "holds no token bucket of its library: correct its rule"
			return d
		}
		b.learn(now, got[0].TTL, at)
		SetTokens(&d, tokens, at, 0)
	}
	rate, whole := perSecond(given)
	burst := given.Limit.Burst
	if b.Derive && given.LimitFrom == model.NoLimit && burst > 0 {
		if rate, whole = b.rate(burst); whole {
			given.LimitFrom = model.LimitInferred
		}
	}
	if burst == 0 && whole {
		burst = b.burst(rate)
	}
	if whole && burst > 0 {
		d.Convention.Refill = limiter.RefillInterval
		Translate(&d, given, limiter.Limit{Count: rate, Burst: burst, Window: time.Second})
	}
	return d
}

// learn takes the expiry that a call set: in whole seconds, and so one that was set in the second
// of its stamp leaves that many and a part of the next.
func (b *LeftBucket) learn(now limiter.Instant, ttl time.Duration, at limiter.Instant) {
	set := int64(math.Ceil((ttl - time.Millisecond).Seconds()))
	if since := now.Sub(at); since >= 0 && int64((ttl+since).Seconds()) == set && since < time.Second {
		b.lives = set
	}
}

// rate returns the one whole rate for which floor(2*burst/rate) is the expiry.
func (b *LeftBucket) rate(burst int64) (int64, bool) {
	if b.lives <= 0 || burst > limiter.MaxCount {
		return 0, false
	}
	most := 2 * burst / b.lives
	return most, most > 0 && 2*burst/(b.lives+1) == most-1
}

// burst returns the one capacity for which floor(2*burst/rate) is the expiry, 0 where several are.
func (b *LeftBucket) burst(rate int64) int64 {
	if b.lives <= 0 || b.lives > 1e6 || rate > 1e9 {
		return 0
	}
	least := (b.lives*rate + 1) / 2
	if 2*(least+1) < (b.lives+1)*rate {
		return 0
	}
	return least
}
