package record

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"ratescope/limiter"
	"ratescope/model"
)

// pack is many readings in one line, field by field. What a reading says is mostly what the one
// before of the same key leads to expect, so of each field only the differences are written.
type pack struct {
	IDs     []int64            `json:"ids"`              // of the readings, each less the one before
	Held    bool               `json:"held,omitempty"`   // these were told before: nothing arrives
	Keys    []named            `json:"keys,omitempty"`   // keys that were not described, or not so
	Times   []int64            `json:"times"`            // at which keys were read, each less the one before
	Columns map[string][]int64 `json:"cols,omitempty"`   // by the names of fields; see column
	Levels  []real             `json:"levels,omitempty"` // one for every 1 in the column level
	// new entries: microseconds since the entry before (since at, for the first of all)
	Log      []int64 `json:"log,omitempty"`
	Counts   []int64 `json:"counts,omitempty"`   // of the new entries, as a column, less 1
	Arrivals []int64 `json:"arrivals,omitempty"` // of readings in the column came, as in a line of their own
}

// named is the description of a key, a key as JSON. A pack has it before the first reading that it is for.
type named struct {
	ID  int             `json:"id"`
	Key json.RawMessage `json:"key"`
}

// field is a figure that every reading has.
type field int

// The fields in the order in which they are worked out: what is expected of one depends on those
// before it.
const (
	fieldAt field = iota // written as the number of one of the times, less that of the reading before
	fieldSince
	fieldFlags
	fieldStart
	fieldPrevious
	fieldCurrent
	fieldBefore
	fieldTAT
	fieldLevel // the bits of the level
	fieldFilled
	fieldPart
	fieldParts
	fieldBlocked
	fieldEnds
	fieldDenied // 0 unknown, else one more than it is
	fieldTTL    // written against when the key expires, unless it is as before
	fieldDrop
	fieldKeep
	fieldFresh // entries of the log that are new
	fieldCame  // 0: the arrivals are those that are expected; else one more than they are
	fields

	fieldExpires = fields     // in milliseconds, by the last TTL that was another; follows from the others
	fieldWindow  = fields + 1 // by which a source joins arrivals, in microseconds; follows from the description
	fieldNewest  = fields + 2 // instant from which the expiry is counted, as a rule; follows from the others
	allFields    = fields + 3
)

var fieldNames = [fields]string{
	"at", "since", "flags", "start", "previous", "current", "before", "tat", "level", "filled", "part", "parts", "blocked", "ends", "denied",
	"ttl",
	"drop", "keep", "fresh", "came",
}

// restName is the column of what a time to live differs by beside whole milliseconds.
const restName = "ttl_ns"

// row has the fields of a reading. Differences wrap around, so that any value can be written.
type row [allFields]int64

// rowOf returns the fields of a reading but for its arrivals. ok is false where a pack cannot
// say it.
func rowOf(r *reading) (x row, ok bool) {
	x = row{
		fieldAt: int64(r.At), fieldSince: int64(r.Since), fieldFlags: int64(r.Flags), fieldStart: int64(r.Start), fieldPrevious: r.Previous,
		fieldCurrent: r.Current,
		fieldBefore:  int64(r.Before), fieldTAT: int64(r.TAT), fieldLevel: int64(math.Float64bits(float64(r.Level))),
		fieldFilled: int64(r.Filled),
		fieldPart:   r.Part, fieldParts: r.Parts,
		fieldBlocked: int64(r.Blocked), fieldEnds: int64(r.Ends), fieldTTL: r.TTL, fieldDrop: int64(r.Drop), fieldKeep: int64(r.Keep),
		fieldFresh: int64(len(r.Log) / 2),
	}
	if r.Denied != nil {
		x[fieldDenied] = *r.Denied + 1
	}
	return x, len(r.Trace) == 0 && (r.Denied == nil || x[fieldDenied] != 0)
}

// reading is the inverse of rowOf, without lists.
func (x *row) reading() reading {
	r := reading{
		At: limiter.Instant(x[fieldAt]), Since: limiter.Instant(x[fieldSince]), Flags: uint8(x[fieldFlags]),
		Start:    limiter.Instant(x[fieldStart]),
		Previous: x[fieldPrevious], Current: x[fieldCurrent], Before: limiter.Instant(x[fieldBefore]), TAT: limiter.Instant(x[fieldTAT]),
		Level: real(math.Float64frombits(uint64(x[fieldLevel]))), Filled: limiter.Instant(x[fieldFilled]), Part: x[fieldPart],
		Parts:   x[fieldParts],
		Blocked: limiter.Instant(x[fieldBlocked]), Ends: limiter.Instant(x[fieldEnds]), TTL: x[fieldTTL], Drop: int(x[fieldDrop]),
		Keep: int(x[fieldKeep]),
	}
	if n := x[fieldDenied] - 1; n != -1 {
		r.Denied = &n
	}
	return r
}

// expected returns the fields that the next reading of the key is expected to have, whose log has
// so many entries. The zero row is that of a key without a reading.
func (x *row) expected(entries int) row {
	next := *x
	next[fieldSince] = x[fieldAt]
	next[fieldDrop], next[fieldFresh], next[fieldCame] = 0, 0, 0
	next[fieldKeep] = int64(entries)
	return next
}

// differ adds to a field of an expected row the difference d, which is not 0, from what was
// expected, and corrects the fields after it whose expectation depends on it. It is called in the
// order of the fields.
func (x *row) differ(f field, d int64) {
	x[f] += d
	switch f {
	case fieldStart: // in a new window the current count becomes the previous one
		x[fieldPrevious], x[fieldCurrent] = x[fieldCurrent], 0
		x[fieldBefore] += d
	case fieldDrop:
		x[fieldKeep] -= d
	}
}

// milli is a millisecond in nanoseconds.
const milli = 1_000_000

// expires returns when the key is expected to expire, in milliseconds: as long after the newest
// request as before.
func (x *row) expires(was *row) int64 {
	return was[fieldExpires] + model.FloorDiv(x[fieldNewest], 1000) - model.FloorDiv(was[fieldNewest], 1000)
}

// ttl returns what goes into the columns of the time to live. A server tells it in whole
// milliseconds, now and then, and between is what it told last.
func (x *row) ttl(was *row) (ms, rest int64) {
	if x[fieldTTL] == was[fieldTTL] {
		return 0, 0
	}
	d := x[fieldTTL] - (x.expires(was)-model.FloorDiv(x[fieldAt], 1000))*milli
	if ms, rest = d/milli, d%milli; d >= 0 {
		ms++
	} else if ms == 0 {
		ms, rest = 1, d
	}
	return ms, rest
}

// setTTL is the inverse of ttl.
func (x *row) setTTL(was *row, ms, rest int64) {
	if x[fieldTTL] = was[fieldTTL]; ms == 0 {
		return
	}
	if ms > 0 {
		ms--
	}
	x[fieldTTL] = (x.expires(was)-model.FloorDiv(x[fieldAt], 1000)+ms)*milli + rest
}

// follow works out what follows from the log and the target, and from the fields but for the
// time to live.
func (x *row) follow(log []limiter.Entry, t *model.Target) {
	if x[fieldWindow] = 60_000_000; t.Window > 0 {
		x[fieldWindow] = max(t.Window.Microseconds(), 1)
	}
	x[fieldNewest] = cmp.Or(x[fieldTAT], x[fieldFilled], x[fieldStart])
	if len(log) > 0 {
		x[fieldNewest] = int64(log[len(log)-1].At)
	}
}

// expire works out what follows from the time to live. Where that is as before, it may have
// been told before, and says nothing about the newest request.
func (x *row) expire(was *row) {
	if x[fieldTTL] != was[fieldTTL] || was[fieldAt] == 0 {
		x[fieldExpires] = model.FloorDiv(x[fieldAt], 1000) + x[fieldTTL]/milli
		return
	}
	x[fieldExpires], x[fieldNewest] = was[fieldExpires], was[fieldNewest]
}

// arrivals appends the arrivals that are expected of a reading, as a line has them: what is new in
// the log joined by the bins of a timeline, or all of it where these are others now; or what a
// counter grew by.
func (x *row) arrivals(to []int64, was *row, kept, fresh []limiter.Entry) []int64 {
	switch {
	case x[fieldFlags]&flagLog != 0:
		bin, last := int64(0), -1
		if was[fieldAt] == 0 || was[fieldWindow] == x[fieldWindow] {
			kept = nil
		}
		for _, log := range [...][]limiter.Entry{kept, fresh} {
			for _, e := range log {
				b := model.FloorDiv(int64(e.At)*model.BinsPerWindow, x[fieldWindow])
				if last < 0 || b != bin {
					bin, last = b, len(to)
					to = append(to, 0, 0)
				}
				to[last] = x[fieldAt] - int64(e.At)
				to[last+1] += e.Count << 1
			}
		}
	case was[fieldAt] == 0:
	case x[fieldStart] == was[fieldStart] && x[fieldCurrent] > was[fieldCurrent]:
		to = append(to, 0, (x[fieldCurrent]-was[fieldCurrent])<<1)
	case x[fieldStart] > was[fieldStart] && x[fieldCurrent] > 0:
		to = append(to, 0, x[fieldCurrent]<<1)
	}
	return to
}

// column is a list of which most values are 0: for each that is not, how many are passed over
// since the one before, and the value.
type column struct {
	pairs []int64
	next  int
}

// put appends value i, if it is not 0.
func (c *column) put(i int, v int64) {
	if v != 0 {
		c.pairs, c.next = append(c.pairs, int64(i-c.next), v), i+1
	}
}

// take returns value i; values are taken in their order.
func (c *column) take(i int) int64 {
	if len(c.pairs) < 2 || c.pairs[0] != int64(i-c.next) {
		return 0
	}
	v := c.pairs[1]
	c.pairs, c.next = c.pairs[2:], i+1
	return v
}

// Bounds of a pack, so that its line is shorter than MaxLine.
const (
	maxPacked     = 100_000 // numbers
	maxPackedKeys = 1 << 20 // bytes of the descriptions
	maxPackedOne  = 20_000  // numbers of one reading
)

// packer puts readings together. The zero value is ready; it is used again and again.
type packer struct {
	pack         // but for its columns
	n, id    int // how many readings there are; the id of the latest
	at       int // number of the time of the latest
	size     int // bytes of the descriptions
	columns  [fields]column
	rest     column
	counts   column
	expected []int64
}

// add appends a reading whose fields are x. was are those of the reading before of the same key, and
// entries how many its log had; log holds the entries that it has now.
func (p *packer) add(r *reading, x, was *row, entries int, log []limiter.Entry) {
	i := p.n
	p.n++
	p.IDs = append(p.IDs, int64(r.ID-p.id))
	p.id = r.ID
	p.expected = p.expected[:0]
	if !p.Held {
		p.expected = x.arrivals(p.expected, was, log[:r.Keep], log[r.Keep:])
	}
	if !slices.Equal(p.expected, r.Arrivals) {
		x[fieldCame] = int64(len(r.Arrivals)/2) + 1
		p.Arrivals = append(p.Arrivals, r.Arrivals...)
	}
	at := p.time(x[fieldAt])
	p.columns[fieldAt].put(i, int64(at-p.at))
	p.at = at
	next := was.expected(entries)
	for f := fieldAt + 1; f < fields; f++ {
		if f == fieldTTL { // after follow
			ms, rest := x.ttl(was)
			p.columns[f].put(i, ms)
			p.rest.put(i, rest)
			continue
		}
		d := x[f] - next[f]
		switch {
		case d == 0:
		case f == fieldLevel:
			p.columns[f].put(i, 1)
			p.Levels = append(p.Levels, r.Level)
		default:
			p.columns[f].put(i, d)
			next.differ(f, d)
		}
	}
	for j := 0; j < len(r.Log); j += 2 {
		p.counts.put(len(p.Log), r.Log[j+1]-1)
		p.Log = append(p.Log, r.Log[j])
	}
}

// maxTimes bounds how many times are looked through.
const maxTimes = 32

// time returns the number of a time. The keys of one round trip are read at the same one.
func (p *packer) time(at int64) int {
	for i := len(p.Times) - 1; i >= max(0, len(p.Times)-maxTimes); i-- {
		if p.Times[i] == at {
			return i
		}
	}
	p.Times = append(p.Times, at)
	return len(p.Times) - 1
}

// take returns what was put together, and begins anew.
func (p *packer) take() *pack {
	out := p.pack
	for i := len(out.Times) - 1; i > 0; i-- {
		out.Times[i] -= out.Times[i-1]
	}
	out.Columns = map[string][]int64{}
	for f, c := range p.columns {
		out.Columns[fieldNames[f]] = c.pairs
	}
	out.Columns[restName], out.Counts = p.rest.pairs, p.counts.pairs
	maps.DeleteFunc(out.Columns, func(_ string, pairs []int64) bool { return len(pairs) == 0 })
	*p = packer{pack: pack{Held: p.Held}, expected: p.expected}
	return &out
}
