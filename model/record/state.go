package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"ratescope/limiter"
	"ratescope/model"
)

// sum is what was read of a key by StateAt.
type sum struct {
	last  reading         // the latest, without lists
	since limiter.Instant // from here on came is complete; 0 only the latest was seen
	came  []model.Arrival
}

// StateAt reads on to a moment and returns where everything stood then, as one batch: the latest
// reading of every key with what arrived since the reader began, the requests that were fired
// since, and the latest look at the server. The levels in between are left out, which is what
// makes it fast: it takes a tenth of the time in which every batch is read and applied. Next
// returns the batch that comes after the moment. After an error nothing more can be read.
func (r *Reader) StateAt(to limiter.Instant) (model.Batch, error) {
	r.total = &model.Batch{}
	defer func() { r.total = nil }()
	for begun := false; ; {
		end, err := r.gather()
		if err == nil && begun && end != nil {
			if clock := r.clock; clock.moment(end) > to {
				return r.state(), nil
			}
		}
		if err == nil {
			err = r.readQueue(end)
		}
		switch {
		case err == nil:
			begun = begun || end != nil
		case begun && r.done != nil:
			return r.state(), nil
		default:
			r.done = cmp.Or(r.done, error(damage(err)))
			return model.Batch{}, r.done
		}
	}
}

const heldPrefix = `{"held":`

// gather puts the lines up to the end of a batch or the beginning of a frame into r.queue, and
// returns what ends the batch.
func (r *Reader) gather() (end *closing, err error) {
	for {
		text, err := r.lines.next()
		if err != nil {
			if r.queue = nil; err != errLine {
				r.done = damage(err)
			}
			return nil, err
		}
		r.queue = append(r.queue, bytes.Clone(text))
		switch {
		case bytes.HasPrefix(text, []byte(heldPrefix)), bytes.HasPrefix(text, []byte(`{"b":`)):
			var l struct {
				Batch *closing `json:"b"`
				Held  *closing `json:"held"`
			}
			if json.Unmarshal(text, &l) != nil {
				return nil, errLine
			}
			return cmp.Or(l.Batch, l.Held), nil
		case bytes.HasPrefix(text, []byte(`{"end":`)):
			return nil, nil
		case bytes.HasPrefix(text, []byte(`{"anew":`)): // what is told again is all there is
			r.held, *r.total, r.long = true, model.Batch{}, [2][]byte{}
			return nil, nil
		}
	}
}

// readQueue takes the lines that were gathered. Of what ends a batch the long parts are put off,
// because only the last ones count.
func (r *Reader) readQueue(end *closing) error {
	for i, text := range r.queue {
		if end != nil && i == len(r.queue)-1 {
			for j, part := range [...]string{`"health":{`, `"hot":{`} {
				if bytes.Contains(text, []byte(part)) {
					r.long[j] = text
				}
			}
			r.clock.moment(end)
			r.close(&batch{closing: *end})
			if r.held = false; !bytes.HasPrefix(text, []byte(heldPrefix)) {
				r.number++
			}
			r.addUp()
		} else if _, err := r.read(text); err != nil {
			if err == io.EOF {
				r.done = err
			}
			return err
		}
	}
	r.queue = r.queue[:0]
	return nil
}

// add takes a reading into the batch in the making or, for StateAt, to what was read of its key.
func (r *Reader) add(in *reading) error {
	k, err := r.accept(in)
	if err != nil {
		return err
	}
	if r.total == nil {
		r.batch.Readings = append(r.batch.Readings, k.told(in))
		return nil
	}
	s := k.sum
	switch {
	case s == nil:
		s = &sum{since: in.Since}
		k.sum = s
	case in.Since == 0 || in.Since != s.last.At: // it was not watched all along
		s.since = in.Since
	case s.since == 0:
		s.since = in.Since
	}
	s.came = arrivals(s.came, in)
	s.last = *in
	s.last.Arrivals, s.last.Trace, s.last.Log = nil, nil, nil
	return nil
}

// total is brought forward by a batch that ended.
func (r *Reader) addUp() {
	b, t := &r.batch, r.total
	fired := append(t.Fired, b.Fired...)
	if len(b.Gone)+len(b.LeftOut) > 0 {
		gone := map[string]bool{}
		for _, list := range [...][]string{b.Gone, b.LeftOut} {
			for _, name := range list {
				gone[name] = true
			}
		}
		for _, k := range r.keys {
			if gone[k.reading.Key] {
				k.sum = nil
			}
		}
	}
	*t = *b
	t.Fired, t.Gone, t.LeftOut, t.Cost = fired[max(0, len(fired)-maxFired):], nil, nil, model.Cost{}
	*b = model.Batch{}
}

// state returns what was added up.
func (r *Reader) state() model.Batch {
	b := *r.total
	for _, text := range r.long {
		var l line
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		if end := cmp.Or(l.Batch, l.Held); end != nil {
			b.Health = cmp.Or(end.Health.model(), b.Health)
			b.HotKeys = cmp.Or(end.Hot.model(r.nameOf), b.HotKeys)
		}
	}
	for _, k := range r.keys {
		if k.sum == nil {
			continue
		}
		reading := k.told(&k.sum.last)
		reading.Since, reading.Arrivals = k.sum.since, k.sum.came
		k.sum = nil
		b.Readings = append(b.Readings, reading)
	}
	slices.SortFunc(b.Readings, func(x, y model.Reading) int { return strings.Compare(x.Key, y.Key) })
	return b
}
