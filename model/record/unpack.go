package record

import (
	"math"

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
		u.columns[f].pairs = p.Columns[name]
	}
	id := 0
	for i, gap := range p.IDs {
		id += int(gap)
		k := r.keys[id]
		if k == nil {
			return &Damage{"a reading is of a key that was not named"}
		}
		in, err := u.next(i, id, k)
		if err != nil {
			return err
		}
		if err := r.add(&in); err != nil {
			return err
		}
	}
	return u.ended()
}

// unpacker goes through the columns of a pack.
type unpacker struct {
	*pack
	columns [fields]column
	rest    column
	counts  column
	at      int64 // number of the time
	entries int   // of the log that were taken

	// Of one reading, used again for the next.
	log      []int64
	fresh    []limiter.Entry
	expected []int64
}

var errPack = &Damage{"a pack of readings does not fit together"}

// next returns reading i, which is of the key k.
func (u *unpacker) next(i, id int, k *known) (reading, error) {
	var x row
	was := &k.row
	var ttl, rest int64
	for f := range fields {
		d := u.columns[f].take(i)
		switch {
		case f == fieldAt:
			if u.at += d; u.at < 0 || u.at >= int64(len(u.Times)) {
				return reading{}, errPack
			}
			x[f] = u.Times[u.at]
		case f == fieldTTL:
			ttl, rest = d, u.rest.take(i)
		case f == fieldLevel && d != 0:
			if len(u.Levels) == 0 {
				return reading{}, errPack
			}
			x[f] = int64(math.Float64bits(float64(u.Levels[0])))
			u.Levels = u.Levels[1:]
		default:
			x[f] = x.expect(f, was, len(k.log)) + d
		}
	}
	in := x.reading(id)
	if x[fieldFresh] < 0 || x[fieldFresh] > int64(len(u.Log)) || x[fieldCame] < 0 || x[fieldCame] > maxEntries {
		return reading{}, errPack
	}
	gaps := u.Log[:x[fieldFresh]]
	u.Log = u.Log[x[fieldFresh]:]
	u.log, u.fresh = u.log[:0], u.fresh[:0]
	if in.Drop < 0 || in.Keep < 0 || in.Drop > len(k.log) || in.Keep > len(k.log)-in.Drop {
		return reading{}, errPack
	}
	last, kept := in.At, k.log[in.Drop:in.Drop+in.Keep]
	if in.Keep > 0 {
		last = kept[in.Keep-1].At
	}
	for _, gap := range gaps {
		n := u.counts.take(u.entries) + 1
		u.entries++
		last += limiter.Instant(gap)
		u.log = append(u.log, gap, n)
		u.fresh = append(u.fresh, limiter.Entry{At: last, Count: n})
	}
	in.Log = u.log
	x.follow(kept, u.fresh, &k.reading.Target)
	x.setTTL(was, ttl, rest)
	in.TTL = x[fieldTTL]
	switch n := 2 * (x[fieldCame] - 1); {
	case n > int64(len(u.Arrivals)):
		return reading{}, errPack
	case n >= 0:
		in.Arrivals, u.Arrivals = u.Arrivals[:n:n], u.Arrivals[n:]
	case !u.Held:
		u.expected = x.arrivals(u.expected[:0], was, kept, u.fresh)
		in.Arrivals = u.expected
	}
	return in, nil
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
	if k == nil {
		if len(r.keys) >= maxIDs {
			return &Damage{"it names more keys than any source watches"}
		}
		k = &known{}
		r.keys[n.ID] = k
	}
	switch {
	case n.reading != nil:
		k.reading = *n.reading
	case n.Key == nil:
		return &Damage{"a key has no description"}
	default:
		return n.Key.into(&k.reading)
	}
	return nil
}
