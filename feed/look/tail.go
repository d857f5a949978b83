package look

import (
	"math"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/shape"
	"ratescope/limiter"
)

// tail follows a stream of counts from entry to entry. It is shared by stream counters
// and recorded denials.
//
// A stream that grows faster than it is worth reading is skimmed: where entries have
// running totals, the newest one tells how much came; where they have not, XINFO tells how
// many entries were ever added, and the newest of them what one counts on average. Either
// costs the same however much comes.
type tail struct {
	key   string
	last  shape.ID // the newest entry taken
	total int64    // its running total, where entries have one
	known bool     // last and total hold
	pages int

	uncounted bool // an entry had no count
	untotaled bool // an entry had no total
	jumped    bool // entries were passed over and counted by their totals or their number

	busy   int      // looks in a row that read many pages
	before shape.ID // the newest entry taken before this look
	taken  int64    // entries in this look
	skims  bool     // entries are not read one by one
	calm   int      // looks in a row that could have read them all
	added  int64    // entries that were ever added, at the look before; 0 unknown
	pace   float64  // entries a µs when reading one by one ended
	exempt bool     // the server does not tell how many entries were added

	page   *redis.XMessageSliceCmd
	newest *redis.XMessageSliceCmd
	info   *redis.XInfoStreamCmd
}

const (
	// pagesBehind is how many pages of a stream with totals are read in one look before the
	// rest is passed over; one without is read twice as far, and goes on in the next look.
	pagesBehind = 4
	// A stream that had busyPages in each of busyLooks looks is skimmed: from about 5,000
	// entries a second on at the default refresh.
	busyPages, busyLooks = 2, 8
	// sample is how many of the newest entries tell what one counts.
	sample = 20
	// calmLooks is how many looks in a row must have found no more than a page for entries
	// to be read one by one again.
	calmLooks = 10
	// spread is over how many instants the entries of one look are laid at most, when only
	// their number is known.
	spread = 32
)

func (t *tail) ask(q *Query, from shape.ID) {
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
	}
	q.Ranges++
	t.page = q.Pipe.XRangeN(q.Ctx, t.key, from.String(), "+", pageSize)
}

// take returns the entries that are new. It returns again when there are more.
func (t *tail) take() (fresh []limiter.Entry, again bool, err error) {
	t.jumped = false
	switch {
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
	fresh = t.read(got)
	t.pages++
	switch full := len(got) == pageSize; {
	case full && !t.untotaled && t.pages >= pagesBehind:
		t.skim() // at once: what is passed over is counted by its total
		return fresh, true, nil
	case full && t.pages < 2*pagesBehind:
		return fresh, true, nil
	}
	if t.busy++; t.pages < busyPages {
		t.busy = 0
	}
	if t.busy >= busyLooks && !t.exempt {
		t.skim()
	}
	t.pages, t.taken, t.before = 0, 0, t.last
	return fresh, false, nil
}

// skim stops reading entries one by one.
func (t *tail) skim() {
	t.pace = 0
	if over := t.last.At().Sub(t.before.At()); t.before != (shape.ID{}) && over > 0 {
		t.pace = float64(t.taken) / float64(over.Microseconds())
	}
	t.skims, t.calm, t.busy, t.pages, t.added = true, 0, 0, 0, 0
}

// read takes entries that come in order.
func (t *tail) read(got []redis.XMessage) (fresh []limiter.Entry) {
	for _, m := range got {
		id, ok := shape.ParseID(m.ID)
		if !ok {
			continue
		}
		n, total, hasCount, hasTotal := shape.CountOf(m.Values)
		t.uncounted = t.uncounted || !hasCount
		t.untotaled = t.untotaled || !hasTotal
		if t.known && hasTotal && t.total > 0 {
			// Entries between the two may have been trimmed before they were read, or were
			// passed over; the totals still tell how much they were.
			if missed := total - t.total; missed > n {
				n = missed
				t.jumped = true
			}
		}
		if t.known && !id.After(t.last) {
			continue // there is nothing newer
		}
		t.last, t.total, t.known = id, total, true
		t.taken++
		at := id.At()
		if hasTotal {
			at = id.Fine()
		}
		fresh = append(fresh, limiter.Entry{At: at, Count: n})
	}
	return fresh
}

// settle goes back to reading entries one by one when they have been few for long enough.
func (t *tail) settle(came int64) {
	t.jumped = true
	if t.calm++; came > pageSize {
		t.calm = 0
	}
	if t.calm >= calmLooks {
		t.skims, t.before, t.taken = false, t.last, 0
	}
}

// count tells what came from how many entries were added since the look before. What was
// added between the last entry that was read and the first look of this kind, which no
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
	id, ok := shape.ParseID(info.LastGeneratedID)
	if !ok || info.EntriesAdded == 0 { // before Redis 7 nobody counts them
		t.skims, t.exempt = false, true
		return nil, nil
	}
	units := int64(0)
	for _, m := range got {
		n, _, hasCount, _ := shape.CountOf(m.Values)
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
