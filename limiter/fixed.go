package limiter

import (
	"math"

	"ratescope/limiter/convention"
)

// The fixed window: one counter a window, dropped when the window ends. It is the
// cheapest of all and lets twice the limit through across an edge: the limit at the
// end of one window and the limit again at the start of the next.

// counters are the state of a fixed and of a sliding window, as those of a State.
type counters struct {
	start             Instant
	previous, current int64
	previousStart     Instant
}

func (k packed) counters() counters { return counters{k.at, k.x, k.y, Instant(k.z)} }

func (c counters) pack() packed {
	return packed{c.start, c.previous, c.current, int64(c.previousStart)}
}

func (q *request) decideFixed(d *Decision, k packed) (packed, bool) {
	c := k.counters()
	if q.c.Alignment != convention.Epoch || c.start != q.now.aligned(q.w) {
		c = c.rollFixed(q)
	}
	charged := q.settle(d, q.fits(c.current))
	if charged {
		c.current = addCapped(c.current, q.n)
	}
	c.explainFixed(d, q)
	q.close(d)
	return c.pack(), charged
}

// rollFixed brings the counter to the window that holds a.now. A clock that jumped
// back stays in the window it had reached, so nothing is freed early.
func (c counters) rollFixed(q *request) counters {
	if q.c.Alignment == convention.FirstRequest {
		if c.current == 0 || int64(q.now-c.start) >= q.w+later(q.c.Edge) {
			c.start, c.current, c.previous = q.now, 0, 0
		}
		return c
	}
	return c.rollAligned(q)
}

// rollAligned moves the start to the clock-aligned window of a.now and the counts with it.
func (c counters) rollAligned(q *request) counters {
	start := q.now.aligned(q.w)
	if start == c.start {
		return c
	}
	c.start = c.start.aligned(q.w) // the window may have changed
	switch {
	case start <= c.start && (c.current != 0 || c.previous != 0):
	case start == c.start+Instant(q.w):
		c.start, c.previous, c.current = start, c.current, 0
	default:
		c.start, c.previous, c.current = start, 0, 0
	}
	return c
}

func (c counters) explainFixed(d *Decision, q *request) {
	d.Start, d.End = c.start, c.start+Instant(q.w)
	freed := d.End
	if q.c.Alignment == convention.FirstRequest {
		freed += Instant(later(q.c.Edge))
	}
	d.Previous, d.Current = c.previous, c.current
	d.Estimate = float64(c.current)
	d.Used = c.current
	d.Remaining = room(q.limit.Count, d.Used)
	if c.current > 0 {
		d.ResetAfter = freed.Sub(q.now)
	}
	if !d.Allowed && !q.fits(c.current) {
		d.RetryAfter = freed.Sub(q.now)
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

// The sliding window counter: two counters, of which the previous one counts as far
// as the sliding window still covers it. The estimate assumes that the previous
// window's requests were spread evenly; when they were not it admits up to 2L-1 requests
// in a true window with exact rounding, and 2L with the others, which forgive the last
// fraction of the previous window.
//
// The weighted count is double arithmetic in a fixed order, previous times what is
// left of it divided by the window, so that Go and Lua agree to the last bit. It is
// exact while that product stays below 2^53.

func (q *request) decideSliding(d *Decision, k packed) (packed, bool) {
	c := k.counters().rollSliding(q)
	left := covered(c.previousStart, q.now, q.w)
	faded := q.weighted(c.previous, left)
	charged := q.settle(d, q.weightedFits(c.previous, c.current, left, faded))
	if charged {
		c.current = addCapped(c.current, q.n)
	}
	c.explainSliding(d, q, left, faded)
	q.close(d)
	return c.pack(), charged
}

func (c counters) rollSliding(q *request) counters {
	if q.c.Alignment == convention.Epoch {
		c = c.rollAligned(q)
		c.previousStart = c.start - Instant(q.w)
		return c
	}
	switch {
	case c.current == 0 && c.previous == 0:
		c.start, c.previousStart = q.now, q.now
	case int64(q.now-c.start) >= q.w+later(q.c.Edge):
		c.previousStart, c.previous = c.start, c.current
		c.start, c.current = q.now, 0
	}
	return c
}

// covered returns how many microseconds of the window that began at start the sliding
// window ending at now still covers.
func covered(start, now Instant, w int64) int64 {
	return min(max(int64(start-now)+2*w, 0), w)
}

// weighted is previous × left/w in the rounding that the convention names.
func (q *request) weighted(previous, left int64) float64 {
	x := float64(float64(previous)*float64(left)) / float64(q.w)
	switch q.c.Rounding {
	case convention.Exact:
		return x
	case convention.Nearest:
		return floor(x + 0.5)
	}
	return floor(x)
}

// floor is math.Floor without a call.
func floor(x float64) float64 {
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
func (q *request) weightedFits(previous, current, left int64, faded float64) bool {
	limit, n := float64(q.limit.Count), float64(q.n)
	if q.limit.Count == 0 || q.n == 0 {
		return true
	}
	p, w, c := float64(previous)*float64(left), float64(q.w), float64(current)
	switch {
	case q.c.Rounding == convention.Exact && q.c.Rule == convention.Below:
		return p < (limit-c)*w
	case q.c.Rounding == convention.Exact:
		return p <= (limit-c-n)*w
	case q.c.Rule == convention.Below:
		return faded+c < limit
	}
	return faded+c+n <= limit
}

// fitsAt is weightedFits while so much of the previous window is left.
func (q *request) fitsAt(previous, current, left int64) bool {
	return q.weightedFits(previous, current, left, q.weighted(previous, left))
}

func (c counters) explainSliding(d *Decision, q *request, left int64, faded float64) {
	d.Start, d.End = c.start, c.start+Instant(q.w)
	d.Previous, d.Current = c.previous, c.current
	d.Weight = float64(left) / float64(q.w)
	d.Estimate = faded + float64(c.current)
	d.Used = whole(-floor(-d.Estimate))
	d.Remaining = room(q.limit.Count, d.Used)
	switch {
	case c.current > 0:
		d.ResetAfter = (c.start + Instant(2*q.w)).Sub(q.now)
	case c.previous > 0:
		d.ResetAfter = max((c.previousStart + Instant(2*q.w)).Sub(q.now), 0)
	}
	if !d.Allowed && !q.never() {
		d.RetryAfter = c.slidingFree(q).Sub(q.now)
	}
}

// slidingFree returns the earliest instant from a.now on at which the request fits if
// nothing else happens: while the current window lasts the previous one fades; after
// it the current one does.
func (c counters) slidingFree(q *request) Instant {
	turn := c.start + Instant(q.w)
	if q.c.Alignment == convention.FirstRequest {
		turn += Instant(later(q.c.Edge))
	}
	if left, ok := q.coverThatFits(c.previous, c.current); ok {
		at := max(q.now, c.previousStart+Instant(2*q.w-left))
		if at < turn {
			return at
		}
	}
	left, _ := q.coverThatFits(c.current, 0)
	return max(q.now, turn, c.start+Instant(2*q.w-left))
}

// coverThatFits returns the largest part of a window with previous requests, in
// microseconds up to the whole window, that leaves room for the request.
func (q *request) coverThatFits(previous, current int64) (int64, bool) {
	if !q.fitsAt(previous, current, 0) {
		return 0, false
	}
	if previous == 0 || q.fitsAt(previous, current, q.w) {
		return q.w, true
	}
	free := float64(q.limit.Count) - float64(current)
	if q.c.Rule == convention.Fits {
		free -= float64(q.n)
	}
	switch {
	case q.c.Rounding == convention.Floor && q.c.Rule == convention.Fits:
		free++
	case q.c.Rounding == convention.Nearest && q.c.Rule == convention.Fits:
		free += 0.5
	case q.c.Rounding == convention.Nearest:
		free -= 0.5
	}
	// The division may be off by one either way; the rule itself has the last word.
	left := min(max(int64(free*float64(q.w)/float64(previous)), 0), q.w-1)
	for left > 0 && !q.fitsAt(previous, current, left) {
		left--
	}
	for left < q.w && q.fitsAt(previous, current, left+1) {
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
