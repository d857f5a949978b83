package limiter

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
	if q.c.Alignment != AlignEpoch || c.start != q.aligned() {
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
	if q.c.Alignment == AlignFirstRequest {
		if c.current == 0 || int64(q.now-c.start) >= q.w+q.edge() {
			c.start, c.current, c.previous = q.now, 0, 0
		}
		return c
	}
	return c.rollAligned(q)
}

// rollAligned moves the start to the clock-aligned window of a.now and the counts with it.
func (c counters) rollAligned(q *request) counters {
	start := q.aligned()
	if start == c.start {
		return c
	}
	c.start = Instant(floorDiv(int64(c.start), q.w) * q.w) // the window may have changed
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
	if q.c.Alignment == AlignFirstRequest {
		freed += Instant(q.edge())
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
