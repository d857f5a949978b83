package limiter

import "math"

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

func (a *asked) refill(alg Algorithm) refill {
	if alg == TokenBucket && a.c.Refill == Interval {
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

// drained is a bucket brought forward: what is missing from it, or in it, and how long ago
// the step that counts began. It is small enough to stay in registers.
type drained struct {
	used  int64
	since moment // negative when the clock jumped back
}

// decideBucket keeps the last refill in at, what it is later by, x parts of y of a
// microsecond, and the tokens or the water in z.
func (a *asked) decideBucket(d *Decision, k words) (words, bool) {
	f := a.refill(a.alg)
	b := a.drain(k, f)
	charged := a.settle(d, b.fits(a)) && a.limit.Count > 0
	if charged {
		b.used += a.n
		k = a.hold(b, f)
	}
	a.explainBucket(d, f, b)
	a.close(d)
	return k, charged
}

// drain brings a bucket forward to a.now. A clock that jumped back waits for the time to
// return to where it was: nothing comes back early, and the refill time never moves back.
func (a *asked) drain(k words, f refill) drained {
	b := drained{since: f.sub(moment{us: int64(a.now)}, f.kept(k))}
	switch {
	case a.alg == LeakyBucket:
		b.used = k.z
	case k.at != 0 || k.z != 0:
		b.used = max(a.limit.burst()-k.z, 0)
	}
	if b.used > 0 && b.since.us >= 0 {
		if n := f.count(b.since, false); n >= f.steps(b.used) {
			b.used = 0
		} else {
			b.used -= n * f.units
			b.since = f.sub(b.since, f.times(n))
		}
	}
	if b.used == 0 {
		b.since = moment{}
	}
	return b
}

func (b drained) fits(a *asked) bool {
	return a.limit.Count == 0 || a.n == 0 || b.used <= a.limit.burst()-a.n
}

// hold is what is kept of a bucket.
func (a *asked) hold(b drained, f refill) words {
	at := f.sub(moment{us: int64(a.now)}, b.since)
	k := words{at: Instant(at.us), x: at.part, y: f.den, z: b.used}
	if a.alg == TokenBucket {
		k.z = a.limit.burst() - b.used
	}
	return k
}

func (a *asked) explainBucket(d *Decision, f refill, b drained) {
	if a.limit.Count == 0 {
		return
	}
	burst := a.limit.burst()
	d.Used = b.used
	d.Remaining = room(burst, b.used)
	if b.used > 0 {
		d.ResetAfter = f.sub(f.times(f.steps(b.used)), b.since).ceil()
	}
	if !d.Allowed && !a.never() && !b.fits(a) {
		short := b.used - (burst - a.n)
		d.RetryAfter = f.sub(f.times(f.steps(short)), b.since).ceil()
	}
}

// LevelAt returns the tokens (token bucket) or the water (leaky bucket) at an instant,
// with the fraction that has come back since the last whole unit; for a screen.
func (s *State) LevelAt(now Instant, limit Limit, c Convention) float64 {
	a := &asked{now: now, limit: limit, w: limit.micros(), c: c, alg: s.Algorithm}
	f := a.refill(a.alg)
	b := a.drain(s.words(), f)
	fraction := 0.0
	if b.used > 0 && f.units == 1 {
		fraction = (float64(b.since.us) + float64(b.since.part)/float64(f.den)) * float64(f.den) / float64(f.num)
		fraction = math.Min(math.Max(fraction, 0), 1)
	}
	used := float64(b.used) - fraction
	if s.Algorithm == LeakyBucket {
		return used
	}
	return math.Max(float64(limit.burst())-used, 0)
}
