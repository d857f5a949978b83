package limiter

import (
	"time"

	"ratescope/limiter/convention"
	"ratescope/limiter/internal/rate"
)

// request is one request and the conditions under which it is decided.
type request struct {
	now           Instant
	limit         Limit
	w             int64 // the window in microseconds, 1 or more
	c             Convention
	n             int64
	largest       int64 // the largest n that can ever be admitted: the burst, or the limit
	alg           Algorithm
	logs          bool    // the algorithm keeps every request
	bursts        bool    // as Algorithm.Bursts
	told, allowed bool    // a store elsewhere has decided, and how
	write         bool    // what is decided is kept
	blocked       Instant // until when the key is blocked: before the decision, then after it
}

// fill sets the fields of q, and those that d repeats, in place: the processor waits when
// it reads back in one piece what was just written in several.
func (q *request) fill(d *Decision, now Instant, limit Limit, c *Convention, n int64, alg Algorithm) {
	d.At, d.Limit, d.Cost = now, limit, n
	q.now, q.limit, q.w, q.n = now, limit, limit.micros(), n
	known := alg.arithmetic()
	q.c, q.alg, q.logs, q.bursts, q.largest = *c, alg, known.kind == kindLog, known.bursts, limit.Count
	if limit.Burst > 0 && known.bursts {
		q.largest = limit.Burst
	}
}

// packed is the state of a key whose algorithm keeps no log, in four whole numbers, so that
// it travels in registers. The file of the algorithm says what they mean; all zero is a
// new key.
type packed struct {
	at      Instant
	x, y, z int64
}

// unpack converts a stored moment to a packed state and clamps it: the values may come from
// another program.
func unpack(at Instant, part, parts int64) packed {
	k := packed{at: min(max(at, -rate.Beyond), rate.Beyond)}
	if 0 <= part && part < parts {
		k.x, k.y = part, parts
	}
	return k
}

// decide brings the state of a key without a log forward, decides, charges, and explains.
// It reports whether it charged; only then is the state that it returns to be kept. The
// algorithms of this package are called directly: what goes through the table escapes to
// the heap, which would be two allocations a decision.
func (q *request) decide(d *Decision, k packed) (packed, bool) {
	switch q.alg {
	case FixedWindow:
		return q.decideFixed(d, k)
	case SlidingWindow:
		return q.decideSliding(d, k)
	case GCRA:
		return q.decideGCRA(d, k)
	case TokenBucket, LeakyBucket:
		return q.decideBucket(d, k)
	}
	return q.decideByTable(d, k)
}

// decideByTable decides with an algorithm that decide does not name.
func (q *request) decideByTable(d *Decision, k packed) (_ packed, charged bool) {
	known := q.alg.arithmetic()
	if known.decide == nil {
		d.RetryAfter = Never
		return k, false
	}
	onHeap, decision := *q, *d
	k, charged = known.decide(&onHeap, &decision, k)
	*q, *d = onHeap, decision
	return k, charged
}

// never says that no wait will admit the request.
func (q *request) never() bool { return q.n < 0 || q.limit.Count != 0 && q.n > q.largest }

// fits applies the rule to a whole number of used units.
func (q *request) fits(used int64) bool {
	switch {
	case q.limit.Count == 0 || q.n == 0:
		return true
	case q.c.Rule == convention.Below:
		return used < q.limit.Count
	}
	return used <= q.limit.Count-q.n
}

// later is what the closed edge adds to the life of an entry.
func later(e convention.Edge) int64 {
	if e == convention.Closed {
		return 1
	}
	return 0
}

// settle decides, and says whether the request is to be charged. A block counts before
// anything else; a request that can never be admitted leaves no trace whatever the
// convention says.
func (q *request) settle(d *Decision, fits bool) bool {
	if q.refused() {
		return false
	}
	if q.told {
		fits = q.allowed
	}
	d.Allowed = fits
	return q.write && (fits || q.c.Denied == convention.Charged && !q.bursts)
}

// refused says that a request is denied whatever its algorithm says.
func (q *request) refused() bool { return q.isBlocked() || q.never() }

// isBlocked says that the key is refused. Zero, which is no block, lies ahead of a clock that
// shows a time before 1970.
func (q *request) isBlocked() bool { return q.blocked > q.now && q.blocked != 0 }

// close turns what the algorithm said into what the key as a whole means.
func (q *request) close(d *Decision) {
	if d.ResetAfter < 0 { // a store may hold anything
		d.ResetAfter = 0
	}
	if !d.Allowed {
		q.closeDenied(d)
	}
}

// closeDenied also blocks a key that overran, where the convention says so.
func (q *request) closeDenied(d *Decision) {
	if q.write && q.c.Block > 0 && !q.refused() {
		q.blocked = q.now.Add(q.c.Block)
	}
	if d.RetryAfter = max(d.RetryAfter, 0); q.never() {
		d.RetryAfter = Never
	}
	if q.isBlocked() {
		left := q.blocked.Sub(q.now)
		d.RetryAfter = max(d.RetryAfter, left)
		d.ResetAfter = max(d.ResetAfter, left)
		d.Remaining = 0
	}
}

// micros returns the window in whole microseconds, never below one, so that a limit
// that was not validated cannot divide by zero.
func (l Limit) micros() int64 { return max(int64(l.Window/time.Microsecond), 1) }

func span(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }

// room is what is left of limit when used is charged, never below 0.
func room(limit, used int64) int64 {
	if used <= 0 {
		return max(limit, 0)
	}
	return max(limit-used, 0)
}
