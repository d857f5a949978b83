package track

import (
	"math"

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
// A stream that grows too fast to be read is skimmed. If entries have running totals, the
// newest entry shows how much came. If not, XINFO gives the number of entries ever added, and
// the newest entries give the mean count of an entry. Both cost the same however much comes.
type tail struct {
	key    string
	record *record // gives the bins in which a long history is counted
	from   decode.ID
	begun  limiter.Instant // the first reading, by the server's clock, where the history ends
	behind bool            // the server has more entries than were read: counts are lower bounds
	caught bool            // the history was read to its end
	counts *totals         // counts the history; nil while pages are read
	binned bool            // this reading counted the history by bins
	paged  bool            // the history cannot be counted by its totals, which restarted within it

	last  decode.ID // the newest entry read
	total int64     // its running total, if entries have one
	known bool      // last and total are valid
	pages int       // pages read in this reading

	uncounted bool // an entry had no count
	untotaled bool // an entry had no total
	jumped    bool // entries were skipped, and counted by their totals or their number

	busy   int       // consecutive readings that read many pages
	before decode.ID // the newest entry read before this reading
	taken  int64     // entries read in this reading
	skims  bool      // the stream is skimmed
	quiet  int       // consecutive skims that found no more than one page of entries
	added  int64     // entries ever added, at the previous reading; 0 is unknown
	pace   float64   // entries per µs when skimming began
	exempt bool      // the server does not report how many entries were added

	size   int // of page
	page   *redis.XMessageSliceCmd
	newest *redis.XMessageSliceCmd
	info   *redis.XInfoStreamCmd
}

const (
	// pagesBehind is how many pages one reading reads of a stream with totals before it is
	// skimmed. Of a stream without totals one reading reads twice as many, and the next reading
	// continues.
	pagesBehind = 4
	// historyPage is how many entries of the history are read at once: 0.3 ms of the server's
	// time, and half the round trips of live pages.
	historyPage = 2 * pageSize
	// A stream with at least busyPages in each of busyReadings consecutive readings is skimmed:
	// at the default refresh, from about 5,000 entries a second.
	busyPages, busyReadings = 2, 8
	// sample is how many of the newest entries give the mean count of an entry.
	sample = 20
	// quietReadings is how many consecutive skims must find at most a page of entries before
	// these are read one by one again.
	quietReadings = 10
	// spread is the greatest number of instants over which the entries of one reading are
	// distributed if only their number is known.
	spread = 32
)

func (t *tail) ask(q *Query, from decode.ID) {
	t.page, t.newest, t.info = nil, nil, nil
	switch {
	case t.skims && t.untotaled:
		t.info = q.Pipe.XInfoStream(q.Ctx, t.key)
		t.newest = q.Pipe.XRevRangeN(q.Ctx, t.key, "+", "-", sample)
		return
	case t.skims:
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
	case t.info != nil:
		fresh, err = t.count()
		return fresh, t.exempt, err
	case t.newest != nil:
		got, err := t.newest.Result()
		if err != nil {
			return nil, false, err
		}
		fresh = t.read(got)
		t.settle(unitsOf(fresh))
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
		t.forget()
		t.counts = totalsOf(t.record, t.from.At(), now)
		return nil, true, nil
	case t.behind && t.caught && !t.untotaled && t.pages >= pagesBehind:
		t.skim() // at once, because the totals count the skipped entries
		return fresh, true, nil
	case t.behind && t.pages < 2*pagesBehind:
		return fresh, true, nil
	case !t.caught: // a long history is no sign of a busy stream
		if t.begun == 0 {
			t.begun = now
		}
		// Entries that came since the first reading are not history. Otherwise a stream that is
		// flooded all the time would be read ever further behind and never be skimmed.
		t.caught = !t.behind || t.last.At() >= t.begun
		t.pages, t.taken, t.before = 0, 0, t.last
		return fresh, false, nil
	}
	if t.busy++; t.pages < busyPages {
		t.busy = 0
	}
	if t.busy >= busyReadings && !t.exempt {
		t.skim()
	}
	t.pages, t.taken, t.before = 0, 0, t.last
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
	t.pages, t.taken, t.before = 0, 0, t.last
	return entries, false, nil
}

// forget discards the entries read so far, which are then read in another way.
func (t *tail) forget() {
	t.known, t.last, t.total, t.pages, t.taken = false, decode.ID{}, 0, 0, 0
}

// skim changes from reading entries one by one to skimming.
func (t *tail) skim() {
	t.behind = false
	t.pace = 0
	if over := t.last.At().Sub(t.before.At()); t.before != (decode.ID{}) && over > 0 {
		t.pace = float64(t.taken) / float64(over.Microseconds())
	}
	t.skims, t.quiet, t.busy, t.pages, t.added = true, 0, 0, 0, 0
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
		t.taken++
		fresh = append(fresh, limiter.Entry{At: e.at(), Count: e.n})
	}
	return fresh
}

// settle changes back from skimming to reading entries one by one, when few enough came for
// quietReadings readings.
func (t *tail) settle(came int64) {
	t.jumped = true
	if t.quiet++; came > pageSize {
		t.quiet = 0
	}
	if t.quiet >= quietReadings {
		t.skims, t.before, t.taken = false, t.last, 0
	}
}

// count estimates the units that came, from the number of entries added since the previous
// reading. For the first skim that number is unknown; entries are then taken to have come at
// the pace of the last ones that were read.
func (t *tail) count() ([]limiter.Entry, error) {
	info, err := t.info.Result()
	if err != nil {
		return nil, err
	}
	got, err := t.newest.Result()
	if err != nil {
		return nil, err
	}
	id, ok := decode.ParseID(info.LastGeneratedID)
	if !ok || info.EntriesAdded == 0 { // Redis before 7 does not count them
		t.skims, t.exempt = false, true
		return nil, nil
	}
	units := int64(0)
	for _, m := range got {
		n, _, hasCount, _ := decode.CountOf(m.Values)
		t.uncounted = t.uncounted || !hasCount
		units += n
	}
	mean := float64(units) / float64(max(len(got), 1))
	from, added := t.last.At(), info.EntriesAdded-t.added
	switch {
	case t.added == 0:
		passed := math.Round(t.pace * float64(id.At().Sub(from).Microseconds()))
		added = int64(min(max(passed, 0), float64(info.Length)))
	case added < 0: // the stream was deleted and started again
		added = info.EntriesAdded
	}
	t.added, t.last = info.EntriesAdded, id
	t.settle(added)
	return lay(from, id.At(), int64(math.Round(float64(added)*mean))), nil
}

// lay spreads n units evenly over the time from from to until, at which the last of them come.
func lay(from, until limiter.Instant, n int64) []limiter.Entry {
	if n <= 0 {
		return nil
	}
	parts := max(min(n, spread, int64(until-from)/1000), 1)
	out := make([]limiter.Entry, 0, parts)
	for i := int64(1); i <= parts; i++ {
		upTo := func(i int64) int64 { return n * i / parts }
		out = append(out, limiter.Entry{At: until - limiter.Instant((parts-i)*int64(until-from)/parts), Count: upTo(i) - upTo(i-1)})
	}
	return out
}

// unitsOf returns the sum of the units of entries.
func unitsOf(entries []limiter.Entry) (n int64) {
	for _, e := range entries {
		n += e.Count
	}
	return n
}
