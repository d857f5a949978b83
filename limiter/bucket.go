package limiter

import (
	"math"
	"time"
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
	rate
	units int64
}

func (a *asked) refill() refill {
	if a.alg == TokenBucket && a.c.Refill == Interval {
		return refill{rate: rate{num: a.w, den: 1}, units: max(a.limit.Count, 1)}
	}
	return refill{rate: a.emission(), units: 1}
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
	since moment // negative when the clock jumped back
}

// decideBucket keeps the last refill in at, what it is later by, x parts of y of a
// microsecond, and the tokens or the water in z.
func (a *asked) decideBucket(d *Decision, k words) (words, bool) {
	var b bucket
	b.bring(a, k)
	charged := a.settle(d, b.fits(a)) && a.limit.Count > 0
	if charged {
		b.used += a.n
		k = b.words(a)
	}
	b.explain(d, a)
	a.close(d)
	return k, charged
}

// bring brings a bucket forward to a.now. A clock that jumped back waits for the time to
// return to where it was: nothing comes back early, and the refill time never moves back.
func (b *bucket) bring(a *asked, k words) {
	b.refill = a.refill()
	switch {
	case a.alg == LeakyBucket:
		b.used = k.z
	case k != words{}: // not a new key
		b.used = max(a.limit.burst()-k.z, 0)
	}
	if b.used == 0 {
		return
	}
	if b.since = b.sub(moment{us: int64(a.now)}, b.kept(k)); b.since.us < 0 {
		return
	}
	n, rest := b.divide(b.since)
	if n >= uint64(b.steps(b.used)) {
		b.used, b.since = 0, moment{}
		return
	}
	b.used -= int64(n) * b.units
	b.since = b.parts(rest)
}

func (b *bucket) fits(a *asked) bool {
	return a.limit.Count == 0 || a.n == 0 || b.used <= a.most-a.n
}

// words are what is kept of a bucket.
func (b *bucket) words(a *asked) words {
	at := b.sub(moment{us: int64(a.now)}, b.since)
	k := words{at: Instant(at.us), x: at.part, y: b.den, z: b.used}
	if a.alg == TokenBucket {
		k.z = a.limit.burst() - b.used
	}
	return k
}

func (b *bucket) explain(d *Decision, a *asked) {
	if a.limit.Count == 0 {
		return
	}
	d.Used = b.used
	d.Remaining = room(a.most, b.used)
	if b.used > 0 {
		d.ResetAfter = b.back(b.used)
	}
	if !d.Allowed && !a.never() && !b.fits(a) {
		d.RetryAfter = b.back(b.used - (a.most - a.n))
	}
}

// back returns how long it takes until n units are back.
func (b *bucket) back(n int64) time.Duration { return b.sub(b.times(b.steps(n)), b.since).ceil() }

// LevelAt returns the tokens (token bucket) or the water (leaky bucket) at an instant,
// with the fraction that has come back since the last whole unit; for a screen.
func (s *State) LevelAt(now Instant, limit Limit, c Convention) float64 {
	a := &asked{now: now, limit: limit, w: limit.micros(), c: c, alg: s.Algorithm}
	var b bucket
	b.bring(a, s.words())
	fraction := 0.0
	if b.used > 0 && b.units == 1 {
		fraction = (float64(b.since.us) + float64(b.since.part)/float64(b.den)) * float64(b.den) / float64(b.num)
		fraction = math.Min(math.Max(fraction, 0), 1)
	}
	used := float64(b.used) - fraction
	if s.Algorithm == LeakyBucket {
		return used
	}
	return math.Max(float64(limit.burst())-used, 0)
}
