package limiter

import (
	"context"
	"fmt"
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
	q := request{blocked: r.BlockedUntil, told: !r.Peeked, allowed: r.Allowed}
	q.fill(&d, r.At, limit, &c, n, a)
	switch a.Kind() {
	case KindLog:
		q.explainLog(&d, r)
	case KindWindow, KindWeighted:
		k := counters{start: r.Start, current: r.Current, previous: r.Previous}
		if k.start == 0 && (c.Alignment == AlignEpoch || a.Kind() == KindWeighted) {
			k.start = q.aligned()
		} else if k.start == 0 {
			k.start = q.now
		}
		q.decide(&d, k.pack())
	case KindBucket:
		k := unpack(r.Arrival, r.Part, r.Parts)
		if k.z = r.Used; !a.Fills() {
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
