package form

import (
	"math"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// LeftBucket returns the token bucket of the script that Stripe published, which Spring Cloud Gateway
// and go-zero took over: two strings, the tokens LEFT, and the whole second of the last call,
// also of a denied one. Tokens come in batches of the rate at whole seconds. Both strings expire
// after twice the time that an empty bucket takes to fill, in whole seconds, set anew with every
// call. With derive the rate follows from the burst that a rule gives and from the expiry.
func LeftBucket(tokens, stamp string, derive bool) *Reader {
	b := &leftBucket{}
	return &Reader{
		Keys: Texts(tokens, stamp), Holds: "token bucket of its library",
		Settings: decode.Settings{Algorithm: limiter.TokenBucket, NeedsBurst: true},
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
			tokens, ok := Number(got[0].Text)
			second, good := Count(got[1].Text)
			at := limiter.Instant(second * 1e6)
			lives := got[0].TTL + now.Sub(at) // the expiry that the last call set
			if !ok || !good || tokens < 0 || second > 1e11 || got[0].TTL <= 0 || got[1].TTL <= 0 ||
				(got[0].TTL-got[1].TTL).Abs() > 2*Latency || now.Sub(at) <= -5*time.Second || lives <= 0 || lives >= 48*time.Hour {
				return false
			}
			b.learn(now, got[0].TTL, at)
			SetTokens(d, tokens, at, 0)
			b.limit(d, given, derive)
			return true
		},
		Limit: func(d *decode.Decoded, given decode.Settings) { b.limit(d, given, derive) },
	}
}

// leftBucket is what was learnt of one: the expiry in seconds that a call sets, 0 while it is not known.
type leftBucket struct{ lives int64 }

// limit takes the rate a second for the limit, and the capacity for the burst: both have to be given, for
// the keys hold what is left and not what it is left of.
func (b *leftBucket) limit(d *decode.Decoded, given decode.Settings, derive bool) {
	rate, whole := perSecond(given)
	burst := given.Limit.Burst
	if derive && given.LimitFrom == model.NoLimit && burst > 0 {
		if rate, whole = b.rate(burst); whole {
			given.LimitFrom = model.LimitInferred
		}
	}
	if burst == 0 && whole {
		burst = b.burst(rate)
	}
	if whole && burst > 0 {
		d.Convention.Refill = limiter.RefillInterval
		Translate(d, given, limiter.Limit{Count: rate, Burst: burst, Window: time.Second})
	}
}

// learn takes the expiry that a call set: in whole seconds, and so one that was set in the second
// of its stamp leaves that many and a part of the next.
func (b *leftBucket) learn(now limiter.Instant, ttl time.Duration, at limiter.Instant) {
	set := int64(math.Ceil((ttl - time.Millisecond).Seconds()))
	if since := now.Sub(at); since >= 0 && int64((ttl+since).Seconds()) == set && since < time.Second {
		b.lives = set
	}
}

// rate returns the one whole rate for which floor(2*burst/rate) is the expiry.
func (b *leftBucket) rate(burst int64) (int64, bool) {
	if b.lives <= 0 || burst > limiter.MaxCount {
		return 0, false
	}
	most := 2 * burst / b.lives
	return most, most > 0 && 2*burst/(b.lives+1) == most-1
}

// burst returns the one capacity for which floor(2*burst/rate) is the expiry, 0 where several are.
func (b *leftBucket) burst(rate int64) int64 {
	if b.lives <= 0 || b.lives > 1e6 || rate > 1e9 {
		return 0
	}
	least := (b.lives*rate + 1) / 2
	if 2*(least+1) < (b.lives+1)*rate {
		return 0
	}
	return least
}
