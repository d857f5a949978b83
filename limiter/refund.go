package limiter

// Refund gives back n units that were admitted at or before the instant now, and never
// more than are still charged: the newest first, so that what is given back is what was
// taken last. It returns the key as a peek of cost 0 sees it afterwards. A block stays.
func (s *State) Refund(now Instant, limit Limit, c Convention, n int64) Decision {
	a := &asked{now: now, limit: limit, w: limit.micros(), c: c, n: max(n, 0), alg: s.Algorithm}
	if a.alg.logs() {
		s.takeOff(a)
	} else if k, given := a.giveBack(s.words()); given {
		s.set(k)
	}
	return s.Peek(now, limit, c, 0)
}

// giveBack brings the state of a key without a log forward and takes the units off. It says
// whether there were any; only then is what it returns to be kept.
func (a *asked) giveBack(k words) (words, bool) {
	if a.n == 0 || a.limit.Count == 0 && a.alg.bursts() {
		return k, false
	}
	switch a.alg {
	case FixedWindow:
		c := k.counters().rollFixed(a)
		back := min(a.n, c.current)
		c.current -= back
		return c.words(), back > 0
	case SlidingWindow:
		c := k.counters().rollSliding(a)
		back := min(a.n, max(c.current, 0))
		older := min(a.n-back, max(c.previous, 0))
		c.current, c.previous = c.current-back, c.previous-older
		return c.words(), back+older > 0
	case GCRA:
		return a.pullBack(k)
	case TokenBucket, LeakyBucket:
		var b bucket
		b.bring(a, k)
		back := min(a.n, b.used)
		if b.used -= back; b.used == 0 {
			b.since = moment{}
		}
		return b.words(a), back > 0
	}
	return k, false
}

// takeOff removes the newest live units of a log. What is left of an entry stays where
// it was, except in a stream, whose entries cannot be changed: there it begins anew.
func (s *State) takeOff(a *asked) {
	first, end, left := s.firstLive(a), len(s.Log), a.n
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
			e.At = max(a.now, s.Log[len(s.Log)-1].At)
		}
	}
	s.Log = log
}

// pullBack moves the TAT n intervals back, and not before now.
func (a *asked) pullBack(k words) (words, bool) {
	r := a.emission()
	ahead := a.ahead(r, k)
	if ahead == (moment{}) {
		return k, false
	}
	left := r.sub(ahead, r.times(a.n))
	if left.us < 0 {
		left = moment{}
	}
	tat := r.add(moment{us: int64(a.now)}, left)
	return words{at: Instant(tat.us), x: tat.part, y: r.den}, true
}

// takeOff removes the newest n units, as State.takeOff does, and says whether there were any.
func (r *ring) takeOff(a *asked) bool {
	if r.n == 0 || a.n == 0 {
		return false
	}
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
	return true
}
