package limiter

import (
	"context"
	"fmt"

	"ratescope/limiter/internal/rate"
)

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
	q := request{blocked: r.BlockedUntil}
	q.fill(&d, r.At, limit, &c, n, a)
	d.Allowed = r.Allowed
	if known := a.arithmetic(); known.explain != nil {
		d = known.explain(q, d, r)
	}
	q.close(&d)
	return d
}

// judge says whether a request is allowed: the store did, unless it only looked.
func (q *request) judge(d *Decision, r Reply, fits bool) {
	if r.Peeked {
		d.Allowed = fits
	}
	d.Allowed = d.Allowed && !q.refused()
}

func explainFixedReply(q request, d Decision, r Reply) Decision {
	c := counters{start: r.Start, current: r.Current}
	switch {
	case c.start != 0:
	case q.c.Alignment == AlignFirstRequest:
		c.start = q.now
	default:
		c.start = q.aligned()
	}
	q.judge(&d, r, q.fits(c.current))
	c.explainFixed(&d, &q)
	return d
}

func explainSlidingReply(q request, d Decision, r Reply) Decision {
	c := counters{start: r.Start, current: r.Current, previous: r.Previous}
	if c.start == 0 {
		c.start = q.aligned()
	}
	c.previousStart = c.start - Instant(q.w)
	left := covered(c.previousStart, q.now, q.w)
	faded := q.weighted(c.previous, left)
	q.judge(&d, r, q.weightedFits(c.previous, c.current, left, faded))
	c.explainSliding(&d, &q, left, faded)
	return d
}

func explainLogReply(q request, d Decision, r Reply) Decision {
	q.judge(&d, r, q.fits(r.Used))
	if r.Log != nil {
		s := State{Log: r.Log}
		live := s.Log[s.firstLive(&q):]
		r.Leaves, r.Newest = leaving(live, q.excess(r.Used)), 0
		if len(live) > 0 {
			r.Newest = live[len(live)-1].At
		}
	}
	explainUsed(&d, &q, r.Used, r.Leaves, r.Newest)
	return d
}

func explainGCRAReply(q request, d Decision, r Reply) Decision {
	if q.limit.Count == 0 {
		q.judge(&d, r, true)
		return d
	}
	f := q.emission()
	ahead := q.ahead(f, unpack(r.Arrival, r.Part, r.Parts))
	early := f.Sub(f.Add(ahead, f.Times(q.n)), f.Times(q.largest))
	q.judge(&d, r, q.n == 0 || !early.Positive())
	q.explainGCRA(&d, f, ahead, early)
	return d
}

func explainBucketReply(q request, d Decision, r Reply) Decision {
	f, k := q.refill(), unpack(r.Arrival, r.Part, r.Parts)
	filled := f.At(int64(k.at), k.x, k.y)
	held := bucket{refill: f, used: r.Used, since: f.Sub(rate.Moment{US: int64(q.now)}, filled)}
	q.judge(&d, r, held.fits(&q))
	held.explain(&d, &q)
	return d
}

// aligned is the start of the clock-aligned window that holds now.
func (q *request) aligned() Instant {
	past := int64(q.now) % q.w
	if past < 0 {
		past += q.w
	}
	return q.now - Instant(past)
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
	if a.Kind() == KindUnknown {
		return fmt.Errorf("%w: the limiter is a zero value: make it with its New function", ErrBadRequest)
	}
	if err := a.CheckKey(ctx, key); err != nil {
		return err
	}
	if err := checkCost(n); err != nil {
		return err
	}
	if !limit.valid() {
		return limit.fault()
	}
	if n > MaxLogCost && a == SlidingLog && (n <= limit.Count || limit.Count == 0) {
		return fmt.Errorf("%w: a cost of %d would add as many entries to a log at once: use at most %d, or the stream counter", ErrBadRequest, n, MaxLogCost)
	}
	if limit.Burst > limit.Count && a.Bursts() { // else all of it is back in a window
		return limit.checkRange(a, c)
	}
	return nil
}
