package track

import (
	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// tail follows a stream of counts from entry to entry, for stream counters and for recorded
// denials.
//
// The entries that the stream has at first are its history. A long history is counted by its
// running totals if the entries have them. Otherwise it is read page by page over several
// readings, and behind is set until its end is reached.
//
// A stream with running totals that grows too fast to be read is skimmed: the newest entry shows how much came, and
// costs the same however much that is. Of one without totals the rest is read with the next readings, and behind is set.
type tail struct {
	key    string
	record *record // gives the bins in which a long history is counted
	from   decode.ID
	behind bool    // the server has more entries than were read: counts are lower bounds
	caught bool    // the history was read to its end
	counts *totals // counts the history; nil while pages are read
	binned bool    // this reading counted the history by bins
	paged  bool    // the history cannot be counted by its totals, which restarted within it

	last  decode.ID // the newest entry read
	total int64     // its running total, if entries have one
	known bool      // last and total are valid
	pages int       // pages read in this reading

	uncounted bool // an entry had no count
	untotaled bool // an entry had no total
	jumped    bool // entries were skipped, and counted by their totals or their number

	skims bool // the stream is skimmed
	quiet int  // consecutive skims that found no more than one page of entries

	size   int // of page
	page   *redis.XMessageSliceCmd
	newest *redis.XMessageSliceCmd
}

const (
	// pagesBehind is how many pages one reading reads of a stream with totals before it is
	// skimmed. Of a stream without totals one reading reads twice as many, and the next reading
	// continues.
	pagesBehind = 4
	// historyPage is how many entries of the history are read at once: 0.3 ms of the server's
	// time, and half the round trips of live pages.
	historyPage = 2 * pageSize
	// quietReadings is how many consecutive skims must find at most a page of entries before
	// these are read one by one again.
	quietReadings = 10
)

func (t *tail) ask(q *Query, from decode.ID) {
	t.page, t.newest = nil, nil
	if t.skims {
		t.newest = q.Pipe.XRevRangeN(q.Ctx, t.key, "+", "-", 1)
		return
	}
	if t.known {
		from = t.last.Next()
	} else {
		t.from = from
	}
	if t.counts != nil {
		t.counts.ask(q, t.key)
		return
	}
	q.Ranges++
	t.size = pageSize
	if !t.caught {
		t.size = historyPage
	}
	t.page = q.Pipe.XRangeN(q.Ctx, t.key, from.String(), "+", int64(t.size))
}

// take returns the new entries; now is the server's clock. again means that ask has to be
// called at once, because there are more.
func (t *tail) take(now limiter.Instant) (fresh []limiter.Entry, again bool, err error) {
	t.jumped, t.binned = false, false
	switch {
	case t.counts != nil:
		return t.takeTotals()
	case t.newest != nil:
		got, err := t.newest.Result()
		if err != nil {
			return nil, false, err
		}
		for _, m := range got {
			if e, ok := readEntry(m); ok && !e.hasTotal { // what was passed over is read
				t.skims, t.untotaled = false, true
				return nil, true, nil
			}
		}
		fresh, t.jumped = t.read(got), true
		// Entries are read one by one again when few enough came for quietReadings readings.
		if t.quiet++; len(fresh) > 0 && fresh[0].Count > pageSize {
			t.quiet = 0
		}
		t.skims = t.quiet < quietReadings
		return fresh, false, nil
	}
	got, err := t.page.Result()
	if err != nil {
		return nil, false, err
	}
	first := !t.known
	fresh = t.read(got)
	t.pages++
	t.behind = len(got) == t.size
	switch {
	case t.behind && first && !t.untotaled && !t.paged && t.record != nil:
		t.known, t.last, t.total, t.pages = false, decode.ID{}, 0, 0 // what was read is read in another way
		t.counts = totalsOf(t.record, t.from.At(), now)
		return nil, true, nil
	case t.behind && t.caught && !t.untotaled && t.pages >= pagesBehind:
		// At once, because the totals count the skipped entries.
		t.behind, t.skims, t.quiet, t.pages = false, true, 0, 0
		return fresh, true, nil
	case t.behind && t.pages < 2*pagesBehind:
		return fresh, true, nil
	}
	t.caught, t.pages = t.caught || !t.behind, 0
	return fresh, false, nil
}

// takeTotals takes the counts of the history. If it cannot be counted by its totals, its pages
// are read from the beginning.
func (t *tail) takeTotals() (fresh []limiter.Entry, again bool, err error) {
	entries, newest, done, ok, err := t.counts.take()
	switch {
	case err != nil:
		t.counts = nil
		return nil, false, err
	case !ok:
		t.counts, t.paged = nil, true
		return nil, true, nil
	case !done:
		return nil, true, nil
	}
	t.counts, t.behind, t.caught, t.binned = nil, false, true, true
	t.last, t.total, t.known = newest.id, newest.total, true
	t.pages = 0
	return entries, false, nil
}

// read takes entries in the order of the stream, and returns those that are new.
func (t *tail) read(got []redis.XMessage) (fresh []limiter.Entry) {
	for _, m := range got {
		e, ok := readEntry(m)
		if !ok {
			continue
		}
		t.uncounted = t.uncounted || !e.hasCount
		t.untotaled = t.untotaled || !e.hasTotal
		if t.known && e.hasTotal && t.total > 0 {
			// Entries between the two may have been trimmed before they were read, or skipped; the
			// totals still give their units.
			if missed := e.total - t.total; missed > e.n {
				e.n = missed
				t.jumped = true
			}
		}
		if t.known && !e.id.After(t.last) {
			continue // the newest entry was read before
		}
		t.last, t.total, t.known = e.id, e.total, true
		fresh = append(fresh, limiter.Entry{At: e.at(), Count: e.n})
	}
	return fresh
}
