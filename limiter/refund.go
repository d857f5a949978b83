package limiter

// Refund gives back n units that were admitted at or before the instant now, and never
// more than are still charged: the newest first, so that what is given back is what was
// taken last. It returns the key as a peek of cost 0 sees it afterwards. A block stays.
func (s *State) Refund(now Instant, limit Limit, c Convention, n int64) Decision {
	a := &asked{now: now, limit: limit, w: limit.micros(), c: c, n: max(n, 0), alg: s.Algorithm}
	v := *s
	if v.giveBack(a) {
		*s = v
	}
	return s.Peek(now, limit, c, 0)
}

// giveBack brings s forward and takes the units off. It says whether there were any.
func (s *State) giveBack(a *asked) bool {
	if a.n == 0 {
		return false
	}
	switch s.Algorithm {
	case FixedWindow:
		s.rollFixed(a)
		back := min(a.n, s.Current)
		s.Current -= back
		return back > 0
	case SlidingWindow:
		s.rollSliding(a)
		back := min(a.n, max(s.Current, 0))
		older := min(a.n-back, max(s.Previous, 0))
		s.Current, s.Previous = s.Current-back, s.Previous-older
		return back+older > 0
	case SlidingLog, StreamCounter:
		return s.takeOff(a)
	case GCRA:
		return s.pullBack(a)
	case TokenBucket, LeakyBucket:
		f := a.refill(s.Algorithm)
		b := s.drain(a, f)
		back := min(a.n, b.used)
		if b.used -= back; b.used == 0 {
			b.at = moment{us: int64(a.now)}
		}
		s.hold(b, a, f)
		return back > 0
	}
	return false
}

// takeOff removes the newest live units of a log. What is left of an entry stays where
// it was, except in a stream, whose entries cannot be changed: there it begins anew.
func (s *State) takeOff(a *asked) bool {
	first, end, left := s.firstLive(a), len(s.Log), a.n
	for end > first && left > 0 && s.Log[end-1].Count <= left {
		end--
		left -= s.Log[end].Count
	}
	if end == len(s.Log) && (end == first || left == 0) {
		return false
	}
	log := append([]Entry(nil), s.Log[:end]...)
	if left > 0 && end > first {
		e := &log[end-1]
		e.Count -= left
		if s.Algorithm == StreamCounter {
			e.At = max(a.now, s.Log[len(s.Log)-1].At)
		}
	}
	s.Log = log
	return true
}

// pullBack moves the TAT n intervals back, and not before now.
func (s *State) pullBack(a *asked) bool {
	if a.limit.Count == 0 {
		return false
	}
	r := a.emission()
	ahead := s.ahead(a, r)
	if ahead == (moment{}) {
		return false
	}
	left := r.sub(ahead, r.times(a.n))
	if left.us < 0 {
		left = moment{}
	}
	tat := r.add(moment{us: int64(a.now)}, left)
	s.TAT, s.Part, s.Parts = Instant(tat.us), tat.part, r.den
	return true
}

// takeOff removes the newest n units, as State.takeOff does.
func (r *ring) takeOff(a *asked) {
	for left := a.n; r.n > 0 && left > 0; {
		newest := r.n - 1
		e := r.at(newest)
		back := min(e.Count, left)
		e.Count -= back
		r.sum -= back
		left -= back
		switch {
		case e.Count == 0:
			r.n--
		case a.alg == StreamCounter:
			e.At = max(a.now, r.last)
			r.last = e.At
		}
		if e.Count > 0 {
			r.set(newest, e)
		}
	}
	if r.n > 0 {
		r.first, r.last = r.at(0).At, r.at(r.n-1).At
	}
}
