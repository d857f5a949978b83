package limiter

// ring is the log of one key in memory: a circular buffer with the sum of what it holds,
// unpacked from its cell. Most decisions need these fields alone and not the buffer. The zero
// ring is empty.
type ring struct {
	sum         int64
	head, n     uint32  // the oldest entry, and how many there are
	first, last Instant // of the oldest entry and the newest; they mean nothing when there is none
	marks       []mark  // as many as a power of two
	entries     []Entry // the same; in use instead of marks if there are any
}

// mark is an entry of a single unit, which is what most are: the lower bits of its instant,
// which the newest instant of the log completes.
type mark uint32

const markSpan = 1 << 32 // microseconds, which is more than an hour

// entry reads a mark in a log whose newest instant is last.
func (m mark) entry(last Instant) Entry {
	return Entry{At: last - Instant(uint32(last)-uint32(m)), Count: 1}
}

const largeBit = 1 << 31 // beside n, in a cell: the log is in t.wide

// unpack reads the log of a key.
func (t *table) unpack(r *ring, i int) {
	c := &t.logs[i]
	r.sum, r.first, r.last = c.state.y, c.state.at, Instant(c.state.z)
	r.head, r.n = uint32(c.state.x>>32), uint32(c.state.x)&^largeBit
	r.marks = c.small[:]
	if c.state.x&largeBit != 0 {
		r.marks, r.entries = t.large[i].marks, t.large[i].entries
	}
}

// pack writes it back. An empty log begins again with few.
func (t *table) pack(r *ring, i int) {
	n := r.n
	if r.n > 0 && len(r.marks) != smallLog {
		n |= largeBit
	}
	t.logs[i].state = packed{at: r.first, x: int64(r.head)<<32 | int64(n), y: r.sum, z: int64(r.last)}
}

// largeLog holds a log that does not fit into its cell, as marks or as entries; the length of
// either is a power of two.
type largeLog struct {
	marks   []mark
	entries []Entry
	used    Instant // when more than an eighth of it was last in use
}

func (w *largeLog) room() int { return len(w.marks) + len(w.entries) }

// roomyLog is the capacity, in entries, up to which a large log is kept. A larger one of which
// at most an eighth is in use is freed after grace.
const roomyLog = 1024

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

// forget drops the entries that no longer count from an unpacked log.
func (r *ring) forget(q *request) {
	oldest := q.now - Instant(q.w) + 1 - Instant(q.edge())
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
func (t *table) add(r *ring, q *request, number int) {
	if r.short() {
		t.reduce(r, number)
	}
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
		t.enlarge(r, q.now, number, r.fits(e))
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

// enlarge moves a log to a largeLog with room for more, as marks or as entries. It reuses the
// one that the key has, if that is large enough.
func (t *table) enlarge(r *ring, now Instant, i int, marks bool) {
	if t.large == nil {
		t.large = make([]largeLog, t.places())
	}
	need := 2 * smallLog
	for need <= int(r.n) {
		need *= 2
	}
	has := &t.large[i]
	switch {
	case marks && len(has.marks) < need:
		*has = largeLog{marks: make([]mark, need)}
	case !marks && len(has.entries) < need:
		*has = largeLog{entries: make([]Entry, need)}
	}
	has.used = now
	r.move(has)
}

// move copies a log to another buffer.
func (r *ring) move(to *largeLog) {
	from := *r
	r.head, r.marks, r.entries = 0, to.marks, to.entries
	for k := range r.n {
		r.set(k, from.at(k))
	}
}

// short reports whether a log in a largeLog fits into half of the marks of its cell.
func (r *ring) short() bool {
	return r.n <= smallLog/2 && len(r.marks) != smallLog && (r.sum == int64(r.n) && r.last-r.first < markSpan || r.n == 0)
}

// reduce moves a short log back to its cell. The largeLog stays with the key; see releaseLog.
func (t *table) reduce(r *ring, i int) {
	r.move(&largeLog{marks: t.logs[i].small[:]})
}

// releaseLog frees a largeLog of which at most an eighth has been in use for grace. It is called
// by sweeps, and takes what it finds as the state since the call before.
func (t *table) releaseLog(i int, now Instant) {
	has := &t.large[i]
	if has.room() <= roomyLog {
		return
	}
	var r ring
	t.unpack(&r, i)
	inUse := len(r.marks) != smallLog
	switch {
	case inUse && int(r.n) > has.room()/8:
		has.used = now
	case now < has.used+grace:
	case inUse:
		*has = largeLog{}
		t.enlarge(&r, now, i, r.entries == nil)
		t.pack(&r, i)
	default:
		*has = largeLog{}
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
