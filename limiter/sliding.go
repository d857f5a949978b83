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

func (a *asked) decideSliding(d *Decision, k words) (words, bool) {
	c := k.counters().rollSliding(a)
	left := covered(c.previousStart, a.now, a.w)
	faded := a.weighted(c.previous, left)
	charged := a.settle(d, a.weightedFits(c.previous, c.current, left, faded))
	if charged {
		c.current = addCapped(c.current, a.n)
	}
	c.explainSliding(d, a, left, faded)
	a.close(d)
	return c.words(), charged
}

func (c counters) rollSliding(a *asked) counters {
	if a.c.Alignment == Epoch {
		c = c.rollAligned(a)
		c.previousStart = c.start - Instant(a.w)
		return c
	}
	switch {
	case c.current == 0 && c.previous == 0:
		c.start, c.previousStart = a.now, a.now
	case int64(a.now-c.start) >= a.w+a.edge():
		c.previousStart, c.previous = c.start, c.current
		c.start, c.current = a.now, 0
	}
	return c
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

// weightedFits applies the rule to two counters, the previous of which has faded. The exact
// rounding compares products instead of quotients, so that a sum that is just the limit is
// not lost in a division.
func (a *asked) weightedFits(previous, current, left int64, faded float64) bool {
	limit, n := float64(a.limit.Count), float64(a.n)
	if a.limit.Count == 0 || a.n == 0 {
		return true
	}
	p, w, c := float64(previous)*float64(left), float64(a.w), float64(current)
	switch {
	case a.c.Rounding == Exact && a.c.Rule == Below:
		return p < (limit-c)*w
	case a.c.Rounding == Exact:
		return p <= (limit-c-n)*w
	case a.c.Rule == Below:
		return faded+c < limit
	}
	return faded+c+n <= limit
}

// fitsAt is weightedFits while so much of the previous window is left.
func (a *asked) fitsAt(previous, current, left int64) bool {
	return a.weightedFits(previous, current, left, a.weighted(previous, left))
}

func (c counters) explainSliding(d *Decision, a *asked, left int64, faded float64) {
	d.Start, d.End = c.start, c.start+Instant(a.w)
	d.Previous, d.Current = c.previous, c.current
	d.Weight = float64(left) / float64(a.w)
	d.Estimate = faded + float64(c.current)
	d.Used = whole(-down(-d.Estimate))
	d.Remaining = room(a.limit.Count, d.Used)
	switch {
	case c.current > 0:
		d.ResetAfter = (c.start + Instant(2*a.w)).Sub(a.now)
	case c.previous > 0:
		d.ResetAfter = max((c.previousStart + Instant(2*a.w)).Sub(a.now), 0)
	}
	if !d.Allowed && !a.never() {
		d.RetryAfter = (c.slidingFree(a) - a.now).asSpan()
	}
}

// slidingFree returns the earliest instant from a.now on at which the request fits if
// nothing else happens: while the current window lasts the previous one fades; after
// it the current one does.
func (c counters) slidingFree(a *asked) Instant {
	turn := c.start + Instant(a.w)
	if a.c.Alignment == FirstRequest {
		turn += Instant(a.edge())
	}
	if left, ok := a.coverThatFits(c.previous, c.current); ok {
		at := max(a.now, c.previousStart+Instant(2*a.w-left))
		if at < turn {
			return at
		}
	}
	left, _ := a.coverThatFits(c.current, 0)
	return max(a.now, turn, c.start+Instant(2*a.w-left))
}

// coverThatFits returns the largest part of a window with previous requests, in
// microseconds up to the whole window, that leaves room for the request.
func (a *asked) coverThatFits(previous, current int64) (int64, bool) {
	if !a.fitsAt(previous, current, 0) {
		return 0, false
	}
	if previous == 0 || a.fitsAt(previous, current, a.w) {
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
	for left > 0 && !a.fitsAt(previous, current, left) {
		left--
	}
	for left < a.w && a.fitsAt(previous, current, left+1) {
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
