package foreign

import (
	"errors"
	"math"
	"strconv"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// start2017 is the epoch of redis_rate's times, in seconds of the Unix epoch.
const start2017 = 1483228800

// redisRate is GCRA in seconds as floating-point numbers, computed in the same order as in the library, so that every digit is the
// same. Each product is rounded by a conversion: a fused multiply-add would change the last digit. Denied requests write nothing.
var redisRate = &Writer{
	Library: "redis-rate", Algorithm: limiter.GCRA, fetch: one,
	refund: refundArrival(func(text string) (int64, error) {
		v, err := float(text, 1e10)
		return int64(start2017*1e9) + int64(v*1e9), err
	}, func(key string, tat, now int64) [][]any {
		return setSeconds(key, float64(tat-start2017*1e9)/1e9, now, float64(tat-now)/1e9)
	}),
	write: func(r *Request) (Written, error) {
		s, l := &r.Held[0], r.limit()
		now := float64(int64(r.At)/1e6-start2017) + float64(float64(int64(r.At)%1e6)/1e6)
		interval := l.Window.Seconds() / float64(l.Count)
		tat := now
		if s.Exists() {
			v, err := float(s.Text, 1e10)
			if err != nil {
				return Written{}, err
			}
			tat = max(v, now)
		}
		next := tat + float64(interval*float64(r.Cost))
		allowAt := next - float64(interval*float64(model.Capacity(*r.Target)))
		if (now-allowAt)/interval < 0 {
			return Written{Decision: r.decide(false, arrival(tat))}, nil
		}
		w := Written{Decision: r.decide(true, arrival(next))}
		if wait := next - now; wait > 0 {
			w.Commands = setSeconds(s.Key, next, int64(r.At)*1000, wait)
		}
		return w, nil
	},
}

// setSeconds returns the commands that set an arrival time in seconds since 2017, wait seconds after now, which is in nanoseconds.
func setSeconds(key string, tat float64, now int64, wait float64) [][]any {
	return until(key, strconv.FormatFloat(tat, 'g', 17, 64), now+int64(math.Ceil(wait))*1e9)
}

// until returns the commands that set a value which expires at an instant, in nanoseconds. By their expiry the keys of a library are
// recognized, so that it must not depend on how long the commands are on their way.
func until(key, value string, at int64) [][]any {
	return [][]any{{"set", key, value}, {"pexpireat", key, at / 1e6}}
}

// arrival returns the state for an arrival time in seconds since 2017, rounded down to the microsecond as its decoder does.
func arrival(seconds float64) limiter.State {
	return limiter.State{Algorithm: limiter.GCRA, TAT: limiter.Instant(start2017*1e6 + int64(seconds*1e6) - 1)}
}

// throttled is GCRA in whole nanoseconds. The expiry is rounded down to seconds, but is at least one second.
var throttled = inNanoseconds("throttled", 0, func(key string, tat, now int64) [][]any {
	return until(key, strconv.FormatInt(tat, 10), now+max((tat-now)/1e9, 1)*1e9)
})

// redisCell is GCRA in whole nanoseconds, as CL.THROTTLE computes it: the key expires at the theoretical arrival time, rounded down to
// the millisecond. The module reads the host's clock in nanoseconds, TIME gives microseconds: half a one is added, so that the key
// does not look like one of throttled, whose values are whole microseconds.
var redisCell = inNanoseconds("redis-cell", 500, func(key string, tat, _ int64) [][]any {
	return until(key, strconv.FormatInt(tat, 10), tat)
})

// setArrival returns the commands that set a theoretical arrival time; it and now are in nanoseconds.
type setArrival func(key string, tat, now int64) [][]any

// inNanoseconds returns the writer of a GCRA in whole nanoseconds, by a clock that is ahead by so many.
func inNanoseconds(library string, ahead int64, set setArrival) *Writer {
	return &Writer{
		Library: library, Algorithm: limiter.GCRA, fetch: one,
		refund: refundArrival(func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }, set),
		write: func(r *Request) (Written, error) {
			now := int64(r.At)*1000 + ahead
			w, next, err := r.scheduled(now)
			if err == nil && w.Decision.Allowed {
				w.Commands = set(r.Held[0].Key, next, now)
			}
			return w, err
		},
	}
}

// scheduled computes a request at a GCRA in whole nanoseconds since the epoch, without its commands,
// and the theoretical arrival time after it.
func (r *Request) scheduled(now int64) (w Written, next int64, err error) {
	s, l := &r.Held[0], r.limit()
	interval := int64(l.Window) / l.Count
	tat := now
	if s.Exists() {
		v, err := strconv.ParseInt(s.Text, 10, 64)
		if err != nil || v < 0 || v > now+int64(2*limiter.MaxWindow) {
			return w, 0, errHolds
		}
		tat = max(v, now)
	}
	next = tat
	if r.Cost <= model.Capacity(*r.Target) { // a greater cost is denied, and its product may overflow
		next += interval * r.Cost
		w.Decision.Allowed = next-interval*model.Capacity(*r.Target) <= now
	}
	if !w.Decision.Allowed {
		next = tat
	}
	w.Decision = r.decide(w.Decision.Allowed, limiter.State{Algorithm: limiter.GCRA, TAT: limiter.Instant(next / 1000)})
	return w, next, nil
}

// Token buckets in whole seconds, in two strings: the tokens left and the second of the last request. A denied request updates both
// as well, with the tokens refilled by then. Both expire after twice the time that an empty bucket takes to fill, in whole seconds.
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
		fetch: twin(leftTokens, stamp), write: (*Request).drawn,
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
		v, err := float(s.Text, limiter.MaxCount)
		if err != nil {
			return Written{}, err
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
