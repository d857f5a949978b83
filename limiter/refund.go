package limiter

import "ratescope/limiter/internal/rate"

// Refund takes back n units that were charged at or before the instant now, and never
// more than are still charged: the newest first, so that what is refunded is what was
// charged last. It returns the key as a peek of cost 0 sees it afterwards. A block stays.
func (s *State) Refund(now Instant, limit Limit, c Convention, n int64) Decision {
	q := &request{now: now, limit: limit, w: limit.micros(), c: c, n: max(n, 0), alg: s.Algorithm}
	if q.alg.Kind() == KindLog {
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
	ahead := q.ahead(r, k)
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
