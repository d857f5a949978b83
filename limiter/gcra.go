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

// early returns how far before its time a request would come: n intervals on top of what
// is ahead, less the burst. It fits when that is not above zero.
func (s *State) early(a *asked, r rate, ahead moment) moment {
	return r.sub(r.add(ahead, r.times(a.n)), r.times(a.limit.burst()))
}

func (m moment) positive() bool { return m.us > 0 || m.us == 0 && m.part > 0 }

func (s *State) gcraFits(a *asked) bool {
	if a.limit.Count == 0 || a.n == 0 {
		return true
	}
	r := a.emission()
	return !s.early(a, r, s.ahead(a, r)).positive()
}

// decideGCRA is the whole decision: the intervals that all of it needs are divided once.
func (s *State) decideGCRA(d *Decision, a *asked, write bool) bool {
	if a.limit.Count == 0 {
		s.settle(d, a, write, true)
		return false
	}
	r := a.emission()
	ahead, burst, cost := s.ahead(a, r), r.times(a.limit.burst()), r.times(a.n)
	after := r.add(ahead, cost)
	early := r.sub(after, burst)
	charged := s.settle(d, a, write, a.n == 0 || !early.positive())
	if charged {
		next := r.add(moment{us: int64(a.now)}, after)
		s.TAT, s.Part, s.Parts = Instant(next.us), next.part, r.den
		ahead = after
	}
	s.answerGCRA(d, a, r, ahead, early)
	return charged
}

// explainGCRA says what follows from a TAT that a server kept.
func (s *State) explainGCRA(d *Decision, a *asked) {
	if a.limit.Count == 0 {
		return
	}
	r := a.emission()
	ahead := s.ahead(a, r)
	s.answerGCRA(d, a, r, ahead, s.early(a, r, ahead))
}

func (s *State) answerGCRA(d *Decision, a *asked, r rate, ahead, early moment) {
	d.Used = r.count(ahead, true)
	d.Remaining = room(a.limit.burst(), d.Used)
	d.ResetAfter = ahead.ceil()
	if !d.Allowed && !a.never() {
		d.RetryAfter = early.ceil()
	}
}
