package limiter

// ring is the log of one key in memory: a circular buffer with the sum of what it holds,
// unpacked from its cell. It tells most of what a decision asks without a look at the
// buffer. The zero ring is empty.
type ring struct {
	sum         int64
	head, n     uint32  // the oldest entry, and how many there are
	first, last Instant // of the oldest entry and the newest; they mean nothing when there is none
	entries     []Entry // its length is a power of two, or 0
	many        bool    // the entries are not those beside the cell
}

const manyBit = 1 << 31 // beside n, in a cell

// unpack reads the log of a key.
func (t *table) unpack(r *ring, i int) {
	c := &t.cells[i]
	r.sum, r.first, r.last = c.w, Instant(c.y), Instant(c.z)
	r.head, r.n = uint32(c.x>>32), uint32(c.x)&^manyBit
	if r.many = c.x&manyBit != 0; r.many {
		r.entries = t.many[i]
	} else {
		r.entries = t.few[i][:]
	}
}

// pack writes it back.
func (t *table) pack(r *ring, i int) {
	c := &t.cells[i]
	n := r.n
	if r.n > 0 && r.many {
		n |= manyBit
	}
	c.w, c.x, c.y, c.z = r.sum, int64(r.head)<<32|int64(n), int64(r.first), int64(r.last)
	if r.n == 0 && t.many != nil && len(t.many[i]) > muchRoom {
		t.many[i] = nil
	}
}

const muchRoom = 1024 // entries, which an empty log gives back

func (r *ring) at(i uint32) *Entry { return &r.entries[int(r.head+i)&(len(r.entries)-1)] }

// forget drops what no longer counts.
func (r *ring) forget(a *asked) {
	oldest := a.now - Instant(a.w) + 1 - Instant(a.edge())
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
func (t *table) add(r *ring, a *asked, number int) {
	r.sum = addCapped(r.sum, a.n)
	at := a.now
	if r.n > 0 && r.last >= at {
		switch {
		case a.alg == StreamCounter:
			at = r.last
		case r.last == at:
			same := r.at(r.n - 1)
			same.Count = addCapped(same.Count, a.n)
			return
		}
	}
	if int(r.n) == len(r.entries) {
		t.widen(r, number)
	}
	i := r.n
	r.n++
	if i > 0 && r.last > at {
		for ; i > 0 && r.at(i-1).At > at; i-- {
			*r.at(i) = *r.at(i - 1)
		}
	} else {
		r.last = at
	}
	if i == 0 {
		r.first = at
	}
	*r.at(i) = Entry{At: at, Count: a.n}
}

// widen moves a log to where there is room for more: what it had already, if it had.
func (t *table) widen(r *ring, i int) {
	if t.many == nil {
		t.many = make([][]Entry, len(t.cells))
	}
	bigger := t.many[i]
	if len(bigger) <= len(r.entries) {
		bigger = make([]Entry, 2*len(r.entries))
		t.many[i] = bigger
	}
	for k := range r.n {
		bigger[k] = *r.at(k)
	}
	r.entries, r.head, r.many = bigger, 0, true
}

func (r *ring) explain(d *Decision, a *asked) {
	var first, newest Instant
	if r.n > 0 {
		newest = r.last
	}
	if k := a.excess(r.sum); k > 0 && !d.Allowed {
		for i := range r.n {
			if k -= r.at(i).Count; k <= 0 {
				first = r.at(i).At
				break
			}
		}
	}
	explainUsed(d, a, r.sum, first, newest)
}
