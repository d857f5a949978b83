package track

import (
	"math"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// tail follows a stream of counts from entry to entry. It is shared by stream counters
// and recorded denials.
//
// What the stream holds at first is its history. A long one is counted by its totals, where
// entries have them; else it is read page by page, over several readings, and behind says that
// there is more than was read.
//
// A stream that grows faster than it is worth reading is skimmed: where entries have
// running totals, the newest one tells how much came; where they have not, XINFO tells how
// many entries were ever added, and the newest of them what one counts on average. Either
// costs the same however much comes.
type tail struct {
	key    string
	record *record // whose bins a long history is counted in
	from   decode.ID
	begun  limiter.Instant // of the first reading, by the server's clock: the history ends here
	behind bool            // the server holds more than was read: what is known is a lower bound
	caught bool            // the history was read to its end once
	counts *totals         // counts the history; nil while pages are read
	binned bool            // the history was counted by bins in this reading
	paged  bool            // the history cannot be counted by its totals, which began anew in it

	last  decode.ID // the newest entry taken
	total int64     // its running total, where entries have one
	known bool      // last and total hold
	pages int

	uncounted bool // an entry had no count
	untotaled bool // an entry had no total
	jumped    bool // entries were passed over and counted by their totals or their number

	busy   int       // readings in a row that read many pages
	before decode.ID // the newest entry taken before this reading
	taken  int64     // entries in this reading
	skims  bool      // entries are not read one by one
	quiet  int       // readings in a row that could have read them all
	added  int64     // entries that were ever added, at the reading before; 0 unknown
	pace   float64   // entries a µs when reading one by one ended
	exempt bool      // the server does not tell how many entries were added

	size   int // of page
	page   *redis.XMessageSliceCmd
	newest *redis.XMessageSliceCmd
	info   *redis.XInfoStreamCmd
}

const (
	// pagesBehind is how many pages of a stream with totals are read in one reading before the
	// rest is passed over; one without is read twice as far, and goes on in the next reading.
	pagesBehind = 4
	// historyPage is how many entries of the history are read at once: 0.3 ms of the server's
	// time, and half the round trips of live pages.
	historyPage = 2 * pageSize
	// A stream that had busyPages in each of busyReadings readings is skimmed: from about 5,000
	// entries a second on at the default refresh.
	busyPages, busyReadings = 2, 8
	// sample is how many of the newest entries tell what one counts.
	sample = 20
	// quietReadings is how many readings in a row must have found no more than a page for entries
	// to be read one by one again.
	quietReadings = 10
	// spread is over how many instants the entries of one reading are laid at most, when only
	// their number is known.
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

// take returns the entries that are new at now. It returns again when there are more.
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
		t.skim() // at once: what is passed over is counted by its total
		return fresh, true, nil
	case t.behind && t.pages < 2*pagesBehind:
		return fresh, true, nil
	case !t.caught: // the history is read however long it is, and is no sign of a busy stream
		if t.begun == 0 {
			t.begun = now
		}
		// What came since the first reading is not history: a stream that is flooded all the
		// while would else be read further and further behind, and never skimmed.
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

// takeTotals takes what was counted of the history. Where that cannot be, its pages are
// read from the beginning.
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

// forget drops what was read so far, to read it in another way.
func (t *tail) forget() {
	t.known, t.last, t.total, t.pages, t.taken = false, decode.ID{}, 0, 0, 0
}

// skim stops reading entries one by one.
func (t *tail) skim() {
	t.behind = false
	t.pace = 0
	if over := t.last.At().Sub(t.before.At()); t.before != (decode.ID{}) && over > 0 {
		t.pace = float64(t.taken) / float64(over.Microseconds())
	}
	t.skims, t.quiet, t.busy, t.pages, t.added = true, 0, 0, 0, 0
}

// read takes entries that come in order.
func (t *tail) read(got []redis.XMessage) (fresh []limiter.Entry) {
	for _, m := range got {
		e, ok := readEntry(m)
		if !ok {
			continue
		}
		t.uncounted = t.uncounted || !e.hasCount
		t.untotaled = t.untotaled || !e.hasTotal
		if t.known && e.hasTotal && t.total > 0 {
			// Entries between the two may have been trimmed before they were read, or were
			// passed over; the totals still tell how much they were.
			if missed := e.total - t.total; missed > e.n {
				e.n = missed
				t.jumped = true
			}
		}
		if t.known && !e.id.After(t.last) {
			continue // there is nothing newer
		}
		t.last, t.total, t.known = e.id, e.total, true
		t.taken++
		fresh = append(fresh, limiter.Entry{At: e.at(), Count: e.n})
	}
	return fresh
}

// settle goes back to reading entries one by one when they have been few for long enough.
func (t *tail) settle(came int64) {
	t.jumped = true
	if t.quiet++; came > pageSize {
		t.quiet = 0
	}
	if t.quiet >= quietReadings {
		t.skims, t.before, t.taken = false, t.last, 0
	}
}

// count tells what came from how many entries were added since the reading before. What was
// added between the last entry that was read and the first reading of this kind, which no
// number tells, is taken to have come as fast as what was read last.
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
	case added < 0: // deleted and begun again
		added = info.EntriesAdded
	}
	t.added, t.last = info.EntriesAdded, id
	t.settle(added)
	return lay(from, id.At(), int64(math.Round(float64(added)*mean))), nil
}

// lay spreads n units evenly over a stretch of time, which ends with the last of them.
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

func unitsOf(entries []limiter.Entry) (n int64) {
	for _, e := range entries {
		n += e.Count
	}
	return n
}
