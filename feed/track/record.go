package track

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// record remembers the requests of one key: the entries of the last two clock-aligned windows,
// also those that the server has trimmed, and which of them were not reported yet.
//
// The slice that log returns is shared with the receivers of readings and never changes:
// entries are appended to it, and every other change makes a new slice.
type record struct {
	window  time.Duration
	entries []limiter.Entry // ascending
	most    int             // entries kept one by one; more are joined into bins
	joined  bool            // some entries stand for a bin
	until   limiter.Instant // the newest entry that stands for a bin

	pending map[slot]model.Arrival // arrivals to report
	told    limiter.Instant        // the newest arrival that was reported
}

// slot names the arrivals that are reported as one: those of one bin that are reported for the
// first time, or again because the window has changed.
type slot struct {
	bin   int64
	again bool
}

// Bounds of record.most, and of the entries of all records together.
const (
	fewestEntries = 4 * model.BinsPerWindow
	mostEntries   = 16_384
	allEntries    = 4 << 20
)

// EntriesFor returns how many entries each of n keys may keep one by one.
func EntriesFor(n int) int { return min(max(allEntries/max(n, 1), fewestEntries), mostEntries) }

// unknownWindow takes the place of the window while that is not known.
const unknownWindow = time.Minute

// span returns the window, or unknownWindow.
func (r *record) span() time.Duration {
	return collect.If(r.window > 0, r.window, unknownWindow)
}

// bin returns the number of the bin that contains at, as model.Timeline counts them.
func (r *record) bin(at limiter.Instant) int64 {
	return model.FloorDiv(int64(at)*model.BinsPerWindow, int64(r.span()/time.Microsecond))
}

// begin returns the first instant of a bin.
func (r *record) begin(bin int64) limiter.Instant {
	return limiter.Instant(-model.FloorDiv(-bin*int64(r.span()/time.Microsecond), model.BinsPerWindow))
}

// horizon returns the instant from which the server's entries are read: two windows back at
// first, and later one window, because older entries are remembered and may be trimmed there.
func (r *record) horizon(now limiter.Instant) limiter.Instant {
	k := len(r.entries)
	if k == 0 {
		return now.Floor(r.span()).Add(-r.span())
	}
	return min(now.Add(-r.span()+r.span()/64), r.entries[k-1].At+1)
}

// setWindow changes the window. A new window makes the key's timeline start again, so that all
// entries are reported again. Those that were reported before are not joined with newer ones, so
// that receivers can tell them apart; see model.Reading.Repeats.
func (r *record) setWindow(w time.Duration) {
	if r.window == w {
		return
	}
	r.window = w
	r.pending = nil
	for _, e := range r.entries {
		r.add(slot{r.bin(e.At), e.At <= r.told}, e)
	}
}

// widen sets the window, and reports whether it is longer than before, so that its earlier part was not read.
func (r *record) widen(w time.Duration) bool {
	was := r.span()
	r.setWindow(w)
	return r.span() > was
}

// extend appends fresh entries, which are in order. Those that are not later than the last
// remembered entry are inserted at their places.
func (r *record) extend(fresh []limiter.Entry) {
	for i := 0; i < len(fresh); i++ {
		e := fresh[i]
		for i+1 < len(fresh) && fresh[i+1].At == e.At {
			i++
			e.Count += fresh[i].Count
		}
		k := len(r.entries)
		switch {
		case e.Count <= 0:
		case k == 0 || e.At > r.entries[k-1].At:
			r.entries = append(r.entries, e)
			r.report(e)
		default:
			r.insert(e)
		}
	}
}

// insert inserts a late entry at its place.
func (r *record) insert(e limiter.Entry) {
	i := r.from(e.At)
	if i < len(r.entries) && r.entries[i].At == e.At {
		r.entries = slices.Clone(r.entries)
		r.entries[i].Count += e.Count
	} else {
		r.entries = slices.Insert(slices.Clone(r.entries), i, e)
	}
	r.report(e)
}

// report notes that e has to be reported as an arrival.
func (r *record) report(e limiter.Entry) { r.add(slot{bin: r.bin(e.At)}, e) }

// add adds an entry to the arrivals of a slot.
func (r *record) add(s slot, e limiter.Entry) {
	p := r.pending[s]
	p.At, p.N = max(p.At, e.At), p.N+e.Count
	collect.Put(&r.pending, s, p)
}

// from returns the index of the first entry at or after at.
func (r *record) from(at limiter.Instant) int {
	return sort.Search(len(r.entries), func(i int) bool { return r.entries[i].At >= at })
}

// sum returns the units of the entries at or after at.
func (r *record) sum(at limiter.Instant) int64 {
	return collect.Sum(r.entries[r.from(at):], func(e limiter.Entry) int64 { return e.Count })
}

// replace replaces the entries from at on with fresh, which is complete from there. Only units
// that come in addition are reported; old and new units are compared by groups of grain bins.
func (r *record) replace(at limiter.Instant, fresh []limiter.Entry, grain int64) {
	if b := r.bin(at); r.begin(b) < at { // whole bins, so that both counts cover the same time
		at = r.begin(b + 1)
	}
	keep := r.entries[:r.from(at)]
	was := make(map[int64]int64)
	for _, e := range r.entries[len(keep):] {
		was[model.FloorDiv(r.bin(e.At), grain)] += e.Count
	}
	for s, p := range r.pending {
		if s.bin >= r.bin(at) {
			was[model.FloorDiv(s.bin, grain)] -= p.N // not reported yet, so still to be reported
			delete(r.pending, s)
		}
	}
	entries := make([]limiter.Entry, 0, len(keep)+len(fresh))
	entries = append(entries, keep...)
	for _, e := range fresh {
		if e.At < at || e.Count <= 0 {
			continue
		}
		if k := len(entries); k > 0 && entries[k-1].At == e.At {
			entries[k-1].Count += e.Count
		} else {
			entries = append(entries, e)
		}
		g := model.FloorDiv(r.bin(e.At), grain)
		if reported := min(max(was[g], 0), e.Count); reported > 0 {
			was[g] -= reported
			e.Count -= reported
		}
		if e.Count > 0 {
			r.report(e)
		}
	}
	r.entries, r.joined = entries, false
}

// lose removes the entries from from to to, because the server no longer has them, and reports
// whether there were any.
func (r *record) lose(from, to limiter.Instant) bool {
	i, j := r.from(from), r.from(to)
	if i >= j {
		return false
	}
	r.entries = slices.Concat(r.entries[:i], r.entries[j:])
	return true
}

// lower reduces the count of the entry at an instant to left, and reports whether it was higher.
func (r *record) lower(at limiter.Instant, left int64) bool {
	i := r.from(at)
	if i == len(r.entries) || r.entries[i].At != at || r.entries[i].Count <= left {
		return false
	}
	r.entries = slices.Clone(r.entries)
	if r.entries[i].Count = left; left == 0 {
		r.entries = slices.Delete(r.entries, i, i+1)
	}
	return true
}

// trim removes the entries that are older than the previous window, and joins entries into bins
// when there are too many to keep one by one.
func (r *record) trim(now limiter.Instant) {
	oldest := now.Floor(r.span()).Add(-r.span())
	if i := r.from(oldest); i > 0 {
		r.entries = r.entries[i:]
	}
	if r.joined && (len(r.entries) == 0 || r.entries[0].At > r.until) {
		r.joined = false
	}
	if cap(r.entries) > 4*len(r.entries)+64 {
		r.entries = slices.Clone(r.entries) // free the memory of an old burst
	}
	if most := max(r.most, fewestEntries); len(r.entries) > most {
		r.join()
	}
}

// join joins the entries of each half bin of the timeline into one.
func (r *record) join() {
	const finer = 2
	per := max(int64(r.span()/time.Microsecond)/(model.BinsPerWindow*finer), 1)
	out := make([]limiter.Entry, 0, 2*model.BinsPerWindow*finer+2)
	for _, e := range r.entries {
		k := len(out)
		if k > 0 && model.FloorDiv(int64(out[k-1].At), per) == model.FloorDiv(int64(e.At), per) {
			out[k-1] = limiter.Entry{At: e.At, Count: out[k-1].Count + e.Count}
			continue
		}
		out = append(out, e)
	}
	r.entries, r.joined = out, true
	r.until = out[len(out)-1].At
}

// clear removes all entries, reported or not.
func (r *record) clear() {
	r.entries, r.pending, r.joined = nil, nil, false
}

// log returns the entries; the caller must not change them.
func (r *record) log() []limiter.Entry { return r.entries[:len(r.entries):len(r.entries)] }

// arrivals returns the arrivals that were not reported yet, oldest first.
func (r *record) arrivals(denied bool) []model.Arrival {
	if len(r.pending) == 0 {
		return nil
	}
	out := make([]model.Arrival, 0, len(r.pending))
	for _, p := range r.pending {
		p.Denied = denied
		out = append(out, p)
	}
	clear(r.pending)
	slices.SortFunc(out, func(a, b model.Arrival) int { return int(a.At - b.At) })
	r.told = max(r.told, out[len(out)-1].At)
	return out
}

// bins reads a key with too many entries to fetch them: it asks the server for the number of
// entries in each bin of time, which costs the same however many there are. The bins are those
// of model.Timeline, joined where they would be shorter than shortestBin.
type bins struct {
	on        bool
	next      limiter.Instant // start of the first bin to be counted, or counted again
	started   limiter.Instant // start of the first bin counted in this reading
	asked     []binCount
	fresh     []limiter.Entry
	low       int             // consecutive readings with few enough entries to fetch them
	edge      binCount        // the bin of the server's oldest entry at the previous reading
	doubtful  bool            // bins have lost members since all bins were counted
	recounted limiter.Instant // when all bins were last counted again
}

type binCount struct {
	lo, hi limiter.Instant
	n      *redis.IntCmd
}

const (
	shortestBin = 50 * time.Millisecond
	// recount is the part of the recent past that every reading counts again, so that entries of
	// writers whose clocks are a little behind are not missed.
	recount   = 300 * time.Millisecond
	countsAsk = 50 // bins in one pipeline
)

func (b *bins) ask(q *Query, r *record, count func(lo, hi limiter.Instant) *redis.IntCmd) {
	per := binsPerCount(r)
	b.next = cmp.Or(b.next, q.Now.Floor(r.span()).Add(-r.span()))
	i := model.FloorDiv(r.bin(b.next), per) * per
	if len(b.fresh) == 0 {
		b.started = r.begin(i)
	}
	b.asked = b.asked[:0]
	// One bin beyond now, because the server's clock may be a little ahead of the estimate.
	for last := r.bin(q.Now) + per; i <= last && len(b.asked) < countsAsk; i += per {
		lo, hi := r.begin(i), r.begin(i+per)
		b.asked = append(b.asked, binCount{lo: lo, hi: hi, n: count(lo, hi)})
	}
	q.Ranges += len(b.asked) / 4 // a count is a fraction of a range
}

func (b *bins) take(now limiter.Instant, r *record) (again bool, err error) {
	for _, c := range b.asked {
		n, err := c.n.Result()
		if err != nil {
			b.fresh, b.next = nil, b.started
			return false, err
		}
		if n > 0 {
			b.fresh = append(b.fresh, limiter.Entry{At: c.lo, Count: n})
		}
		b.next = c.hi
	}
	if b.next <= now {
		return true, nil
	}
	r.replace(b.started, b.fresh, binsPerCount(r))
	b.fresh = nil
	b.next = now.Add(-recount)
	return false, nil
}

// shrink removes the entries of the last window that the server no longer has, and reports
// whether there were any. oldest is the server's oldest entry: the key's owner may trim it
// earlier than its window, or may have deleted it and started again.
func (b *bins) shrink(now, oldest limiter.Instant, r *record) bool {
	less := false
	if e := b.edge; e.n != nil && e.n.Err() == nil && e.lo >= now.Add(-r.span()) {
		less = r.lower(e.lo, e.n.Val())
	}
	per := binsPerCount(r)
	bin := model.FloorDiv(r.bin(max(oldest, now.Add(-2*r.span()))), per) * per
	b.edge = binCount{lo: r.begin(bin), hi: r.begin(bin + per)}
	less = r.lose(now.Add(-r.span()), b.edge.lo) || less
	// The entries that are left may not be those that were counted, but others that came in their
	// place, so that all bins are counted again. An owner that trims with every request loses
	// entries at every reading, so that this is done only every surveyEvery.
	b.doubtful = b.doubtful || less
	if b.doubtful && now.Sub(b.recounted) > surveyEvery {
		b.doubtful, b.recounted, b.next = false, now, b.edge.lo
	}
	return less
}
