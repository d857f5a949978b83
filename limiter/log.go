package limiter

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ratescope/limiter/internal/rate"
)

// The sliding log keeps every request of the last window, so it never admits more
// than the limit in any window, and its memory grows with the limit. The stream
// counter decides alike; it differs in how a store keeps it.

// firstLive returns the index of the oldest entry that still counts.
func (s *State) firstLive(q *request) int {
	return s.olderThan(q.now - Instant(q.w) + 1 - Instant(q.edge()))
}

func (s *State) liveCount(q *request) int64 { return sum(s.Log[s.firstLive(q):]) }

func sum(log []Entry) int64 {
	var n int64
	for _, e := range log {
		n = addCapped(n, e.Count)
	}
	return n
}

// chargeLog records the request and forgets what is older than the window before the
// current one. It never writes over an entry: a copy of the state may share them.
func (s *State) chargeLog(q *request) {
	old := q.now - Instant(2*q.w)
	if dead := s.olderThan(old); dead > len(s.Log)/2 {
		s.Log = append(make([]Entry, 0, 2*(len(s.Log)-dead)+1), s.Log[dead:]...)
	}
	e := Entry{At: q.now, Count: q.n}
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

func (s *State) decideLog(d *Decision, q *request) {
	if q.settle(d, q.fits(s.liveCount(q))) {
		s.chargeLog(q)
	}
	s.explainLog(d, q)
	q.close(d)
}

func (s *State) explainLog(d *Decision, q *request) {
	live := s.Log[s.firstLive(q):]
	used := sum(live)
	var first, newest Instant
	if len(live) > 0 {
		newest = live[len(live)-1].At
		first = leaving(live, q.excess(used))
	}
	explainUsed(d, q, used, first, newest)
	s.alignLog(d, q)
}

// explainUsed says what follows from the number of used units, the entry that has to
// leave before the request fits, and the newest one.
func explainUsed(d *Decision, q *request, used int64, first, newest Instant) {
	d.Used = used
	d.Remaining = room(q.limit.Count, used)
	if used > 0 {
		d.ResetAfter = q.leaves(newest)
	}
	if !d.Allowed && !q.never() {
		d.RetryAfter = q.leaves(first)
	}
}

// leaves returns how long an entry still counts.
func (q *request) leaves(at Instant) time.Duration {
	at = min(max(at, -rate.Beyond), rate.Beyond) // a score may be anything
	const most = 1 << 53                         // microseconds, 285 years, which a Duration holds
	return span(min(max(int64(at-q.now)+q.w+q.edge(), 0), most))
}

// excess returns how many used units must leave before the request fits.
func (q *request) excess(used int64) int64 {
	if q.c.Rule == RuleBelow {
		return used - q.limit.Count + 1
	}
	return used - (q.limit.Count - q.n)
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
func (s *State) alignLog(d *Decision, q *request) {
	d.Start = Instant(floorDiv(int64(q.now), q.w) * q.w)
	d.End = d.Start + Instant(q.w)
	for _, e := range s.Log {
		switch {
		case e.At >= d.Start:
			d.Current = addCapped(d.Current, e.Count)
		case e.At >= d.Start-Instant(q.w):
			d.Previous = addCapped(d.Previous, e.Count)
		}
	}
	left := int64(d.End - q.now)
	d.Weight = float64(left) / float64(q.w)
	d.Estimate = q.weighted(d.Previous, left) + math.Max(float64(d.Current), 0)
}
