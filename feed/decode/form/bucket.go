package form

import (
	"math"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// The libraries that keep a bucket store what is LEFT in it, with fractions, which may be below
// zero where requests wait in line. The package limiter keeps whole units and, in the place of a
// fraction, the time since the last whole one.

// SetTokens makes d the state of a token bucket that held tokens at an instant. step is the
// microseconds that a token takes to come back; 0: not known, or whole batches.
func SetTokens(d *decode.Decoded, tokens float64, at limiter.Instant, step float64) {
	if tokens = math.Max(math.Min(tokens, limiter.MaxCount), -limiter.MaxCount); math.IsNaN(tokens) {
		tokens = 0
	}
	d.State.Level = math.Floor(math.Max(tokens, 0))
	d.State.Filled = at - Span((tokens-d.State.Level)*step)
}

// SetWater makes d the state of a leaky bucket that held water at an instant, of which a unit
// drains every step microseconds.
func SetWater(d *decode.Decoded, water float64, at limiter.Instant, step float64) {
	water = math.Max(math.Min(water, limiter.MaxCount), 0)
	if math.IsNaN(water) {
		water = 0
	}
	d.State.Level = math.Ceil(water)
	d.State.Filled = at - Span((d.State.Level-water)*step)
}

// Added returns the water of a leaky bucket to which more is added that does not drain, and the instant at which it holds that.
func Added(water, more float64, at, now limiter.Instant, step float64) (float64, limiter.Instant) {
	if step > 0 {
		water, at = math.Max(water-math.Max(float64(now-at), 0)/step, 0), max(at, now)
	}
	return water + more, at
}

// Span converts microseconds to an instant's measure, bounded to a century either way.
func Span(us float64) limiter.Instant {
	const century = 100 * 366 * 24 * 3600 * 1e6
	return limiter.Instant(math.Max(math.Min(us, century), -century))
}

// Translate makes what the rule gives the limit of d, with a burst and a window of its own:
// where a library measures its limit otherwise than the package limiter does.
func Translate(d *decode.Decoded, given decode.Settings, limit limiter.Limit) {
	if given.LimitFrom == model.NoLimit || limit.Validate() != nil {
		return
	}
	d.Limit, d.Window, d.LimitFrom = limit, limit.Window, given.LimitFrom
}

// perSecond returns the rate a second of a limit; ok is false where it is no whole number.
func perSecond(s decode.Settings) (rate int64, ok bool) {
	if s.Limit.Count <= 0 || s.Limit.Count > limiter.MaxCount || s.Window < time.Millisecond {
		return 0, false
	}
	w := s.Window.Microseconds()
	return s.Limit.Count * 1e6 / w, s.Limit.Count*1e6%w == 0
}

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
		d.Convention.Refill = convention.Interval
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

// How far the instant of a sample may lie from that of its expiry: the clock is estimated before
// the command runs, and expiries are whole milliseconds or whole seconds.
const (
	Latency     = 50 * time.Millisecond
	WholeSecond = time.Second
)

// readTAT reads the theoretical arrival time (TAT) of a sample; ok is false where the value is
// none, or where its expiry does not agree.
type readTAT func(s *decode.Sample, now limiter.Instant) (at limiter.Instant, ok bool)

// MatchTAT returns a match of GCRA in one string where read takes s, else nil. forgets says that the key
// may expire before its time, and the backlog with it.
func MatchTAT(s *decode.Sample, c decode.Context, read readTAT, forgets bool, prefix string, why ...string) *decode.Match {
	r := &Reader{
		Keys: Texts(s.Key), Settings: decode.Settings{Algorithm: limiter.GCRA}, Holds: "theoretical arrival time (TAT) of its library",
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) (ok bool) {
			if d.State.TAT, ok = read(&got[0], now); forgets {
				d.State.TAT = forgotten(d.State.TAT, got[0].Expiry(now), given)
			}
			return ok
		},
	}
	return r.Match(s, c, decode.Match{Prefix: prefix, Why: why})
}

// forgotten returns the time at which a key that expires before its TAT says the same about the
// next request: with the key goes the backlog, so that it is admitted then at the latest.
func forgotten(at, expiry limiter.Instant, given decode.Settings) limiter.Instant {
	early := Emission(given) * float64(max(given.Limit.Burst, 1)-1)
	if given.Limit.Burst == 0 {
		early = Emission(given) * float64(max(given.Limit.Count, 1)-1)
	}
	if given.Limit.Count <= 0 || early >= 1<<52 {
		return at
	}
	return min(at, expiry+limiter.Instant(early))
}

// Emission returns the microseconds between two units of a limit, 0 where it is not known.
func Emission(s decode.Settings) float64 {
	if s.Limit.Count <= 0 || s.Window <= 0 {
		return 0
	}
	return float64(s.Window.Microseconds()) / float64(s.Limit.Count)
}
