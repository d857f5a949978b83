package limiter

import (
	"math"
	"time"

	"ratescope/limiter/convention"
	"ratescope/limiter/internal/rate"
)

// A token bucket holds up to B tokens, starts full, and a request of cost n takes n of
// them. Greedy refill brings one token every W/L; interval refill brings L tokens at
// once every W, counted from the first request. A bucket that is full again is as new:
// its next interval begins with the request that takes from it.
//
// A leaky bucket, as a meter, is the same seen from the other side: water that drains at
// L/W, and a request of cost n that must find room for n.
//
// Tokens and water are whole units. What has come back of the next one is not stored as
// a fraction but as the time since the last whole one, which is exact: a bucket that
// rounds it away on every request never refills under a busy client.

// refill is the step in which a bucket comes back: units every rate.
type refill struct {
	rate.Interval
	units int64
}

func (q *request) refill() refill {
	if q.alg == TokenBucket && q.c.Refill == convention.Interval {
		return refill{Interval: rate.Interval{Num: q.w, Den: 1}, units: max(q.limit.Count, 1)}
	}
	return refill{Interval: q.emission(), units: 1}
}

// steps returns how many refills bring back n units.
func (f refill) steps(n int64) int64 {
	if f.units == 1 {
		return n
	}
	return (n + f.units - 1) / f.units
}

// bucket is a bucket brought forward: how it comes back, what is missing from it, or in it,
// and how long ago the step that counts began.
type bucket struct {
	refill
	used  int64
	since rate.Moment // negative when the clock jumped back
}

// decideBucket keeps the last refill in at, what it is later by, x parts of y of a
// microsecond, and the tokens or the water in z.
func (q *request) decideBucket(d *Decision, k packed) (packed, bool) {
	var b bucket
	b.bring(q, k)
	charged := q.settle(d, b.fits(q)) && q.limit.Count > 0
	if charged {
		b.used += q.n
		k = b.pack(q)
	}
	b.explain(d, q)
	q.close(d)
	return k, charged
}

// bring brings a bucket forward to a.now. A clock that jumped back waits for the time to
// return to where it was: nothing comes back early, and the refill time never moves back.
func (b *bucket) bring(q *request, k packed) {
	b.refill = q.refill()
	switch {
	case q.alg == LeakyBucket:
		b.used = k.z
	case k != packed{}: // not a new key
		b.used = max(q.limit.burst()-k.z, 0)
	}
	if b.used == 0 {
		return
	}
	if b.since = b.Sub(rate.Moment{US: int64(q.now)}, b.At(int64(k.at), k.x, k.y)); b.since.US < 0 {
		return
	}
	n, rest := b.Divide(b.since)
	if n >= uint64(b.steps(b.used)) {
		b.used, b.since = 0, rate.Moment{}
		return
	}
	b.used -= int64(n) * b.units
	b.since = b.Parts(rest)
}

func (b *bucket) fits(q *request) bool {
	return q.limit.Count == 0 || q.n == 0 || b.used <= q.largest-q.n
}

func (b *bucket) pack(q *request) packed {
	at := b.Sub(rate.Moment{US: int64(q.now)}, b.since)
	k := packed{at: Instant(at.US), x: at.Part, y: b.Den, z: b.used}
	if q.alg == TokenBucket {
		k.z = q.limit.burst() - b.used
	}
	return k
}

func (b *bucket) explain(d *Decision, q *request) {
	if q.limit.Count == 0 {
		return
	}
	d.Used = b.used
	d.Remaining = room(q.largest, b.used)
	if b.used > 0 {
		d.ResetAfter = b.back(b.used)
	}
	if !d.Allowed && !q.never() && !b.fits(q) {
		d.RetryAfter = b.back(b.used - (q.largest - q.n))
	}
}

// back returns how long it takes until n units are back.
func (b *bucket) back(n int64) time.Duration { return b.Sub(b.Times(b.steps(n)), b.since).Ceil() }

// LevelAt returns the tokens (token bucket) or the water (leaky bucket) at an instant,
// with the fraction that has come back since the last whole unit; for a screen.
func (s *State) LevelAt(now Instant, limit Limit, c Convention) float64 {
	q := &request{now: now, limit: limit, w: limit.micros(), c: c, alg: s.Algorithm}
	var b bucket
	b.bring(q, s.pack())
	fraction := 0.0
	if b.used > 0 && (s.Algorithm == LeakyBucket || c.Refill != convention.Interval) { // tokens that come at intervals come whole
		fraction = (float64(b.since.US) + float64(b.since.Part)/float64(b.Den)) * float64(b.Den) / float64(b.Num)
		fraction = math.Min(math.Max(fraction, 0), 1)
	}
	used := float64(b.used) - fraction
	if s.Algorithm == LeakyBucket {
		return used
	}
	return math.Max(float64(limit.burst())-used, 0)
}

// GCRA, the generic cell rate algorithm, keeps one instant: the theoretical arrival time
// (TAT) at which the next request would arrive if all of them came evenly spaced. A
// request may come early by the burst. With T = W/L between two units and the burst B,
//
//	TAT' = max(TAT, now) + n·T, admitted when TAT' <= now + B·T.
//
// It decides like a leaky bucket of size B that drains at L/W. Source of the formula:
// ITU-T I.371, virtual scheduling.

// ahead returns how far the TAT of a key lies in the future; zero when it is past.
func (k packed) ahead(now Instant, r rate.Interval) rate.Moment {
	m := r.Sub(r.At(int64(k.at), k.x, k.y), rate.Moment{US: int64(now)})
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
	ahead := k.ahead(q.now, r)
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
