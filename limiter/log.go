package limiter

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// The sliding log keeps every request of the last window, so it never admits more
// than the limit in any window, and its memory grows with the limit. The stream
// counter decides alike; it differs in how a store keeps it.

// firstLive returns the index of the oldest entry that still counts.
func (s *State) firstLive(a *asked) int {
	return s.olderThan(a.now - Instant(a.w) + 1 - Instant(a.edge()))
}

func (s *State) liveCount(a *asked) int64 { return sum(s.Log[s.firstLive(a):]) }

func sum(log []Entry) int64 {
	var n int64
	for _, e := range log {
		n = addCapped(n, e.Count)
	}
	return n
}

// chargeLog records the request and forgets what is older than the window before the
// current one. It never writes over an entry: a copy of the state may share them.
func (s *State) chargeLog(a *asked) {
	old := a.now - Instant(2*a.w)
	if dead := s.olderThan(old); dead > len(s.Log)/2 {
		s.Log = append(make([]Entry, 0, 2*(len(s.Log)-dead)+1), s.Log[dead:]...)
	}
	e := Entry{At: a.now, Count: a.n}
	last := len(s.Log) - 1
	switch {
	case last < 0 || s.Log[last].At <= e.At:
		s.Log = append(s.Log, e)
	case s.Algorithm == StreamCounter:
		// A stream's ids never go back: after a clock jump the entry is as late as the last.
		e.At = s.Log[last].At
		s.Log = append(s.Log, e)
	default:
		i := s.olderThan(e.At + 1)
		s.Log = append(append(s.Log[:i:i], e), s.Log[i:]...)
	}
}

// olderThan counts the entries from before t.
func (s *State) olderThan(t Instant) int {
	i, _ := slices.BinarySearchFunc(s.Log, t, byInstant)
	return i
}

func byInstant(e Entry, t Instant) int { return cmp.Compare(e.At, t) }

func (s *State) decideLog(d *Decision, a *asked) {
	if a.settle(d, a.fits(s.liveCount(a))) {
		s.chargeLog(a)
	}
	s.explainLog(d, a)
	a.close(d)
}

func (s *State) explainLog(d *Decision, a *asked) {
	live := s.Log[s.firstLive(a):]
	used := sum(live)
	var first, newest Instant
	if len(live) > 0 {
		newest = live[len(live)-1].At
		first = leaving(live, a.excess(used))
	}
	explainUsed(d, a, used, first, newest)
	s.alignLog(d, a)
}

// explainUsed says what follows from the number of used units, the entry that has to
// leave before the request fits, and the newest one.
func explainUsed(d *Decision, a *asked, used int64, first, newest Instant) {
	d.Used = used
	d.Remaining = room(a.limit.Count, used)
	if used > 0 {
		d.ResetAfter = a.leaves(newest)
	}
	if !d.Allowed && !a.never() {
		d.RetryAfter = a.leaves(first)
	}
}

// leaves returns how long an entry still counts.
func (a *asked) leaves(at Instant) time.Duration {
	at = min(max(at, -beyond), beyond) // a score may be anything
	const most = 1 << 53               // microseconds, 285 years, which a Duration holds
	return span(min(max(int64(at-a.now)+a.w+a.edge(), 0), most))
}

// excess returns how many used units must leave before the request fits.
func (a *asked) excess(used int64) int64 {
	if a.c.Rule == Below {
		return used - a.limit.Count + 1
	}
	return used - (a.limit.Count - a.n)
}

// leaving returns the instant of the entry with which the oldest k units of live leave,
// or zero, which left long ago, when none has to.
func leaving(live []Entry, k int64) Instant {
	if k <= 0 {
		return 0
	}
	for _, e := range live {
		if k -= e.Count; k <= 0 {
			return e.At
		}
	}
	return 0
}

// alignLog fills in what a weighted counter would have said about the same requests:
// a log knows the counts of the clock-aligned windows too.
func (s *State) alignLog(d *Decision, a *asked) {
	d.Start = Instant(floorDiv(int64(a.now), a.w) * a.w)
	d.End = d.Start + Instant(a.w)
	for _, e := range s.Log {
		switch {
		case e.At >= d.Start:
			d.Current = addCapped(d.Current, e.Count)
		case e.At >= d.Start-Instant(a.w):
			d.Previous = addCapped(d.Previous, e.Count)
		}
	}
	left := int64(d.End - a.now)
	d.Weight = float64(left) / float64(a.w)
	d.Estimate = a.weighted(d.Previous, left) + math.Max(float64(d.Current), 0)
}
