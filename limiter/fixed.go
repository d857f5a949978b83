package limiter

// The fixed window: one counter a window, dropped when the window ends. It is the
// cheapest of all and lets twice the limit through across an edge: the limit at the
// end of one window and the limit again at the start of the next.

// rollFixed brings the counter to the window that holds a.now. A clock that jumped
// back stays in the window it had reached, so nothing is freed early.
func (s *State) rollFixed(a *asked) {
	if a.c.Alignment == FirstRequest {
		if s.Current == 0 || int64(a.now-s.Start) >= a.w+a.edge() {
			s.Start, s.Current, s.Previous = a.now, 0, 0
		}
		return
	}
	s.rollAligned(a)
}

// rollAligned moves Start to the clock-aligned window of a.now and the counts with it.
func (s *State) rollAligned(a *asked) {
	start := a.aligned()
	if start == s.Start {
		return
	}
	s.Start = Instant(floorDiv(int64(s.Start), a.w) * a.w) // the window may have changed
	switch {
	case start <= s.Start && (s.Current != 0 || s.Previous != 0):
	case start == s.Start+Instant(a.w):
		s.Start, s.Previous, s.Current = start, s.Current, 0
	default:
		s.Start, s.Previous, s.Current = start, 0, 0
	}
}

func (s *State) fixedFits(a *asked) bool { return a.fits(s.Current) }

func (s *State) chargeFixed(a *asked) { s.Current = addCapped(s.Current, a.n) }

func (s *State) explainFixed(d *Decision, a *asked) {
	d.Start, d.End = s.Start, s.Start+Instant(a.w)
	freed := d.End
	if a.c.Alignment == FirstRequest {
		freed += Instant(a.edge())
	}
	d.Previous, d.Current = s.Previous, s.Current
	d.Estimate = float64(s.Current)
	d.Used = s.Current
	d.Remaining = room(a.limit.Count, d.Used)
	if s.Current > 0 {
		d.ResetAfter = freed.Sub(a.now)
	}
	if !s.fixedFits(a) {
		d.RetryAfter = freed.Sub(a.now)
	}
}

// addCapped adds without overflow: counts that came from a store may be anything.
func addCapped(a, b int64) int64 {
	const most = 1<<63 - 1
	if b > 0 && a > most-b {
		return most
	}
	return a + b
}
