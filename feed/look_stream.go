package feed

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// streamID is the id of a stream entry: milliseconds and a sequence number.
type streamID struct{ ms, seq uint64 }

func parseStreamID(s string) (streamID, bool) {
	left, right, _ := strings.Cut(s, "-")
	ms, err := strconv.ParseUint(left, 10, 64)
	if err != nil {
		return streamID{}, false
	}
	seq, err := strconv.ParseUint(right, 10, 64)
	return streamID{ms, seq}, err == nil || right == ""
}

// next returns the smallest id after i.
func (i streamID) next() streamID {
	if i.seq == 1<<64-1 {
		return streamID{i.ms + 1, 0}
	}
	return streamID{i.ms, i.seq + 1}
}

func (i streamID) String() string { return fmt.Sprintf("%d-%d", i.ms, i.seq) }

// at returns the instant of the id. Ids may be chosen freely by the writer, so that the
// number may be far beyond what an Instant holds.
func (i streamID) at() limiter.Instant {
	const most = 1 << 52 / 1000
	return limiter.Instant(min(i.ms, most) * 1000)
}

// fine returns the instant of an id of this library, whose sequence number holds the
// microsecond, plus one, above fifteen digits of the running total.
func (i streamID) fine() limiter.Instant {
	const totals = 1_000_000_000_000_000
	if us := i.seq / totals; us >= 1 && us <= 1000 {
		return i.at() + limiter.Instant(us-1)
	}
	return i.at()
}

// idAt returns the first id of the millisecond that holds at.
func idAt(at limiter.Instant) streamID { return streamID{ms: uint64(max(at.Millis(), 0))} }

// tail follows a stream of counts from entry to entry. It is shared by stream counters
// and recorded denials.
type tail struct {
	key   string
	last  streamID // the newest entry taken
	total int64    // its running total, where entries have one
	known bool     // last and total hold
	pages int

	uncounted bool // an entry had no count
	untotaled bool // an entry had no total
	jumped    bool // entries were passed over and counted by their totals
	jumping   bool
	page      *redis.XMessageSliceCmd
	newest    *redis.XMessageSliceCmd
}

// pagesBehind is how many pages of a stream are read in one look before its totals are
// used to jump to the end.
const pagesBehind = 4

func (t *tail) ask(q *query, from streamID) {
	t.page, t.newest = nil, nil
	if t.jumping {
		t.newest = q.pipe.XRevRangeN(q.ctx, t.key, "+", "-", 1)
		return
	}
	if t.known {
		from = t.last.next()
	}
	q.ranges++
	t.page = q.pipe.XRangeN(q.ctx, t.key, from.String(), "+", pageSize)
}

// take returns the entries that are new. It returns again when there are more.
func (t *tail) take() (fresh []limiter.Entry, again bool, err error) {
	page := t.page
	if t.newest != nil {
		page = t.newest
	}
	got, err := page.Result()
	if err != nil {
		return nil, false, err
	}
	t.jumped = false
	for _, m := range got {
		id, ok := parseStreamID(m.ID)
		if !ok {
			continue
		}
		n, total, hasCount, hasTotal := countOf(m.Values)
		t.uncounted = t.uncounted || !hasCount
		t.untotaled = t.untotaled || !hasTotal
		if t.known && hasTotal && t.total > 0 {
			// Entries between the two may have been trimmed before they were read, or were
			// jumped over; the totals still tell how much they were.
			if missed := total - t.total; missed > n {
				n = missed
				t.jumped = true
			}
		}
		if t.known && (id.ms < t.last.ms || id.ms == t.last.ms && id.seq <= t.last.seq) {
			continue // the jump found nothing newer
		}
		t.last, t.total, t.known = id, total, true
		at := id.at()
		if hasTotal {
			at = id.fine()
		}
		fresh = append(fresh, limiter.Entry{At: at, Count: n})
	}
	if t.newest != nil {
		t.jumping, t.pages = false, 0
		return fresh, false, nil
	}
	t.pages++
	if len(got) < pageSize {
		t.pages = 0
		return fresh, false, nil
	}
	t.jumping = t.pages >= pagesBehind && !t.untotaled
	return fresh, t.jumping || t.pages < 2*pagesBehind, nil
}

// countOf reads the fields of an entry. A count that is missing or no number above
// zero stands for 1.
func countOf(values map[string]any) (n, total int64, hasCount, hasTotal bool) {
	read := func(field string) (int64, bool) {
		s, ok := values[field].(string)
		if !ok {
			return 0, false
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < 0 || v >= 1<<53 {
			return 0, false
		}
		return v, true
	}
	n, hasCount = read("count")
	if !hasCount {
		n = 1
	}
	total, hasTotal = read("total")
	return n, total, hasCount, hasTotal
}

// streamBody reads a stream with an entry a request.
type streamBody struct {
	key    string
	record record
	tail   tail
	hot    int // looks in a row that had to jump

	synced bool            // the record holds all that the server has of the window
	from   limiter.Instant // while syncing: where reading began
	fresh  []limiter.Entry

	ttl   *redis.DurationCmd
	first *redis.XMessageSliceCmd
}

func (b *streamBody) ask(q *query, l *look) {
	b.record.setWindow(l.target.Window)
	b.record.most = q.most
	b.tail.key = b.key
	b.ttl, b.first = nil, nil
	if q.whole || !b.tail.known {
		b.ttl = q.pipe.PTTL(q.ctx, b.key)
		b.first = q.pipe.XRangeN(q.ctx, b.key, "-", "+", 1)
	}
	if !b.synced && !b.tail.known {
		b.from, b.fresh = b.record.horizon(q.now), nil
	}
	b.tail.ask(q, idAt(b.from))
}

// resync reads the last window anew, because what was read may be wrong or gone.
func (b *streamBody) resync() {
	b.synced, b.fresh = false, nil
	b.tail = tail{uncounted: b.tail.uncounted, untotaled: b.tail.untotaled}
}

func (b *streamBody) take(now limiter.Instant, l *look, r *model.Reading) (again bool, err error) {
	there, err := b.there(now, l)
	if err != nil {
		return false, err
	}
	if !there {
		b.lose(now.Add(-b.record.span()), now)
		b.resync()
	} else {
		fresh, again, err := b.tail.take()
		if err != nil {
			return false, err
		}
		if b.tail.jumped {
			b.hot = 10
		}
		if b.synced {
			b.record.extend(fresh)
		} else {
			b.fresh = append(b.fresh, fresh...)
		}
		if again {
			return true, nil
		}
		if !b.synced {
			b.record.replace(b.from, b.fresh, 1)
			b.synced, b.fresh = true, nil
		}
		b.hot = max(b.hot-1, 0)
		b.guess(now, l)
		if span := b.record.span(); l.target.Window > 0 && l.target.Window != b.record.window {
			b.record.setWindow(l.target.Window)
			if b.record.span() > span { // what is in the longer window was never asked for
				b.resync()
				b.record.clear()
				return true, nil
			}
		}
	}
	b.record.trim(now)
	b.fill(now, l, r)
	return false, nil
}

// there says whether the stream exists, as far as was asked, and drops what it lost.
func (b *streamBody) there(now limiter.Instant, l *look) (bool, error) {
	if b.ttl == nil {
		return true, nil
	}
	ttl, err := b.ttl.Result()
	if err != nil {
		return false, err
	}
	first, err := b.first.Result()
	if err != nil {
		return false, err
	}
	if !l.present(ttl, "stream") {
		return false, nil
	}
	b.trimmed(first, now)
	return true, nil
}

// trimmed drops from the last window what the server no longer holds: a stream that was
// deleted and begun again, or trimmed earlier than its window.
func (b *streamBody) trimmed(first []redis.XMessage, now limiter.Instant) {
	oldest := now
	if len(first) > 0 {
		if id, ok := parseStreamID(first[0].ID); ok {
			oldest = min(id.at(), now)
		}
	}
	live := now.Add(-b.record.span())
	if i, j := b.record.from(live), b.record.from(oldest); i < j {
		b.lose(live, oldest)
	}
}

// lose forgets what was remembered of a stretch of time, without a report.
func (b *streamBody) lose(from, to limiter.Instant) {
	i, j := b.record.from(from), b.record.from(to)
	if i == j {
		return
	}
	kept := make([]limiter.Entry, 0, len(b.record.entries))
	kept = append(kept, b.record.entries[:i]...)
	b.record.entries = append(kept, b.record.entries[j:]...)
}

// guess tells the window from the expiry.
func (b *streamBody) guess(now limiter.Instant, l *look) {
	if k := len(b.record.entries); k > 0 && l.ttl > 0 {
		l.guess(inferWindow(now, l.ttl, b.record.entries[k-1].At, l.target.Window))
	}
}

func (b *streamBody) fill(now limiter.Instant, l *look, r *model.Reading) {
	entries := b.record.entries
	l.note(model.FutureScore, false)
	if k := len(entries); k > 0 {
		l.note(model.FutureScore, entries[k-1].At.Sub(now) > futureAllowed)
	}
	l.note(model.NoCountField, b.tail.uncounted)
	if b.tail.known {
		l.target.Layout.Untotalled = b.tail.untotaled
	}
	r.State.Log = b.record.log()
	r.Approximate = b.record.joined || b.hot > 0
	r.PreviousKnown = l.target.Window > 0
	r.ExactKnown = l.target.Window > 0
	r.Arrivals = b.record.arrivals(false)
}

// denials follows the stream in which denied requests are recorded.
type denials struct {
	key    string
	record record
	tail   tail
	seen   bool // the stream was there at least once
	always bool // its absence means that nothing was denied
	skip   int  // looks left before it is looked for again

	asked bool
}

// absentEvery is how often a stream of denials that was never there is looked for.
const absentEvery = 5

func (d *denials) ask(q *query, l *look) {
	d.asked = false
	if d.key == "" {
		return
	}
	if !d.seen && d.skip > 0 {
		d.skip--
		return
	}
	d.asked = true
	d.skip = absentEvery - 1
	d.record.setWindow(l.target.Window)
	d.record.most = q.most
	d.tail.key = d.key
	d.tail.ask(q, idAt(q.now.Floor(d.record.span()).Add(-d.record.span())))
}

func (d *denials) take(now limiter.Instant) (again bool, err error) {
	if !d.asked {
		return false, nil
	}
	fresh, again, err := d.tail.take()
	switch {
	case err != nil && code(err) == "WRONGTYPE":
		d.key = "" // somebody else's key of that name
		return false, nil
	case err != nil:
		return false, err
	}
	d.seen = d.seen || d.tail.known
	d.record.extend(fresh)
	d.record.trim(now)
	return again, nil
}

// span sets the window. When it is longer than the one before, the stream is read anew
// from further back.
func (d *denials) span(w time.Duration) {
	was := d.record.span()
	d.record.setWindow(w)
	if d.record.span() > was && d.tail.known {
		d.tail = tail{}
		d.record.clear()
	}
}

// tell puts what is known of denials into r.
func (d *denials) tell(now limiter.Instant, r *model.Reading) {
	r.Denied = model.Count{Known: d.seen || d.always, N: d.record.sum(now.Add(-d.record.span()) + 1)}
	if told := d.record.arrivals(true); len(told) > 0 {
		r.Arrivals = mergeArrivals(r.Arrivals, told)
	}
}

// mergeArrivals joins two runs that are each in order of time.
func mergeArrivals(a, b []model.Arrival) []model.Arrival {
	out := make([]model.Arrival, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if b[0].At < a[0].At {
			out, b = append(out, b[0]), b[1:]
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	return append(append(out, a...), b...)
}
