package limiter

import (
	"context"
	"fmt"

	"ratescope/limiter/convention"
	"ratescope/limiter/internal/rate"
)

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
func (s *State) Peek(now Instant, limit Limit, c Convention, n int64) (d Decision) {
	q := request{blocked: s.BlockedUntil}
	q.fill(&d, now, limit, &c, n, s.Algorithm)
	s.decide(&d, &q)
	return d
}

// Take decides about a request of cost n at the instant now and updates s as a store
// would. It is pure arithmetic: what a store does in its own words, in one place. A request
// that leaves no trace does not even bring the state forward, for no store would: after the
// clock jumped back, what was there still counts.
func (s *State) Take(now Instant, limit Limit, c Convention, n int64) (d Decision) {
	q := request{write: n > 0, blocked: s.BlockedUntil}
	q.fill(&d, now, limit, &c, n, s.Algorithm)
	s.decide(&d, &q)
	s.BlockedUntil = q.blocked
	return d
}

func (s *State) decide(d *Decision, q *request) {
	if q.logs {
		s.decideLog(d, q)
		return
	}
	if k, charged := q.decide(d, s.pack()); charged {
		s.unpack(k)
	}
}

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() State {
	t := *s
	t.Log = append([]Entry(nil), s.Log...)
	return t
}

func (s *State) pack() packed {
	switch s.Algorithm.arithmetic().kind {
	case kindWindow, kindWeighted:
		return counters{s.Start, s.Previous, s.Current, s.PreviousStart}.pack()
	case kindArrival:
		return unpack(s.TAT, s.Part, s.Parts)
	case kindBucket:
		k := unpack(s.Filled, s.Part, s.Parts)
		k.z = int64(max(min(s.Level, MaxCount), 0))
		return k
	}
	return packed{}
}

func (s *State) unpack(k packed) {
	switch s.Algorithm.arithmetic().kind {
	case kindWindow, kindWeighted:
		c := k.counters()
		s.Start, s.Previous, s.Current, s.PreviousStart = c.start, c.previous, c.current, c.previousStart
	case kindArrival:
		s.TAT, s.Part, s.Parts = k.at, k.x, k.y
	case kindBucket:
		s.Filled, s.Part, s.Parts, s.Level = k.at, k.x, k.y, float64(k.z)
	}
}

// Refund takes back n units that were charged at or before the instant now, and never
// more than are still charged: the newest first, so that what is refunded is what was
// charged last. It returns the key as a peek of cost 0 sees it afterwards. A block stays.
func (s *State) Refund(now Instant, limit Limit, c Convention, n int64) Decision {
	q := &request{now: now, limit: limit, w: limit.micros(), c: c, n: max(n, 0), alg: s.Algorithm}
	if q.alg.arithmetic().kind == kindLog {
		s.refundLog(q)
	} else if k, given := q.refund(s.pack()); given {
		s.unpack(k)
	}
	return s.Peek(now, limit, c, 0)
}

// refund brings the state of a key without a log forward and takes n units off. It reports
// whether there were any; only then is the state that it returns to be kept.
func (q *request) refund(k packed) (packed, bool) {
	known := q.alg.arithmetic()
	if q.n == 0 || known.refund == nil || q.limit.Count == 0 && known.bursts {
		return k, false
	}
	return known.refund(q, k)
}

func (q *request) refundFixed(k packed) (packed, bool) {
	c := k.counters().rollFixed(q)
	back := min(q.n, c.current)
	c.current -= back
	return c.pack(), back > 0
}

func (q *request) refundSliding(k packed) (packed, bool) {
	c := k.counters().rollSliding(q)
	back := min(q.n, max(c.current, 0))
	older := min(q.n-back, max(c.previous, 0))
	c.current, c.previous = c.current-back, c.previous-older
	return c.pack(), back+older > 0
}

func (q *request) refundBucket(k packed) (packed, bool) {
	var b bucket
	b.bring(q, k)
	back := min(q.n, b.used)
	if b.used -= back; b.used == 0 {
		b.since = rate.Moment{}
	}
	return b.pack(q), back > 0
}

// refundLog removes the newest live units of a log. What is left of an entry stays where
// it was, except in a stream, whose entries cannot be changed: there it begins anew.
func (s *State) refundLog(q *request) {
	first, end, left := s.firstLive(q), len(s.Log), q.n
	for end > first && left > 0 && s.Log[end-1].Count <= left {
		end--
		left -= s.Log[end].Count
	}
	if end == len(s.Log) && (end == first || left == 0) {
		return
	}
	log := append([]Entry(nil), s.Log[:end]...)
	if left > 0 && end > first {
		e := &log[end-1]
		e.Count -= left
		if s.Algorithm == StreamCounter {
			e.At = max(q.now, s.Log[len(s.Log)-1].At)
		}
	}
	s.Log = log
}

// refundGCRA moves the TAT n intervals back, and not before now.
func (q *request) refundGCRA(k packed) (packed, bool) {
	r := q.emission()
	ahead := k.ahead(q.now, r)
	if ahead == (rate.Moment{}) {
		return k, false
	}
	left := r.Sub(ahead, r.Times(q.n))
	if left.US < 0 {
		left = rate.Moment{}
	}
	tat := r.Add(rate.Moment{US: int64(q.now)}, left)
	return packed{at: Instant(tat.US), x: tat.Part, y: r.Den}, true
}

// refund removes the newest n units, as State.refundLog does, and reports whether there were any.
func (r *ring) refund(q *request) bool {
	was := r.extent
	if r.forget(q); r.n == 0 || q.n == 0 {
		r.extent = was
		return false
	}
	for left := q.n; r.n > 0 && left > 0; {
		newest := r.n - 1
		e := r.at(newest)
		back := min(e.Count, left)
		e.Count -= back
		r.sum -= back
		left -= back
		switch {
		case e.Count == 0:
			r.n--
		case q.alg == StreamCounter:
			e.At = max(q.now, r.last)
			r.last = e.At
		}
		if e.Count > 0 {
			r.set(newest, e)
		}
	}
	if r.n > 0 {
		r.first, r.last = r.at(0).At, r.at(r.n-1).At
	}
	return true
}

// Reply is what a store that decides elsewhere, as a script on a server does, found out
// about one request. Which fields count depends on the algorithm.
type Reply struct {
	At           Instant // when it was decided, on the store's clock
	Allowed      bool    // ignored when Peeked
	Peeked       bool    // nothing was charged: whether it is allowed follows from the rest
	BlockedUntil Instant // 0 when the key is not blocked

	// Windows: the count of the window that began at Start, and of the one before it. A
	// Start of 0 is that of the clock-aligned window.
	Start             Instant
	Previous, Current int64

	// Logs and buckets: the units that are charged.
	Used int64
	// Logs: the instant of the entry that has to leave before the request fits, 0 for none,
	// and of the newest one. Where Log is not nil both are looked for in it.
	Leaves, Newest Instant
	Log            []Entry

	// GCRA: the TAT. Buckets: the last whole refill. Either is Part/Parts of a microsecond
	// later than Arrival.
	Arrival     Instant
	Part, Parts int64
}

// Explain makes the decision of a reply: it is for authors of stores. The arithmetic is
// that of State and Memory. A reply that contradicts itself, which a server may send,
// admits nothing that can never be admitted or is blocked.
func (a Algorithm) Explain(c Convention, limit Limit, n int64, r Reply) (d Decision) {
	q := request{blocked: r.BlockedUntil, told: !r.Peeked, allowed: r.Allowed}
	q.fill(&d, r.At, limit, &c, n, a)
	switch a.arithmetic().kind {
	case kindLog:
		q.explainLog(&d, r)
	case kindWindow, kindWeighted:
		k := counters{start: r.Start, current: r.Current, previous: r.Previous}
		if k.start == 0 && (c.Alignment == convention.Epoch || a.arithmetic().kind == kindWeighted) {
			k.start = q.now.aligned(q.w)
		} else if k.start == 0 {
			k.start = q.now
		}
		q.decide(&d, k.pack())
	case kindBucket:
		k := unpack(r.Arrival, r.Part, r.Parts)
		if k.z = r.Used; !a.arithmetic().fills {
			k.z = limit.burst() - r.Used
		}
		q.decide(&d, k)
	default:
		q.decide(&d, unpack(r.Arrival, r.Part, r.Parts))
	}
	return d
}

func (q *request) explainLog(d *Decision, r Reply) {
	q.settle(d, q.fits(r.Used))
	if r.Log != nil {
		s := State{Log: r.Log}
		live := s.Log[s.firstLive(q):]
		r.Leaves, r.Newest = leaving(live, q.excess(r.Used)), 0
		if len(live) > 0 {
			r.Newest = live[len(live)-1].At
		}
	}
	explainUsed(d, q, r.Used, r.Leaves, r.Newest)
	q.close(d)
}

// CheckKey says what is wrong with a context and a key before a store decides; nil is
// nothing. A context that is over is its own error, all else is ErrBadRequest.
func (a Algorithm) CheckKey(ctx context.Context, key string) error {
	if ctx == nil {
		return fmt.Errorf("%w: the context is nil: pass context.Background()", ErrBadRequest)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty: name what is limited", ErrBadRequest)
	case len(key) > MaxKeyLen:
		return fmt.Errorf("%w: the key is %d bytes long: use at most %d, or a hash of it", ErrBadRequest, len(key), MaxKeyLen)
	}
	return nil
}

// Check says what is wrong with a request before a store decides about it: it is for
// authors of stores. nil is nothing. A context that is over is its own error, all else is
// ErrBadRequest.
func (a Algorithm) Check(ctx context.Context, c Convention, key string, limit Limit, n int64) error {
	if a.arithmetic().kind == kindUnknown {
		return fmt.Errorf("%w: the limiter is a zero value: make it with its New function", ErrBadRequest)
	}
	if err := a.CheckKey(ctx, key); err != nil {
		return err
	}
	if uint64(n) > MaxCount {
		return fmt.Errorf("%w: a cost of %d is out of range: use 0 (a peek) to %d", ErrBadRequest, n, int64(MaxCount))
	}
	if err := limit.Validate(); err != nil {
		return err
	}
	if n > MaxLogCost && a == SlidingLog && (n <= limit.Count || limit.Count == 0) {
		return fmt.Errorf("%w: a cost of %d would add as many entries to a log at once: use at most %d, or the stream counter",
			ErrBadRequest, n, MaxLogCost)
	}
	if limit.Burst > limit.Count && a.Bursts() { // else all of it is back in a window
		return limit.checkRange(a, c)
	}
	return nil
}
