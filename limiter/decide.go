package limiter

import "time"

// asked is one request and the terms on which it is judged.
type asked struct {
	now     Instant
	limit   Limit
	w       int64 // the window in microseconds, 1 or more
	c       Convention
	n       int64
	most    int64 // the largest n that can ever be admitted: the burst, or the limit
	alg     Algorithm
	key     string
	name    name    // of the key, for a Memory
	write   bool    // whether what is decided is kept
	blocked Instant // until when the key is refused altogether: before the decision, then after it
}

// ask fills in what is asked, and what a decision repeats of it, in place: to copy what was
// written a moment ago makes the processor wait.
func (a *asked) ask(d *Decision, now Instant, limit Limit, c *Convention, n int64, alg Algorithm) {
	d.At, d.Limit, d.Cost = now, limit, n
	a.now, a.limit, a.w, a.n = now, limit, limit.micros(), n
	a.c, a.alg, a.most = *c, alg, alg.most(limit)
}

// words are the state of a key whose algorithm keeps no log, in four whole numbers, so that
// it travels in registers. The file of the algorithm says what they are; all zero is a
// new key.
type words struct {
	at      Instant
	x, y, z int64
}

// told returns the words of a moment that somebody else keeps, who may say anything.
func told(at Instant, part, parts int64) words {
	k := words{at: min(max(at, -beyond), beyond)}
	if 0 <= part && part < parts {
		k.x, k.y = part, parts
	}
	return k
}

// decide brings the state of a key without a log forward, decides, charges, and
// explains. It says whether it charged; only then is what it returns to be kept.
func (a *asked) decide(d *Decision, k words) (words, bool) {
	switch a.alg {
	case FixedWindow:
		return a.decideFixed(d, k)
	case SlidingWindow:
		return a.decideSliding(d, k)
	case GCRA:
		return a.decideGCRA(d, k)
	case TokenBucket, LeakyBucket:
		return a.decideBucket(d, k)
	}
	d.RetryAfter = Never
	return k, false
}

// most returns the largest cost that an algorithm can ever admit.
func (a Algorithm) most(l Limit) int64 {
	if l.Burst > 0 && a.bursts() {
		return l.Burst
	}
	return l.Count
}

// bursts says that an algorithm spreads its limit and has a burst of its own. What a
// denied request might charge would only move its refill, so none of them charges it. They
// are the last of the algorithms.
func (a Algorithm) bursts() bool { return a >= GCRA }

// never says that no wait will admit the request.
func (a *asked) never() bool { return a.n < 0 || a.limit.Count != 0 && a.n > a.most }

// logs says that an algorithm remembers every request.
func (a Algorithm) logs() bool { return a == SlidingLog || a == StreamCounter }

// fits applies the rule to a whole number of used units.
func (a *asked) fits(used int64) bool {
	switch {
	case a.limit.Count == 0 || a.n == 0:
		return true
	case a.c.Rule == Below:
		return used < a.limit.Count
	}
	return used <= a.limit.Count-a.n
}

// edge is what the closed edge adds to the life of an entry.
func (a *asked) edge() int64 {
	if a.c.Edge == Closed {
		return 1
	}
	return 0
}

// settle decides, and says whether the request is to be charged. A block counts before
// anything else; a request that can never be admitted leaves no trace whatever the
// convention says.
func (a *asked) settle(d *Decision, fits bool) bool {
	if a.refused() {
		return false
	}
	d.Allowed = fits
	return a.write && (fits || a.c.Denied == Charged && !a.alg.bursts())
}

// refused says that a request is denied whatever its algorithm says.
func (a *asked) refused() bool { return a.isBlocked() || a.never() }

// isBlocked says that the key is refused. Zero, which is no block, lies ahead of a clock that
// shows a time before 1970.
func (a *asked) isBlocked() bool { return a.blocked > a.now && a.blocked != 0 }

// close turns what the algorithm said into what the key as a whole means.
func (a *asked) close(d *Decision) {
	if d.ResetAfter < 0 { // a store may hold anything
		d.ResetAfter = 0
	}
	if !d.Allowed {
		a.closeDenied(d)
	}
}

// closeDenied also blocks a key that overran, where the convention says so.
func (a *asked) closeDenied(d *Decision) {
	if a.write && a.c.Block > 0 && !a.refused() {
		a.blocked = a.now.Add(a.c.Block)
	}
	if d.RetryAfter = max(d.RetryAfter, 0); a.never() {
		d.RetryAfter = Never
	}
	if a.isBlocked() {
		left := a.blocked.Sub(a.now)
		if d.RetryAfter != Never {
			d.RetryAfter = max(d.RetryAfter, left)
		}
		d.ResetAfter = max(d.ResetAfter, left)
		d.Remaining = 0
	}
}

// micros returns the window in whole microseconds, never below one, so that a limit
// that nobody validated cannot divide by zero.
func (l Limit) micros() int64 { return max(int64(l.Window/time.Microsecond), 1) }

func span(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }

// room is what is left of limit when used is charged, never below 0.
func room(limit, used int64) int64 {
	if used <= 0 {
		return max(limit, 0)
	}
	return max(limit-used, 0)
}
