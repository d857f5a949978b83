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
func (s *State) ahead(a *asked, r rate) moment {
	m := r.sub(r.kept(s.TAT, s.Part, s.Parts), moment{us: int64(a.now)})
	if m.us < 0 {
		return moment{}
	}
	return m
}

func (s *State) gcraFits(a *asked) bool {
	if a.limit.Count == 0 || a.n == 0 {
		return true
	}
	r := a.emission()
	over := r.sub(r.times(a.limit.burst()), r.add(s.ahead(a, r), r.times(a.n)))
	return over.us >= 0
}

func (s *State) chargeGCRA(a *asked) {
	if a.limit.Count == 0 {
		return
	}
	r := a.emission()
	next := r.add(moment{us: int64(a.now)}, r.add(s.ahead(a, r), r.times(a.n)))
	s.TAT, s.Part, s.Parts = Instant(next.us), next.part, r.den
}

func (s *State) explainGCRA(d *Decision, a *asked) {
	if a.limit.Count == 0 {
		return
	}
	r, burst := a.emission(), a.limit.burst()
	ahead := s.ahead(a, r)
	d.Used = r.count(ahead, true)
	d.Remaining = room(burst, d.Used)
	d.ResetAfter = ahead.ceil()
	if !d.Allowed && !a.never() {
		d.RetryAfter = r.sub(r.add(ahead, r.times(a.n)), r.times(burst)).ceil()
	}
}
