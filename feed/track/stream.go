package track

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// streamDecoder reads a stream with one entry for each request.
type streamDecoder struct {
	key    string
	record record
	tail   tail
	hot    int // readings for which the count still counts as approximate after a jump

	synced bool            // the record holds all entries of the window
	from   limiter.Instant // while not synced: where reading began
	fresh  []limiter.Entry

	ttl   *redis.DurationCmd
	first *redis.XMessageSliceCmd
}

func (b *streamDecoder) ask(q *Query, l *Tracker) {
	b.record.setWindow(l.aim.target.Window)
	b.record.most = q.Entries
	if b.tail.key, b.tail.record = b.key, &b.record; l.aim.rule != nil {
		b.tail.weight = l.aim.rule.Weight
	}
	b.ttl, b.first = nil, nil
	if q.Whole || !b.tail.known {
		b.ttl = q.Pipe.PTTL(q.Ctx, b.key)
		b.first = q.Pipe.XRangeN(q.Ctx, b.key, "-", "+", 1)
	}
	if !b.synced && !b.tail.known {
		b.from, b.fresh = b.record.horizon(q.Now), nil
	}
	b.tail.ask(q, decode.IdAt(b.from))
}

// resync makes the next reading read the last window again.
func (b *streamDecoder) resync() {
	b.synced, b.fresh = false, nil
	b.tail = tail{uncounted: b.tail.uncounted, untotaled: b.tail.untotaled, weighed: b.tail.weighed}
}

func (b *streamDecoder) take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error) {
	there, err := b.there(now, l)
	if err != nil {
		return false, err
	}
	if !there {
		l.news.moved = l.news.moved || len(b.record.entries) > 0
		b.record.lose(now.Add(-b.record.span()), now)
		b.resync()
	} else {
		fresh, again, err := b.tail.take(now)
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
			if k := len(b.record.entries); b.tail.binned && k > 0 {
				b.record.joined, b.record.until = true, b.record.entries[k-1].At
			}
		}
		b.hot = max(b.hot-1, 0)
		if !b.tail.behind { // the newest entry was read
			l.aim.guessByExpiry(now, l.key.ttl, b.record.entries)
		}
		if w := l.aim.target.Window; w > 0 && b.record.widen(w) {
			b.resync()
			b.record.clear()
			return true, nil
		}
	}
	b.record.trim(now)
	b.fill(now, l, r)
	return false, nil
}

// there reports whether the stream exists, if that was asked for, and removes the entries that
// it has lost.
func (b *streamDecoder) there(now limiter.Instant, l *Tracker) (bool, error) {
	if b.ttl == nil {
		return true, nil
	}
	if err := cmp.Or(b.ttl.Err(), b.first.Err()); err != nil {
		return false, err
	}
	if !l.key.present(b.ttl.Val(), "stream") {
		return false, nil
	}
	oldest := now
	if first := b.first.Val(); len(first) > 0 {
		if id, ok := decode.ParseID(first[0].ID); ok {
			oldest = min(id.At(), now)
		}
	}
	// It was deleted and started again, or is trimmed earlier than its window.
	l.news.moved = b.record.lose(now.Add(-b.record.span()), oldest) || l.news.moved
	return true, nil
}

func (b *streamDecoder) fill(now limiter.Instant, l *Tracker, r *model.Reading) {
	l.notes.set(model.NoCountField, b.tail.uncounted)
	if b.tail.known {
		l.aim.target.Layout.NoTotals = b.tail.untotaled
	}
	r.State.Log = b.record.log()
	unread := model.Note("")
	if r.Partial = b.tail.behind; r.Partial {
		unread = model.Note(fmt.Sprintf("still being read: at least %d used", b.record.sum(now.Add(-b.record.span())+1)))
	}
	l.notes.say("unread", unread)
	r.Approximate = b.record.joined || b.hot > 0
	r.PreviousKnown, r.ExactKnown = l.aim.target.Window > 0, l.aim.target.Window > 0
	r.Arrivals = b.record.arrivals(false)
	l.notes.ahead("ids", now, b.record.entries)
}

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

	weight    string // the field with the count of an entry; "" is count
	weighed   bool   // an entry had none, and a cost in another field
	uncounted bool   // an entry had no count
	untotaled bool   // an entry had no total
	jumped    bool   // entries were skipped, and counted by their totals or their number

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
			if e, ok := readEntry(m, t.weight); ok && !e.hasTotal { // what was passed over is read
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
		e, ok := readEntry(m, t.weight)
		if !ok {
			continue
		}
		t.weighed = t.weighed || !e.hasCount && slices.ContainsFunc(costs, func(field string) bool {
			n, held := m.Values[field]
			return held && n != "1"
		})
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

// totals counts a long stream whose entries have running totals, without reading it all. The
// first entry at or after the start of a bin shows how many units came before that bin, so that
// one short range for each bin gives the exact count of every bin, however many entries there
// are.
type totals struct {
	edges  []limiter.Instant         // starts of the bins
	firsts []*redis.XMessageSliceCmd // the first entry of each bin that was asked for
	newest *redis.XMessageSliceCmd   // the newest entry of the stream; nil before the last bins
	before []int64                   // units that came before each edge, as far as is known
}

// edgesAsked bounds the ranges of one pipeline: each takes a few µs of the server's time.
const edgesAsked = 160

// totalsOf plans to count the units that came from from to now, in the bins of r.
func totalsOf(r *record, from, now limiter.Instant) *totals {
	per := binsPerCount(r)
	t := &totals{}
	for i, last := model.FloorDiv(r.bin(from), per)*per, r.bin(now); i <= last; i += per {
		t.edges = append(t.edges, r.begin(i))
	}
	return t
}

// ask adds the commands for the next edges and, after the last edge, for the newest entry.
func (t *totals) ask(q *Query, key string) {
	t.firsts, t.newest = t.firsts[:0], nil
	left := t.edges[len(t.before):]
	for _, at := range left[:min(len(left), edgesAsked)] {
		t.firsts = append(t.firsts, q.Pipe.XRangeN(q.Ctx, key, decode.IdAt(at).String(), "+", 1))
	}
	q.Ranges += len(t.firsts) / 8
	if len(t.firsts) == len(left) {
		t.newest = q.Pipe.XRevRangeN(q.Ctx, key, "+", "-", 1)
	}
}

// take reads the answers. When done it returns an entry for each bin that is not empty, and the
// newest entry of the stream. ok is false for a stream that cannot be counted in this way: an
// entry has no total, or the totals restart.
func (t *totals) take() (entries []limiter.Entry, newest streamEntry, done, ok bool, err error) {
	for _, cmd := range t.firsts {
		e, there, err := onlyEntry(cmd)
		if err != nil || there && !e.hasTotal {
			return nil, newest, false, false, err
		}
		if !there {
			t.edges = t.edges[:len(t.before)]
			break // nothing came after this edge: the newest entry's total ends the last bin
		}
		t.before = append(t.before, e.total-e.n)
	}
	if t.newest == nil {
		return nil, newest, false, len(t.before) > 0, nil
	}
	if newest, _, err = onlyEntry(t.newest); err != nil || !newest.hasTotal || len(t.before) == 0 {
		return nil, newest, false, false, err
	}
	for i, before := range t.before {
		after := newest.total
		if i+1 < len(t.before) {
			after = t.before[i+1]
		}
		if after < before {
			return nil, newest, false, false, nil
		}
		if after > before {
			entries = append(entries, limiter.Entry{At: t.edges[i], Count: after - before})
		}
	}
	if k := len(entries); k > 0 {
		entries[k-1].At = newest.at() // the last bin is not over: its units came until the newest entry
	}
	return entries, newest, true, true, nil
}

// streamEntry is one entry of a stream of counts.
type streamEntry struct {
	id                 decode.ID
	n, total           int64
	hasCount, hasTotal bool
}

// costs are fields in which programs write what a request costs.
var costs = strings.Fields("n cost weight tokens amount units points qty quantity size")

// readEntry parses an entry, whose count stands in a field; ok is false if its id does not parse.
func readEntry(m redis.XMessage, field string) (e streamEntry, ok bool) {
	e.id, ok = decode.ParseID(m.ID)
	e.n, e.total, e.hasCount, e.hasTotal = decode.CountOf(m.Values, cmp.Or(field, "count"))
	return e, ok
}

// onlyEntry reads the answer to a command that returns one entry at most. One whose id does not parse has no total.
func onlyEntry(cmd *redis.XMessageSliceCmd) (e streamEntry, there bool, err error) {
	got, err := cmd.Result()
	if err != nil || len(got) == 0 {
		return e, false, err
	}
	e, ok := readEntry(got[0], "")
	e.hasTotal = e.hasTotal && ok
	return e, true, nil
}

// at returns the instant of the entry, to the microsecond if ratescope's own library wrote it.
func (e streamEntry) at() limiter.Instant {
	if e.hasTotal {
		return e.id.Fine()
	}
	return e.id.At()
}

// binsPerCount returns how many bins of the timeline are counted together, so that they are not
// shorter than shortestBin.
func binsPerCount(r *record) int64 {
	for per := int64(1); per < model.BinsPerWindow; per++ {
		if model.BinsPerWindow%per == 0 && r.span()*time.Duration(per)/model.BinsPerWindow >= shortestBin {
			return per
		}
	}
	return model.BinsPerWindow
}
