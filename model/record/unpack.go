package record

import (
	"math"
	"slices"

	"ratescope/limiter"
)

// unpack takes the readings of a pack.
func (r *Reader) unpack(p *pack) error {
	for i := range p.Keys {
		if err := r.describe(&p.Keys[i]); err != nil {
			return err
		}
	}
	if len(r.batch.Readings)+len(p.IDs) > maxBatch {
		return &Damage{"a batch has no end"}
	}
	for i := 1; i < len(p.Times); i++ {
		p.Times[i] += p.Times[i-1]
	}
	u := unpacker{pack: p, rest: column{pairs: p.Columns[restName]}, counts: column{pairs: p.Counts}}
	for f, name := range fieldNames {
		if pairs := p.Columns[name]; len(pairs) > 0 {
			u.columns[f].pairs = pairs
			u.told = append(u.told, field(f))
		}
	}
	r.batch.Readings = slices.Grow(r.batch.Readings, len(p.IDs))
	id := 0
	for i, gap := range p.IDs {
		id += int(gap)
		k := r.keys[id]
		if k == nil {
			return &Damage{"a reading is of a key that was not named"}
		}
		x, err := u.next(i, k)
		if err != nil {
			return err
		}
		in := x.reading(id)
		in.Log, in.Arrivals = u.log, u.came
		if err = r.add(&in); err != nil {
			return err
		}
	}
	return u.ended()
}

// unpacker goes through the columns of a pack.
type unpacker struct {
	*pack
	columns [fields]column
	told    []field // those whose columns are not empty, in their order
	rest    column
	counts  column
	at      int64 // number of the time
	entries int   // of the log that were taken

	// Of the latest reading.
	log      []int64         // new entries, as a line has them; used again for the next
	fresh    []limiter.Entry // the same; used again, too
	came     []int64         // arrivals, as a line has them
	expected []int64         // used again
}

var errPack = &Damage{"a pack of readings does not fit together"}

// next returns the fields of reading i, which is of the key k.
func (u *unpacker) next(i int, k *known) (x row, err error) {
	was := &k.row
	var ttl, rest int64
	x = was.expected(len(k.log))
	for _, f := range u.told {
		d := u.columns[f].take(i)
		if d == 0 {
			continue
		}
		switch f {
		case fieldAt:
			u.at += d
		case fieldTTL:
			ttl, rest = d, u.rest.take(i)
		case fieldLevel:
			if len(u.Levels) == 0 {
				return x, errPack
			}
			x[f] = int64(math.Float64bits(float64(u.Levels[0])))
			u.Levels = u.Levels[1:]
		default:
			x.differ(f, d)
		}
	}
	if u.at < 0 || u.at >= int64(len(u.Times)) {
		return x, errPack
	}
	x[fieldAt] = u.Times[u.at]
	if x[fieldFresh] < 0 || x[fieldFresh] > int64(len(u.Log)) || x[fieldCame] < 0 || x[fieldCame] > maxEntries {
		return x, errPack
	}
	gaps := u.Log[:x[fieldFresh]]
	u.Log = u.Log[x[fieldFresh]:]
	u.log, u.fresh = u.log[:0], u.fresh[:0]
	kept, ok := x.kept(k.log)
	if !ok {
		return x, errPack
	}
	last := limiter.Instant(x[fieldAt])
	if len(kept) > 0 {
		last = kept[len(kept)-1].At
	}
	for _, gap := range gaps {
		n := u.counts.take(u.entries) + 1
		u.entries++
		last += limiter.Instant(gap)
		u.log = append(u.log, gap, n)
		u.fresh = append(u.fresh, limiter.Entry{At: last, Count: n})
	}
	x.follow(kept, u.fresh, &k.reading.Target)
	x.setTTL(was, ttl, rest)
	u.came = nil
	switch n := 2 * (x[fieldCame] - 1); {
	case n > int64(len(u.Arrivals)):
		return x, errPack
	case n >= 0:
		u.came, u.Arrivals = u.Arrivals[:n:n], u.Arrivals[n:]
	case !u.Held:
		u.expected = x.arrivals(u.expected[:0], was, kept, u.fresh)
		u.came = u.expected
	}
	return x, nil
}

// kept returns the entries of a log that a reading keeps; ok is false where they are not there.
func (x *row) kept(log []limiter.Entry) (kept []limiter.Entry, ok bool) {
	drop, keep := x[fieldDrop], x[fieldKeep]
	if drop < 0 || keep < 0 || drop > int64(len(log)) || keep > int64(len(log))-drop {
		return nil, false
	}
	return log[drop : drop+keep], true
}

// ended returns an error when a column says more than there are readings.
func (u *unpacker) ended() error {
	left := len(u.rest.pairs) + len(u.counts.pairs) + len(u.Levels) + len(u.Log) + len(u.Arrivals)
	for f := range u.columns {
		left += len(u.columns[f].pairs)
	}
	if left > 0 {
		return errPack
	}
	return nil
}

// describe takes in what a key is.
func (r *Reader) describe(n *named) error {
	k := r.keys[n.ID]
	switch {
	case n.Key == nil:
		return &Damage{"a key has no description"}
	case k == nil && len(r.keys) >= maxIDs:
		return &Damage{"it names more keys than any source watches"}
	case k == nil:
		k = &known{}
		r.keys[n.ID] = k
	}
	return n.Key.into(&k.reading)
}
