package limiter

// GCRA, the generic cell rate algorithm, keeps one instant: the theoretical arrival time
// (TAT) at which the next request would arrive if all of them came evenly spaced. A
// request may come early by the burst. With T = W/L between two units and the burst B,
//
//	TAT' = max(TAT, now) + n·T, admitted when TAT' <= now + B·T.
//
// It decides like a leaky bucket of size B that drains at L/W. Source of the formula:
// ITU-T I.371, virtual scheduling.

// ahead returns how far the TAT lies in the future; zero when it is past.
func (a *asked) ahead(r rate, k words) moment {
	m := r.sub(r.kept(k), moment{us: int64(a.now)})
	if m.us < 0 || k == (words{}) { // a new key, whose zero a clock before 1970 has not reached
		return moment{}
	}
	return m
}

func (m moment) positive() bool { return m.us > 0 || m.us == 0 && m.part > 0 }

// decideGCRA keeps the TAT in at, and what it is later by, x parts of y of a microsecond.
func (a *asked) decideGCRA(d *Decision, k words) (words, bool) {
	if a.limit.Count == 0 {
		a.settle(d, true)
		a.close(d)
		return k, false
	}
	r := a.emission()
	ahead := a.ahead(r, k)
	after := r.add(ahead, r.times(a.n))
	early := r.sub(after, r.times(a.most))
	charged := a.settle(d, a.n == 0 || !early.positive())
	if charged {
		ahead = after
		next := r.add(moment{us: int64(a.now)}, ahead)
		k = words{at: Instant(next.us), x: next.part, y: r.den}
	}
	a.explainGCRA(d, r, ahead, early)
	a.close(d)
	return k, charged
}

// explainGCRA says what follows from how far ahead the TAT is, and how far before its time
// the request came.
func (a *asked) explainGCRA(d *Decision, r rate, ahead, early moment) {
	d.Used = r.count(ahead)
	d.Remaining = room(a.most, d.Used)
	d.ResetAfter = ahead.ceil()
	if !d.Allowed && !a.never() {
		d.RetryAfter = early.ceil()
	}
}
