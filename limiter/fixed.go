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

func (k words) counters() counters { return counters{k.at, k.x, k.y, Instant(k.z)} }

func (c counters) words() words { return words{c.start, c.previous, c.current, int64(c.previousStart)} }

func (a *asked) decideFixed(d *Decision, k words) (words, bool) {
	c := k.counters()
	if a.c.Alignment != Epoch || c.start != a.aligned() {
		c = c.rollFixed(a)
	}
	charged := a.settle(d, a.fits(c.current))
	if charged {
		c.current = addCapped(c.current, a.n)
	}
	c.explainFixed(d, a)
	a.close(d)
	return c.words(), charged
}

// rollFixed brings the counter to the window that holds a.now. A clock that jumped
// back stays in the window it had reached, so nothing is freed early.
func (c counters) rollFixed(a *asked) counters {
	if a.c.Alignment == FirstRequest {
		if c.current == 0 || int64(a.now-c.start) >= a.w+a.edge() {
			c.start, c.current, c.previous = a.now, 0, 0
		}
		return c
	}
	return c.rollAligned(a)
}

// rollAligned moves the start to the clock-aligned window of a.now and the counts with it.
func (c counters) rollAligned(a *asked) counters {
	start := a.aligned()
	if start == c.start {
		return c
	}
	c.start = Instant(floorDiv(int64(c.start), a.w) * a.w) // the window may have changed
	switch {
	case start <= c.start && (c.current != 0 || c.previous != 0):
	case start == c.start+Instant(a.w):
		c.start, c.previous, c.current = start, c.current, 0
	default:
		c.start, c.previous, c.current = start, 0, 0
	}
	return c
}

func (c counters) explainFixed(d *Decision, a *asked) {
	d.Start, d.End = c.start, c.start+Instant(a.w)
	freed := d.End
	if a.c.Alignment == FirstRequest {
		freed += Instant(a.edge())
	}
	d.Previous, d.Current = c.previous, c.current
	d.Estimate = float64(c.current)
	d.Used = c.current
	d.Remaining = room(a.limit.Count, d.Used)
	if c.current > 0 {
		d.ResetAfter = freed.Sub(a.now)
	}
	if !d.Allowed && !a.fits(c.current) {
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
