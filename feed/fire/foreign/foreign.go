// Package foreign computes how clients of other rate limiting libraries write a request: the
// commands that change the keys, and whether the request is admitted, by the arithmetic of that
// library. It sends nothing; feed/fire sends the commands in a transaction that fails if the keys
// have changed since they were read. The scripts of the libraries are not copied: the commands
// have the same effect, and tests compare it, value by value, with fixtures that the libraries
// themselves have recorded.
//
// State that a client of the library keeps in its own memory (denials, an insurance limiter) has
// no effect on a request from here, just as it has none on requests of other processes.
package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// Writer computes the requests of one library at limiters of one algorithm. It is safe for
// concurrent use.
type Writer struct {
	// Library is the library's name in package decode. Algorithm is the limiter's algorithm.
	Library   string
	Algorithm limiter.Algorithm
	// Type is the Redis type of the limiter's keys; "" is string.
	Type string
	// Single is set if the library's requests have no cost, so that each counts once.
	Single bool
	// Charged is set if denied requests are counted too.
	Charged bool
	// Seconds is set if the library's windows are whole seconds.
	Seconds bool
	// Beside is the suffix of a key beside the counter that counts nothing: a time or a block; ""
	// for none.
	Beside string
	// Named is set if each window has its own counter, whose name contains the window.
	Named bool
	// Blocks is set if all requests are denied while the key beside the counter exists.
	Blocks bool
	// Assumes names, as the end of a clause, an option of the limiter on which the commands depend
	// and which its keys do not show; "" for none.
	Assumes string
	// fetch returns the keys to read for a request at an instant.
	fetch func(name string, t *model.Target, at limiter.Instant) []decode.Fetch
	// write computes a request.
	write func(r *Request) (Written, error)
	// holder returns which key of fetch still counts a request; nil if it is the first one, which
	// is named after its window or expires one window after it was created.
	holder func(c Counted) (n int, ok bool)
	// refund computes how units are given back to a limiter that drains; nil for other limiters,
	// for which Refund must not be called.
	refund func(r *Request, units int64) (Written, error)
}

// Request is a request to be computed.
type Request struct {
	Target *model.Target
	Cost   int64
	At     limiter.Instant // when the keys were read, by the server's clock
	Held   []decode.Sample // contents of the keys, in the order of Fetch
}

// Written is a computed request.
type Written struct {
	// Commands change the keys; they run in this order, as one transaction. None means that the
	// library writes nothing.
	Commands [][]any
	Decision limiter.Decision
	// Counted returns the decision from the answer of the last command, which is the new value of
	// a counter; nil if Decision holds. With Counted the commands are right for any value of the
	// counter, as long as its key exists. Keys that other clients count at all the time can then
	// be fired at.
	Counted func(n int64) limiter.Decision
}

// writers lists the limiters at which requests can be fired, in the versions of the libraries that
// package decode names.
var writers = []*Writer{
	rateLimitRedis, rateLimiterFlexible, fastifyRateLimit, ulule, increx, limitsFixed, limitsMoving, limitsSliding,
	redisRate, throttled, upstashFixed, upstashSliding, laravel, goZero, goZeroPeriod, springGateway, stripe,
	honoRateLimiter, fastapiLimiter, ginRateLimit, redisCell, russellluo, nestThrottler,
}

// For returns the writer for requests at t; nil if there is none.
func For(t *model.Target) *Writer {
	if t.Library == "" || t.Library == model.OwnLibrary {
		return nil
	}
	for _, w := range writers {
		if w.Library == t.Library && w.Algorithm == t.Algorithm {
			return w
		}
	}
	return nil
}

// Writes reports whether requests at a limiter of a library are written exactly as its own clients
// write them, where its leading key has the Redis type typ; "" or "none" is a key that does not exist.
func Writes(library string, a limiter.Algorithm, typ string) bool {
	w := For(&model.Target{Library: library, Algorithm: a})
	return w != nil && (typ == "" || typ == "none" || typ == cmp.Or(w.Type, "string"))
}

// All returns every writer. The list must not be changed.
func All() []*Writer { return writers }

// Check returns an error, one sentence without the key, if requests of a cost cannot be written at
// t.
func (w *Writer) Check(t *model.Target, cost int64) error {
	window := window(t)
	switch {
	case t.LimitKnown && t.Limit.Count == 0:
		return fmt.Errorf("a limit of 0 does not tell what %s admits: give --limit, as in --limit 100/1m", w.Library)
	case w.Single && cost != 1:
		return fmt.Errorf("requests of %s have no cost, each counts once: leave --cost out", w.Library)
	case w.Seconds && window%time.Second != 0:
		return fmt.Errorf("a window of %v is none that %s can keep, which counts whole seconds: correct its rule", window, w.Library)
	case w == limitsMoving && t.Limit.Count > mostListed:
		return fmt.Errorf("a limit of %d is kept as a list that each request would have to read: nothing is fired above %d", t.Limit.Count,
			mostListed)
	}
	return nil
}

// Fetch returns the keys to read before a request at an instant. name is the key of the reading; if
// Target.Base is set, it is used instead.
func (w *Writer) Fetch(name string, t *model.Target, at limiter.Instant) []decode.Fetch {
	if t.Base != "" {
		name = t.Base
	}
	return w.fetch(name, t, at)
}

// errHolds is the error of a key whose contents are not those of its library.
var errHolds = errors.New("the key holds something else than its library keeps there: look at it with ratescope peek")

// Write computes the request r.
func (w *Writer) Write(r *Request) (Written, error) {
	if r.mismatch() {
		return Written{}, errHolds
	}
	return w.write(r)
}

// mismatch reports whether a key has another type than its library gives it.
func (r *Request) mismatch() bool {
	return slices.ContainsFunc(r.Held, func(s decode.Sample) bool { return s.Mismatch })
}

func window(t *model.Target) time.Duration { return max(t.Limit.Window, t.Window) }

func (r *Request) limit() limiter.Limit {
	l := r.Target.Limit
	l.Window = window(r.Target)
	return l
}

// count returns the whole number that a sample holds; 0 if the key does not exist.
func count(s *decode.Sample) (int64, error) {
	if !s.Exists() {
		return 0, nil
	}
	n, err := strconv.ParseInt(s.Text, 10, 64)
	if err != nil || n > limiter.MaxCount || n < -limiter.MaxCount {
		return 0, errHolds
	}
	return n, nil
}

// float returns a number of at most so much above or below zero.
func float(text string, most float64) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(v) <= most) {
		return 0, errHolds
	}
	return v, nil
}

// counts returns the whole numbers that the two keys of a request hold.
func (r *Request) counts() (first, second int64, err error) {
	if first, err = count(&r.Held[0]); err == nil {
		second, err = count(&r.Held[1])
	}
	return first, second, err
}

// decide returns the decision about a request. The library decides whether it is allowed; the
// remaining units and the waits follow from the state s after the request.
func (r *Request) decide(allowed bool, s limiter.State) limiter.Decision {
	l, c := r.limit(), r.Target.Convention
	d := s.Peek(r.At, l, c, 0)
	d.Allowed, d.Cost, d.RetryAfter = allowed, r.Cost, 0
	if !allowed {
		if d.RetryAfter = s.Peek(r.At, l, c, r.Cost).RetryAfter; d.RetryAfter == 0 {
			d.RetryAfter = time.Microsecond // the library denies it although the state would admit it
		}
	}
	return d
}

// Counted is a request that a counter has counted, with the expiries of the limiter's keys.
type Counted struct {
	Target  *model.Target
	At, Now limiter.Instant   // when it was counted, and now, by the server's clock
	First   bool              // it was the first one that its counter counted
	Expires []limiter.Instant // expiries of the keys of Fetch at At, or Absent or Immortal
}

// Values of Counted.Expires for keys without an expiry.
const (
	Absent   limiter.Instant = -1 // the key does not exist
	Immortal limiter.Instant = 0  // the key never expires
)

// Holder returns the index of the key of Fetch that still counts a request; ok is false if none
// does, because its window is over or the limiter has no counters.
func (w *Writer) Holder(c Counted) (n int, ok bool) {
	switch {
	case w.Algorithm != limiter.FixedWindow && w.Algorithm != limiter.SlidingWindow:
		return 0, false
	case w.Named:
		return 0, c.Expires[0] != Absent
	case w.holder != nil:
		return w.holder(c)
	}
	return 0, c.begun(0, window(c.Target))
}

// begun reports whether the n-th key exists and was created no later than the request; lives is
// the time from its creation to its expiry.
func (c Counted) begun(n int, lives time.Duration) bool {
	expires := c.Expires[n]
	return expires == Immortal || expires > 0 && CountedSince(expires.Add(-lives), c.At, c.First)
}

// latest is how long a request may take from its computation to its write.
const latest = 5 * time.Second

// CountedSince reports whether a counter created at made counts a request computed at at. The first request of a counter creates it,
// so that made is later than at by up to latest. made is exact to the millisecond, to which Redis rounds expiries.
func CountedSince(made, at limiter.Instant, first bool) bool {
	if first {
		at = at.Add(latest)
	}
	return at.Millis() >= made.Millis()-1
}

// renamed is a holder for a counter that is renamed when its window is over: the request is in the
// current or in the previous counter. Both expire two windows after they were created.
func renamed(c Counted) (int, bool) {
	for n := range c.Expires {
		if c.begun(n, 2*window(c.Target)) {
			return n, true
		}
	}
	return 0, false
}

// sinceLast is a holder for a counter that restarts after a window without an admitted request, in
// whole seconds. It is unknown whether older requests are still counted, and they are taken as not
// counted.
func sinceLast(c Counted) (int, bool) {
	age := time.Duration(int64(c.Now)/1e6-int64(c.At)/1e6) * time.Second
	return 0, c.Expires[0] != Absent && age < window(c.Target)
}

// Refund computes how units are given back to a limiter that drains, at most those that still
// count. Decision.Cost of the result is the number of units; if it is 0, there are no commands. No
// library has a refund of its own: the values are written in the form that its next request would
// leave.
func (w *Writer) Refund(r *Request, units int64) (Written, error) {
	if r.mismatch() {
		return Written{}, errHolds
	}
	return w.refund(r, units)
}

// refunded returns the Written for a refund of units.
func refunded(units int64, commands ...[]any) (Written, error) {
	return Written{Commands: commands, Decision: limiter.Decision{Cost: units}}, nil
}

// refundArrival returns a refund for a GCRA. read returns the theoretical arrival time that a value says, in nanoseconds.
func refundArrival(read func(text string) (tat int64, err error), set setArrival) func(r *Request, units int64) (Written, error) {
	return func(r *Request, units int64) (Written, error) {
		s, l := &r.Held[0], r.limit()
		if !s.Exists() {
			return refunded(0)
		}
		tat, err := read(s.Text)
		now, interval := int64(r.At)*1000, int64(l.Window)/l.Count
		if err != nil || tat < 0 || tat > now+int64(2*limiter.MaxWindow) {
			return Written{}, errHolds
		}
		const exact = 1000 // of a time that was written as a fraction
		units = min(units, (tat-now+interval-exact)/interval)
		next := tat - interval*units
		switch {
		case units <= 0:
			return refunded(0)
		case next <= now:
			return refunded(units, []any{"del", s.Key})
		}
		return refunded(units, set(s.Key, next, now)...)
	}
}

// refundTokens refunds tokens to a bucket; the second of its last request and its expiries stay.
func refundTokens(r *Request, units int64) (Written, error) {
	s, full := &r.Held[0], float64(model.Capacity(*r.Target))
	if !s.Exists() {
		return refunded(0)
	}
	tokens, err := float(s.Text, limiter.MaxCount)
	if err != nil {
		return Written{}, err
	}
	if units = min(units, int64(math.Ceil(full-tokens))); units <= 0 {
		return refunded(0)
	}
	return refunded(units, []any{"set", s.Key, strconv.FormatFloat(min(tokens+float64(units), full), 'g', 17, 64), "keepttl"})
}
