package record

import (
	"encoding/json"
	"io"
	"math"
	"slices"

	"ratescope/limiter"
	"ratescope/model"
)

// unpack takes the readings of a pack.
func (r *Reader) unpack(p *pack) error {
	for _, n := range p.Keys {
		var k *key
		if json.Unmarshal(n.Key, &k) != nil {
			return errLine
		}
		if err := r.describe(n.ID, k); err != nil {
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
			return errUnnamed
		}
		entries := len(k.log)
		x, in, err := u.next(i, k)
		if err == nil {
			err = r.take(k, &x, &in, entries)
		}
		if err != nil {
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

	log, came []int64 // of the latest reading: new entries and arrivals, as a line has them; used again for the next
}

var errPack = &Damage{"a pack of readings does not fit together"}

// next returns reading i, which is of the key k, and its fields. It extends the log of k.
func (u *unpacker) next(i int, k *known) (x row, in reading, err error) {
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
				return x, in, errPack
			}
			x[f] = int64(math.Float64bits(float64(u.Levels[0])))
			u.Levels = u.Levels[1:]
		default:
			x.differ(f, d)
		}
	}
	if u.at < 0 || u.at >= int64(len(u.Times)) {
		return x, in, errPack
	}
	x[fieldAt] = u.Times[u.at]
	if x[fieldFresh] < 0 || x[fieldFresh] > int64(len(u.Log)) || x[fieldCame] < 0 || x[fieldCame] > maxEntries {
		return x, in, errPack
	}
	u.log = u.log[:0]
	for _, gap := range u.Log[:x[fieldFresh]] {
		u.log = append(u.log, gap, u.counts.take(u.entries)+1)
		u.entries++
	}
	u.Log = u.Log[x[fieldFresh]:]
	in = x.reading()
	in.Log = u.log
	if err := k.extend(&in); err != nil {
		return x, in, err
	}
	x.follow(k.log, &k.reading.Target)
	x.setTTL(was, ttl, rest)
	in.TTL = x[fieldTTL]
	switch n := 2 * (x[fieldCame] - 1); {
	case n > int64(len(u.Arrivals)):
		return x, in, errPack
	case n >= 0:
		in.Arrivals, u.Arrivals = u.Arrivals[:n:n], u.Arrivals[n:]
	case !u.Held:
		u.came = x.arrivals(u.came[:0], was, k.log[:in.Keep], k.log[in.Keep:])
		in.Arrivals = u.came
	}
	return x, in, nil
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
func (r *Reader) describe(id int, as *key) error {
	k := r.keys[id]
	switch {
	case as == nil:
		return &Damage{"a key has no description"}
	case k == nil && len(r.keys) >= maxIDs:
		return &Damage{"it names more keys than any source watches"}
	case k == nil:
		k = &known{}
		r.keys[id] = k
	}
	return as.into(&k.reading)
}

// BoardAt reads on to a moment and returns the board as it stood then, with what came since the
// reader began on its timelines. Of what came before since, the board is told as one batch, as a slow
// screen is. Next returns the batch that comes after the moment.
func (r *Reader) BoardAt(to, since limiter.Instant) (*model.Board, error) {
	board, waits := &model.Board{}, model.Batch{}
	for begun := false; ; begun = true {
		was := r.latest
		b, err := r.Next()
		if err == nil && begun && r.latest.moment > to {
			r.ahead, r.latest, err = &told{b, r.latest.moment, r.latest.place}, was, io.EOF
		}
		switch {
		case err != nil && !begun:
			return nil, err
		case err != nil:
			board.Apply(waits)
			return board, nil
		case begun && r.latest.moment > since:
			board.Apply(waits)
			waits = b
		default:
			waits.Merge(b)
		}
	}
}
