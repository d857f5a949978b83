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

// drained is a bucket brought forward: what is missing from it, or in it, and when the
// step that counts began. It is small enough to stay in registers.
type drained struct {
	used int64
	at   moment
}

// drain brings a bucket forward to a.now. A clock that jumped back waits for the time to
// return to where it was: nothing comes back early, and the refill time never moves back.
func (s *State) drain(a *asked, f refill) drained {
	burst := a.limit.burst()
	b := drained{at: f.kept(s.Filled, s.Part, s.Parts)}
	level := int64(max(min(s.Level, MaxCount), 0))
	switch {
	case s.Algorithm == LeakyBucket:
		b.used = level
	case s.Filled != 0 || s.Level != 0:
		b.used = max(burst-level, 0)
	}
	now := moment{us: int64(a.now)}
	if since := f.sub(now, b.at); since.us >= 0 && b.used > 0 {
		if k := f.count(since, false); k >= f.steps(b.used) {
			b.used = 0
		} else {
			b.used -= k * f.units
			b.at = f.add(b.at, f.times(k))
		}
	}
	if b.used == 0 {
		b.at = now
	}
	return b
}

func (b drained) fits(a *asked) bool {
	return a.limit.Count == 0 || a.n == 0 || b.used <= a.limit.burst()-a.n
}

// hold writes a bucket back.
func (s *State) hold(b drained, a *asked, f refill) {
	s.Level = float64(a.limit.burst() - b.used)
	if s.Algorithm == LeakyBucket {
		s.Level = float64(b.used)
	}
	s.Filled, s.Part, s.Parts = Instant(b.at.us), b.at.part, f.den
}

func (s *State) explainBucket(d *Decision, a *asked, b drained) {
	if a.limit.Count == 0 {
		return
	}
	f, burst := a.refill(s.Algorithm), a.limit.burst()
	now := moment{us: int64(a.now)}
	d.Used = b.used
	d.Remaining = room(burst, b.used)
	if b.used > 0 {
		d.ResetAfter = f.sub(f.add(b.at, f.times(f.steps(b.used))), now).ceil()
	}
	if !d.Allowed && !a.never() && !b.fits(a) {
		short := b.used - (burst - a.n)
		d.RetryAfter = f.sub(f.add(b.at, f.times(f.steps(short))), now).ceil()
	}
}

// LevelAt returns the tokens (token bucket) or the water (leaky bucket) at an instant,
// with the fraction that has come back since the last whole unit; for a screen.
func (s *State) LevelAt(now Instant, limit Limit, c Convention) float64 {
	a := &asked{now: now, limit: limit, w: limit.micros(), c: c}
	f := a.refill(s.Algorithm)
	b := s.drain(a, f)
	fraction := 0.0
	if b.used > 0 && f.units == 1 {
		since := f.sub(moment{us: int64(now)}, b.at)
		fraction = (float64(since.us) + float64(since.part)/float64(f.den)) * float64(f.den) / float64(f.num)
		fraction = math.Min(math.Max(fraction, 0), 1)
	}
	used := float64(b.used) - fraction
	if s.Algorithm == LeakyBucket {
		return used
	}
	return math.Max(float64(limit.burst())-used, 0)
}
