package track

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
)

// bins reads a key that is too hot to be fetched entry by entry: it asks the server how
// many entries there are in each bin of time, which costs the same however many there
// are. The bins are those of model.Timeline, joined where they would be shorter than
// shortestBin.
type bins struct {
	on        bool
	next      limiter.Instant // start of the first bin that has to be counted (again)
	started   limiter.Instant
	asked     []binCount
	fresh     []limiter.Entry
	low       int      // readings in a row that were few enough to be fetched
	edge      binCount // the bin in which what the server holds began at the reading before
	doubtful  bool     // some bins have lost members since all were counted
	recounted limiter.Instant
}

type binCount struct {
	lo, hi limiter.Instant
	n      *redis.IntCmd
}

const (
	shortestBin = 50 * time.Millisecond
	// recount is how much of the recent past is counted again at every reading, so that
	// writers whose clocks are a little behind are seen.
	recount   = 300 * time.Millisecond
	countsAsk = 50 // in one pipeline
)

func (b *bins) ask(q *Query, r *record, count func(lo, hi limiter.Instant) *redis.IntCmd) {
	per := binsPerCount(r)
	if b.next == 0 {
		b.next = q.Now.Floor(r.span()).Add(-r.span())
	}
	i := floorDiv(r.bin(b.next), per) * per
	if len(b.fresh) == 0 {
		b.started = r.begin(i)
	}
	b.asked = b.asked[:0]
	// One bin beyond now, because the server's clock may be a little ahead of the guess.
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

// recheck counts the bin again in which what the server holds began: part of it may be gone.
func (b *bins) recheck(count func(lo, hi limiter.Instant) *redis.IntCmd) {
	if b.edge.hi != 0 {
		b.edge.n = count(b.edge.lo, b.edge.hi)
	}
}

// shrink drops from the last window what the server no longer holds, which begins at
// oldest: its owner trims it earlier, or deleted it and began again. It says whether there
// was any.
func (b *bins) shrink(now, oldest limiter.Instant, r *record) bool {
	less := false
	if e := b.edge; e.n != nil && e.n.Err() == nil && e.lo >= now.Add(-r.span()) {
		less = r.lower(e.lo, e.n.Val())
	}
	per := binsPerCount(r)
	bin := floorDiv(r.bin(oldest), per) * per
	b.edge = binCount{lo: r.begin(bin), hi: r.begin(bin + per)}
	less = r.lose(now.Add(-r.span()), b.edge.lo) || less
	// What is left may not be what was counted, but what came in its place. An owner that
	// trims with every request loses some at every reading, so that all is counted again now and
	// then only.
	b.doubtful = b.doubtful || less
	if b.doubtful && now.Sub(b.recounted) > surveyEvery {
		b.doubtful, b.recounted, b.next = false, now, b.edge.lo
	}
	return less
}

// cool says that the key has been calm for long enough to be read entry by entry: for
// ten readings its last window held no more than two pages.
func (b *bins) cool(r *record, now limiter.Instant) bool {
	if r.sum(now.Add(-r.span())) > 2*pageSize {
		b.low = 0
		return false
	}
	b.low++
	return b.low >= 10
}
