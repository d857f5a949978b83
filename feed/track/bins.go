package track

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

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
	if b.next == 0 {
		b.next = q.Now.Floor(r.span()).Add(-r.span())
	}
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

// recheck counts the bin of the server's oldest entry again, because part of it may be gone.
func (b *bins) recheck(count func(lo, hi limiter.Instant) *redis.IntCmd) {
	if b.edge.hi != 0 {
		b.edge.n = count(b.edge.lo, b.edge.hi)
	}
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
	bin := model.FloorDiv(r.bin(oldest), per) * per
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

// cool reports whether the key has been calm for long enough to be read entry by entry: for
// ten readings, its last window had at most two pages of entries.
func (b *bins) cool(r *record, now limiter.Instant) bool {
	if r.sum(now.Add(-r.span())) > 2*pageSize {
		b.low = 0
		return false
	}
	b.low++
	return b.low >= 10
}
