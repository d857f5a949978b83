package limiter

// ring is the log of one key in memory: a circular buffer with the sum of what it holds.
// It fills a line of the processor's cache, and tells most of what a decision asks without
// a look at the buffer, which is in another. The zero ring is empty.
type ring struct {
	sum         int64
	head, n     uint32  // the oldest entry, and how many there are
	first, last Instant // of the oldest entry and the newest; they mean nothing when there is none
	entries     []Entry // its length is a power of two, or 0
	_           [8]byte
}

func (r *ring) at(i uint32) *Entry { return &r.entries[int(r.head+i)&(len(r.entries)-1)] }

// forget drops what no longer counts.
func (r *ring) forget(a *asked) {
	oldest := a.now - Instant(a.w) + 1 - Instant(a.edge())
	for r.n > 0 && r.first < oldest {
		r.sum -= r.at(0).Count
		r.head++
		if r.n--; r.n > 0 {
			r.first = r.at(0).At
		}
	}
	if r.n == 0 && len(r.entries) > 1024 {
		r.entries, r.head = nil, 0
	}
}

// add records the request. After the clock jumped back an entry goes where its instant
// belongs, or, in a stream, whose ids never go back, to the end.
func (r *ring) add(a *asked) {
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
		r.grow()
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

func (r *ring) grow() {
	bigger := make([]Entry, max(4, 2*len(r.entries)))
	for i := range r.n {
		bigger[i] = *r.at(i)
	}
	r.entries, r.head = bigger, 0
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
