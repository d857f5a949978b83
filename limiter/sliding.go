package limiter

import "math"

// The sliding window counter: two counters, of which the previous one counts as far
// as the sliding window still covers it. The estimate assumes that the previous
// window's requests were spread evenly; when they were not it admits up to 2L-1 requests
// in a true window with exact rounding, and 2L with the others, which forgive the last
// fraction of the previous window.
//
// The weighted count is double arithmetic in a fixed order, previous times what is
// left of it divided by the window, so that Go and Lua agree to the last bit. It is
// exact while that product stays below 2^53.

func (s *State) rollSliding(a *asked) {
	if a.c.Alignment == Epoch {
		s.rollAligned(a)
		s.PreviousStart = s.Start - Instant(a.w)
		return
	}
	switch {
	case s.Current == 0 && s.Previous == 0:
		s.Start, s.PreviousStart = a.now, a.now
	case int64(a.now-s.Start) >= a.w+a.edge():
		s.PreviousStart, s.Previous = s.Start, s.Current
		s.Start, s.Current = a.now, 0
	}
}

func (s *State) chargeSliding(a *asked) { s.Current = addCapped(s.Current, a.n) }

func (s *State) slidingFits(a *asked) bool {
	return a.weightedFits(s.Previous, s.Current, covered(s.PreviousStart, a.now, a.w))
}

// covered returns how many microseconds of the window that began at start the sliding
// window ending at now still covers.
func covered(start, now Instant, w int64) int64 {
	return min(max(int64(start-now)+2*w, 0), w)
}

// weighted is previous × left/w in the rounding that the convention names.
func (a *asked) weighted(previous, left int64) float64 {
	x := float64(float64(previous)*float64(left)) / float64(a.w)
	switch a.c.Rounding {
	case Exact:
		return x
	case Round:
		return down(x + 0.5)
	}
	return down(x)
}

// down is math.Floor without a call.
func down(x float64) float64 {
	if x <= -1<<53 || x >= 1<<53 { // it is whole
		return x
	}
	t := float64(int64(x))
	if t > x {
		t--
	}
	return t
}

// weightedFits applies the rule to two counters. The exact rounding compares products
// instead of quotients, so that a sum that is just the limit is not lost in a division.
func (a *asked) weightedFits(previous, current, left int64) bool {
	limit := float64(a.limit.Count)
	if a.limit.Count == 0 || a.n == 0 {
		return true
	}
	p, w, c := float64(previous)*float64(left), float64(a.w), float64(current)
	switch {
	case a.c.Rounding == Exact && a.c.Rule == Below:
		return p < (limit-c)*w
	case a.c.Rounding == Exact:
		return p <= (limit-c-float64(a.n))*w
	case a.c.Rule == Below:
		return a.weighted(previous, left)+c < limit
	}
	return a.weighted(previous, left)+c+float64(a.n) <= limit
}

func (s *State) explainSliding(d *Decision, a *asked) {
	left := covered(s.PreviousStart, a.now, a.w)
	d.Start, d.End = s.Start, s.Start+Instant(a.w)
	d.Previous, d.Current = s.Previous, s.Current
	d.Weight = float64(left) / float64(a.w)
	d.Estimate = a.weighted(s.Previous, left) + float64(s.Current)
	d.Used = whole(-down(-d.Estimate))
	d.Remaining = room(a.limit.Count, d.Used)
	switch {
	case s.Current > 0:
		d.ResetAfter = (s.Start + Instant(2*a.w)).Sub(a.now)
	case s.Previous > 0:
		d.ResetAfter = max((s.PreviousStart + Instant(2*a.w)).Sub(a.now), 0)
	}
	if !d.Allowed && !a.never() {
		d.RetryAfter = (s.slidingFree(a) - a.now).asSpan()
	}
}

// slidingFree returns the earliest instant from a.now on at which the request fits if
// nothing else happens: while the current window lasts the previous one fades; after
// it the current one does.
func (s *State) slidingFree(a *asked) Instant {
	turn := s.Start + Instant(a.w)
	if a.c.Alignment == FirstRequest {
		turn += Instant(a.edge())
	}
	if left, ok := a.coverThatFits(s.Previous, s.Current); ok {
		at := max(a.now, s.PreviousStart+Instant(2*a.w-left))
		if at < turn {
			return at
		}
	}
	left, _ := a.coverThatFits(s.Current, 0)
	return max(a.now, turn, s.Start+Instant(2*a.w-left))
}

// coverThatFits returns the largest part of a window with previous requests, in
// microseconds up to the whole window, that leaves room for the request.
func (a *asked) coverThatFits(previous, current int64) (int64, bool) {
	if !a.weightedFits(previous, current, 0) {
		return 0, false
	}
	if previous == 0 || a.weightedFits(previous, current, a.w) {
		return a.w, true
	}
	free := float64(a.limit.Count) - float64(current)
	if a.c.Rule == Fits {
		free -= float64(a.n)
	}
	switch {
	case a.c.Rounding == Floor && a.c.Rule == Fits:
		free++
	case a.c.Rounding == Round && a.c.Rule == Fits:
		free += 0.5
	case a.c.Rounding == Round:
		free -= 0.5
	}
	// The division may be off by one either way; the rule itself has the last word.
	left := min(max(int64(free*float64(a.w)/float64(previous)), 0), a.w-1)
	for left > 0 && !a.weightedFits(previous, current, left) {
		left--
	}
	for left < a.w && a.weightedFits(previous, current, left+1) {
		left++
	}
	return left, true
}

// whole converts a count kept as a double, which may be beyond an int64.
func whole(x float64) int64 {
	if x >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(x)
}
