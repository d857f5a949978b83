package limiter

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ratescope/limiter/convention"
	"ratescope/limiter/internal/rate"
)

// The sliding log keeps every request of the last window, so it never admits more
// than the limit in any window, and its memory grows with the limit. The stream
// counter decides alike; it differs in how a store keeps it.

// firstLive returns the index of the oldest entry that still counts.
func (s *State) firstLive(q *request) int {
	return s.olderThan(q.now - Instant(q.w) + 1 - Instant(later(q.c.Edge)))
}

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
	if q.settle(d, q.fits(sum(s.Log[s.firstLive(q):]))) {
		s.chargeLog(q)
	}
	live := s.Log[s.firstLive(q):]
	used := sum(live)
	var first, newest Instant
	if len(live) > 0 {
		newest = live[len(live)-1].At
		first = leaving(live, q.excess(used))
	}
	explainUsed(d, q, used, first, newest)
	s.alignLog(d, q)
	q.close(d)
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
	return span(min(max(int64(at-q.now)+q.w+later(q.c.Edge), 0), most))
}

// excess returns how many used units must leave before the request fits.
func (q *request) excess(used int64) int64 {
	if q.c.Rule == convention.Below {
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
	d.Start = q.now.aligned(q.w)
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

// ring is the log of one key in memory: a circular buffer with the sum of what it holds. Most
// decisions need these fields alone and not the buffer. The zero ring is empty.
type ring struct {
	extent
	marks   []mark  // as many as a power of two
	entries []Entry // the same; in use instead of marks if there are any
	used    Instant // when more than an eighth of the buffer was last in use
}

// extent is the part of the buffer that counts.
type extent struct {
	sum         int64
	head, n     uint32  // the oldest entry, and how many there are
	first, last Instant // of the oldest entry and the newest; they mean nothing when there is none
}

// mark is an entry of a single unit, which is what most are: the lower bits of its instant,
// which the newest instant of the log completes.
type mark uint32

const markSpan = 1 << 32 // microseconds, which is more than an hour

// entry reads a mark in a log whose newest instant is last.
func (m mark) entry(last Instant) Entry {
	return Entry{At: last - Instant(uint32(last)-uint32(m)), Count: 1}
}

const (
	leastLog = 16   // entries of a buffer
	roomyLog = 1024 // entries of a buffer that is kept although at most an eighth of it is in use
)

// at returns an entry, counted from the oldest.
func (r *ring) at(i uint32) Entry {
	if r.entries != nil {
		return r.entries[int(r.head+i)&(len(r.entries)-1)]
	}
	return r.marks[int(r.head+i)&(len(r.marks)-1)].entry(r.last)
}

func (r *ring) set(i uint32, e Entry) {
	if r.entries != nil {
		r.entries[int(r.head+i)&(len(r.entries)-1)] = e
		return
	}
	r.marks[int(r.head+i)&(len(r.marks)-1)] = mark(e.At)
}

func (r *ring) full() bool { return int(r.n) == len(r.marks)+len(r.entries) }

// fits reports whether the log with one more entry can be kept as marks.
func (r *ring) fits(e Entry) bool {
	return e.Count == 1 && r.entries == nil && (r.n == 0 || max(r.last, e.At)-min(r.first, e.At) < markSpan)
}

// forget drops the entries that no longer count.
func (r *ring) forget(q *request) {
	oldest := q.now - Instant(q.w) + 1 - Instant(later(q.c.Edge))
	if r.n > 0 && r.last < oldest {
		r.n, r.sum = 0, 0
		return
	}
	for r.n > 0 && r.first < oldest {
		r.sum -= r.at(0).Count
		r.head++
		r.n--
		r.first = r.at(0).At
	}
}

// add records the request. After the clock jumped back an entry goes where its instant
// belongs, or, in a stream, whose ids never go back, to the end.
func (r *ring) add(q *request) {
	r.sum = addCapped(r.sum, q.n)
	e := Entry{At: q.now, Count: q.n}
	same := false
	if r.n > 0 && r.last >= e.At {
		if q.alg == StreamCounter {
			e.At = r.last
		} else if same = r.last == e.At && r.entries != nil; same {
			e.Count = addCapped(r.at(r.n-1).Count, q.n)
		}
	}
	if !same && r.full() || r.entries == nil && !r.fits(e) {
		r.resize(r.fits(e))
		r.used = q.now
	}
	if same {
		r.set(r.n-1, e)
		return
	}
	i := r.n
	r.n++
	if i > 0 && r.last > e.At {
		for ; i > 0 && r.at(i-1).At > e.At; i-- {
			r.set(i, r.at(i-1))
		}
	} else {
		r.last = e.At
	}
	if i == 0 {
		r.first = e.At
	}
	r.set(i, e)
}

// resize copies a log to a buffer of marks or of entries with room for one more at least.
func (r *ring) resize(marks bool) {
	from, room := *r, leastLog
	for room <= int(r.n) {
		room *= 2
	}
	r.head, r.marks, r.entries = 0, nil, nil
	if marks {
		r.marks = make([]mark, room)
	} else {
		r.entries = make([]Entry, room)
	}
	for k := range r.n {
		r.set(k, from.at(k))
	}
}

// release frees a large buffer of which at most an eighth has been in use for grace. It is called by
// sweeps, and takes what it finds as the state since the call before.
func (r *ring) release(now Instant) {
	switch room := len(r.marks) + len(r.entries); {
	case room <= roomyLog:
	case int(r.n) > room/8:
		r.used = now
	case now >= r.used+grace:
		r.resize(r.sum == int64(r.n) && (r.n == 0 || r.last-r.first < markSpan))
	}
}

func (r *ring) explain(d *Decision, q *request) {
	var first, newest Instant
	if r.n > 0 {
		newest = r.last
	}
	if k := q.excess(r.sum); k > 0 && !d.Allowed {
		first = r.leaving(k)
	}
	explainUsed(d, q, r.sum, first, newest)
}

// leaving returns the instant of the entry with which the oldest k units leave, or zero when
// there are not so many. It counts from the nearer end: where denied requests are charged
// there are many more units than the limit, and all but the newest of them must leave.
func (r *ring) leaving(k int64) Instant {
	if k > r.sum {
		return 0
	}
	if 2*k <= r.sum {
		for i := range r.n {
			if k -= r.at(i).Count; k <= 0 {
				return r.at(i).At
			}
		}
		return 0
	}
	stay := r.sum - k
	for i := r.n; i > 0; i-- {
		if stay -= r.at(i - 1).Count; stay < 0 {
			return r.at(i - 1).At
		}
	}
	return 0
}
