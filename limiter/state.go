package limiter

import "time"

// Entry is a run of requests recorded at one instant.
type Entry struct {
	At    Instant
	Count int64
}

// State is what a store holds about one key: enough to decide, to explain and to
// forecast without the store. A copy shares its Log with the original: Clone before
// taking from both. Which fields count depends on Algorithm; the zero
// values of the others are ignored. The zero State of an algorithm is a new key.
type State struct {
	Algorithm Algorithm

	// Fixed and sliding window. Start is the beginning of the window that Current
	// counts; Previous is the count of the window just before it. A state read a
	// while ago is brought forward by its methods, not by its reader.
	Start             Instant
	Previous, Current int64
	// PreviousStart is where the window that Previous counts began, for a sliding window
	// aligned to the first request, whose windows lie apart. Clock-aligned windows touch,
	// so it is not used there.
	PreviousStart Instant

	// Sliding log and stream counter: what was charged, oldest first. It may reach
	// back further than one window; what is too old is not counted. A decision looks at
	// all entries of two windows; the stores keep running sums instead.
	Log []Entry

	// GCRA: the theoretical arrival time of the next request, Part/Parts of a microsecond
	// later than TAT. Emission intervals are seldom whole microseconds, and a rest that is
	// dropped on every request adds up to a wrong rate.
	TAT Instant

	// Buckets: whole tokens left (token bucket) or whole units of water (leaky bucket) at
	// Filled, which is also Part/Parts of a microsecond later. A fraction of a token is
	// held as the time that has passed since Filled, so Level has no fraction.
	Level  float64
	Filled Instant

	// Part and Parts are that fraction of a microsecond, 0 <= Part < Parts; Parts 0 means none.
	Part, Parts int64

	// BlockedUntil is when a key that overran is heard again; zero when it is not blocked.
	BlockedUntil Instant
}

// Peek says what would become of a request of cost n at the instant now. It does not
// change s. Cost 0 asks for nothing and is allowed, unless the key is blocked.
func (s *State) Peek(now Instant, limit Limit, c Convention, n int64) Decision {
	a := asked{now: now, limit: limit, w: limit.micros(), c: c, n: n, alg: s.Algorithm}
	d := Decision{At: now, Limit: limit, Cost: n}
	v := *s
	v.apply(&d, &a, false)
	return d
}

// Take decides about a request of cost n at the instant now and updates s as a store
// would. It is pure arithmetic: what a store does in its own words, in one place.
func (s *State) Take(now Instant, limit Limit, c Convention, n int64) Decision {
	a := asked{now: now, limit: limit, w: limit.micros(), c: c, n: n, alg: s.Algorithm}
	d := Decision{At: now, Limit: limit, Cost: n}
	s.take(&d, &a)
	return d
}

// take decides and charges. A request that leaves no trace does not even bring the state
// forward, for no store would: after the clock jumped back, what was there still counts.
func (s *State) take(d *Decision, a *asked) {
	v := *s
	if v.apply(d, a, a.n > 0) {
		*s = v
		return
	}
	s.BlockedUntil = v.BlockedUntil
}

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() State {
	t := *s
	t.Log = append([]Entry(nil), s.Log...)
	return t
}

// apply brings s forward, decides, charges where write is set, and explains. It says
// whether it charged; if not, s is fit to be thrown away but for its block.
func (s *State) apply(d *Decision, a *asked, write bool) bool {
	charged := false
	switch s.Algorithm {
	case FixedWindow:
		s.rollFixed(a)
		if charged = s.settle(d, a, write, s.fixedFits(a)); charged {
			s.chargeFixed(a)
		}
		s.explainFixed(d, a)
	case SlidingWindow:
		s.rollSliding(a)
		if charged = s.settle(d, a, write, s.slidingFits(a)); charged {
			s.chargeSliding(a)
		}
		s.explainSliding(d, a)
	case SlidingLog, StreamCounter:
		if charged = s.settle(d, a, write, a.fits(s.liveCount(a))); charged {
			s.chargeLog(a)
		}
		s.explainLog(d, a)
	case GCRA:
		charged = s.decideGCRA(d, a, write)
	case TokenBucket, LeakyBucket:
		f := a.refill(s.Algorithm)
		b := s.drain(a, f)
		if charged = s.settle(d, a, write, b.fits(a)) && a.limit.Count > 0; charged {
			b.used += a.n
			s.hold(b, a, f)
		}
		s.explainBucket(d, a, b)
	default:
		d.RetryAfter = Never
		return false
	}
	s.close(d, a)
	return charged
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
func (a *asked) most() int64 {
	if a.alg.bursts() {
		return a.limit.burst()
	}
	return a.limit.Count
}

// bursts says that an algorithm spreads its limit and has a burst of its own. What a
// denied request might charge would only move its refill, so none of them charges it.
func (a Algorithm) bursts() bool { return a == GCRA || a == TokenBucket || a == LeakyBucket }

// never says that no wait will admit the request.
func (a *asked) never() bool { return a.n < 0 || a.limit.Count != 0 && a.n > a.most() }

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
func (s *State) settle(d *Decision, a *asked, write, fits bool) bool {
	if s.BlockedUntil > a.now || a.never() {
		d.Allowed = false
		return false
	}
	if d.Allowed = fits; fits || !write {
		return write
	}
	if a.c.Block > 0 {
		s.BlockedUntil = a.now.Add(a.c.Block)
	}
	return a.c.Denied == Charged && !a.alg.bursts()
}

// close turns what the algorithm said into what the key as a whole means.
func (s *State) close(d *Decision, a *asked) {
	d.ResetAfter = max(d.ResetAfter, 0) // a store may hold anything
	if a.limit.Count == 0 {
		d.Remaining = 0
	}
	if !d.Allowed {
		s.closeDenied(d, a)
		return
	}
	d.RetryAfter = 0 // nor is it blocked
}

func (s *State) closeDenied(d *Decision, a *asked) {
	if d.RetryAfter = max(d.RetryAfter, 0); a.never() {
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
