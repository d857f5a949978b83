package limiter

import "time"

// Peek says what would become of a request of cost n at the instant now. It does not
// change s. Cost 0 asks for nothing and is allowed, unless the key is blocked.
func (s *State) Peek(now Instant, limit Limit, c Convention, n int64) Decision {
	d, _ := s.decide(now, limit, c, n, false)
	return d
}

// Take decides about a request of cost n at the instant now and updates s as a store
// would. It is pure arithmetic: what a store does in its own words, in one place.
func (s *State) Take(now Instant, limit Limit, c Convention, n int64) Decision {
	d, after := s.decide(now, limit, c, n, n > 0)
	*s = after
	return d
}

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() State {
	t := *s
	t.Log = append([]Entry(nil), s.Log...)
	return t
}

// decide answers, and returns the state that a store holds afterwards. A request that
// leaves no trace does not even bring the state forward, for no store would: after the
// clock jumped back, what was there still counts.
func (s *State) decide(now Instant, limit Limit, c Convention, n int64, write bool) (Decision, State) {
	d := Decision{At: now, Limit: limit, Cost: n}
	a := asked{now: now, limit: limit, w: limit.micros(), c: c, n: n, alg: s.Algorithm}
	v := *s
	charged := false
	switch s.Algorithm {
	case FixedWindow:
		v.rollFixed(a)
		if charged = v.settle(&d, a, write, v.fixedFits(a)); charged {
			v.chargeFixed(a)
		}
		v.explainFixed(&d, a)
	case SlidingWindow:
		v.rollSliding(a)
		if charged = v.settle(&d, a, write, v.slidingFits(a)); charged {
			v.chargeSliding(a)
		}
		v.explainSliding(&d, a)
	case SlidingLog, StreamCounter:
		if charged = v.settle(&d, a, write, a.fits(v.liveCount(a))); charged {
			v.chargeLog(a)
		}
		v.explainLog(&d, a)
	case GCRA:
		if charged = v.settle(&d, a, write, v.gcraFits(a)); charged {
			v.chargeGCRA(a)
		}
		v.explainGCRA(&d, a)
	case TokenBucket, LeakyBucket:
		b := v.drain(a)
		if charged = v.settle(&d, a, write, b.fits(a)) && limit.Count > 0; charged {
			b.used += n
			v.hold(b, a)
		}
		v.explainBucket(&d, a, b)
	default:
		d.RetryAfter = Never
		return d, v
	}
	v.close(&d, a)
	if !charged {
		blocked := v.BlockedUntil
		v = *s
		v.BlockedUntil = blocked
	}
	return d, v
}

// asked is one request and the terms on which it is judged.
type asked struct {
	now   Instant
	limit Limit
	w     int64 // the window in microseconds, 1 or more
	c     Convention
	n     int64
	alg   Algorithm
}

// most is the largest cost that can ever be admitted.
func (a asked) most() int64 {
	if a.alg.bursts() {
		return a.limit.burst()
	}
	return a.limit.Count
}

// bursts says that an algorithm spreads its limit and has a burst of its own. What a
// denied request might charge would only move its refill, so none of them charges it.
func (a Algorithm) bursts() bool { return a == GCRA || a == TokenBucket || a == LeakyBucket }

// never says that no wait will admit the request.
func (a asked) never() bool { return a.n < 0 || a.limit.Count != 0 && a.n > a.most() }

// fits applies the rule to a whole number of used units.
func (a asked) fits(used int64) bool {
	switch {
	case a.limit.Count == 0 || a.n == 0:
		return true
	case a.c.Rule == Below:
		return used < a.limit.Count
	}
	return used <= a.limit.Count-a.n
}

// edge is what the closed edge adds to the life of an entry.
func (a asked) edge() int64 {
	if a.c.Edge == Closed {
		return 1
	}
	return 0
}

// settle decides, and says whether the request is to be charged. A block counts before
// anything else; a request that can never be admitted leaves no trace whatever the
// convention says.
func (s *State) settle(d *Decision, a asked, write, fits bool) bool {
	blocked := s.BlockedUntil > a.now
	d.Allowed = fits && !blocked && !a.never()
	if !write || a.never() || blocked {
		return false
	}
	if !d.Allowed && a.c.Block > 0 {
		s.BlockedUntil = a.now.Add(a.c.Block)
	}
	return d.Allowed || a.c.Denied == Charged && !a.alg.bursts()
}

// close turns what the algorithm said into what the key as a whole means.
func (s *State) close(d *Decision, a asked) {
	if d.Allowed {
		d.RetryAfter = 0
	}
	if a.never() {
		d.RetryAfter = Never
	}
	if s.BlockedUntil > a.now {
		left := s.BlockedUntil.Sub(a.now)
		if d.RetryAfter != Never {
			d.RetryAfter = max(d.RetryAfter, left)
		}
		d.ResetAfter = max(d.ResetAfter, left)
		d.Remaining = 0
	}
	if a.limit.Count == 0 {
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
