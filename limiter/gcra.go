package limiter

import "ratescope/limiter/internal/rate"

// GCRA, the generic cell rate algorithm, keeps one instant: the theoretical arrival time
// (TAT) at which the next request would arrive if all of them came evenly spaced. A
// request may come early by the burst. With T = W/L between two units and the burst B,
//
//	TAT' = max(TAT, now) + n·T, admitted when TAT' <= now + B·T.
//
// It decides like a leaky bucket of size B that drains at L/W. Source of the formula:
// ITU-T I.371, virtual scheduling.

// ahead returns how far the TAT lies in the future; zero when it is past.
func (q *request) ahead(r rate.Interval, k packed) rate.Moment {
	m := r.Sub(r.At(int64(k.at), k.x, k.y), rate.Moment{US: int64(q.now)})
	if m.US < 0 || k == (packed{}) { // a new key, whose zero a clock before 1970 has not reached
		return rate.Moment{}
	}
	return m
}

// decideGCRA keeps the TAT in at, and what it is later by, x parts of y of a microsecond.
func (q *request) decideGCRA(d *Decision, k packed) (packed, bool) {
	if q.limit.Count == 0 {
		q.settle(d, true)
		q.close(d)
		return k, false
	}
	r := q.emission()
	ahead := q.ahead(r, k)
	after := r.Add(ahead, r.Times(q.n))
	early := r.Sub(after, r.Times(q.largest))
	charged := q.settle(d, q.n == 0 || !early.Positive())
	if charged {
		ahead = after
		next := r.Add(rate.Moment{US: int64(q.now)}, ahead)
		k = packed{at: Instant(next.US), x: next.Part, y: r.Den}
	}
	q.explainGCRA(d, r, ahead, early)
	q.close(d)
	return k, charged
}

// explainGCRA says what follows from how far ahead the TAT is, and how far before its time
// the request came.
func (q *request) explainGCRA(d *Decision, r rate.Interval, ahead, early rate.Moment) {
	d.Used = r.Count(ahead)
	d.Remaining = room(q.largest, d.Used)
	d.ResetAfter = ahead.Ceil()
	if !d.Allowed && !q.never() {
		d.RetryAfter = early.Ceil()
	}
}
