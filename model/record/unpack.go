package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

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

// Tail keeps the latest part of what a source reports in memory, compressed as it would be
// in a file, and writes it as a recording at any time. Make one with NewTail. Not safe for
// concurrent use.
//
// It is cut where frames begin, which say where everything stood: a key that is read rarely may
// have no reading in the part that is left.
type Tail struct {
	header Header
	span   time.Duration
	bound  int

	w     *Writer
	parts []*part         // oldest first; the last one is being written
	cutAt limiter.Instant // of the latest batch when the bound last took a part; 0 never
}

// part is a frame.
type part struct {
	at      limiter.Instant // of its first batch
	content bytes.Buffer
	batches int
}

// NewTail returns a Tail of the last span, or of less where that takes more than so many
// bytes. Of h the instant and the server are set from what is written. With Mask, names are hidden by WriteTo alone.
func NewTail(h Header, span time.Duration, bytes int) *Tail {
	t := &Tail{header: h, span: span, bound: bytes}
	t.w = newWriter(io.Discard, true)
	t.w.zip, _ = gzip.NewWriterLevel(t.w.out, gzip.BestSpeed) // there is such a level
	t.w.framing = t.cut
	return t
}

// Write takes in a batch, which must not be changed later. An error is final. A batch without an instant, from
// before the server's first answer, is left out: a recording that began with it would begin in 1970.
func (t *Tail) Write(b model.Batch) error {
	if b.At == 0 {
		return nil
	}
	if err := t.w.Write(b); err != nil {
		return err
	}
	t.parts[len(t.parts)-1].batches++
	t.trim()
	return nil
}

// cut begins a part: a Writer calls it when it begins a frame.
func (t *Tail) cut(at limiter.Instant) {
	p := &part{at: at}
	if n := len(t.parts); n > 0 { // what a buffer has room for beside, a part that is over needs not
		t.parts[n-1].content = *bytes.NewBuffer(bytes.Clone(t.parts[n-1].content.Bytes()))
	}
	t.parts = append(t.parts, p)
	t.w.under.w = &p.content
}

// trim lets go of what is too old or too much. What is being written stays, and is cut when
// it alone is too much.
func (t *Tail) trim() {
	size := t.Size()
	for len(t.parts) > 1 && (size > t.bound || t.w.last.At.Sub(t.parts[1].at) >= t.span) {
		if t.w.last.At.Sub(t.parts[1].at) < t.span {
			t.cutAt = t.w.last.At
		}
		size -= t.parts[0].content.Len()
		t.parts[0] = nil
		t.parts = t.parts[1:]
	}
	if p := t.parts[len(t.parts)-1]; p.content.Len() > t.bound/partsOfBound {
		t.w.again = true
	}
}

// partsOfBound is how many parts there are at least where there is as much as may be kept.
const partsOfBound = 8

// Cut reports whether less than the span is kept because more would take too many bytes.
func (t *Tail) Cut() bool { return t.cutAt != 0 && t.w.last.At.Sub(t.cutAt) < t.span }

// Size returns how many bytes are kept.
func (t *Tail) Size() int {
	return collect.Sum(t.parts, func(p *part) int { return p.content.Len() })
}

// Begin returns the instant from which on everything is kept; 0 before the first batch.
func (t *Tail) Begin() limiter.Instant {
	if len(t.parts) == 0 {
		return 0
	}
	return t.parts[0].at
}

// WriteTo writes what is kept as a recording that is finished; t goes on. Before the first
// batch it writes a recording of none.
func (t *Tail) WriteTo(out io.Writer) (int64, error) {
	counted := &counter{w: out}
	kept, err := t.from(t.Begin())
	if err != nil {
		return 0, err
	}
	if !t.header.Mask {
		_, err = io.Copy(counted, kept)
		return counted.n, err
	}
	in, _ := NewReader(kept) // it has a first line
	in.header.Mask = true
	w, err := NewWriter(counted, true, in.header)
	for err == nil {
		var b model.Batch
		if b, err = in.Next(); err == nil {
			err = w.Write(b)
		}
	}
	if err == io.EOF {
		err = w.Close()
	}
	return counted.n, err
}

// From returns a reader of what is kept from the frame before an instant on, or from the first one, with whole names. It may be used
// while t goes on.
func (t *Tail) From(at limiter.Instant) (*Reader, error) {
	kept, err := t.from(at)
	if err != nil {
		return nil, err
	}
	return NewReader(kept)
}

// from returns the recording that From reads.
func (t *Tail) from(at limiter.Instant) (io.Reader, error) {
	if err := t.w.finish(); err != nil {
		return nil, err
	}
	t.w.again = true
	h := t.header
	h.At, h.Server, h.Mask = t.Begin(), t.w.last.Server, false
	var head, end bytes.Buffer
	first, _ := NewWriter(&head, true, h) // in memory no writer fails
	_ = first.finish()
	all, last := []io.Reader{&head}, newWriter(&end, true)
	for i, p := range t.parts {
		if i+1 == len(t.parts) || t.parts[i+1].at > at {
			all = append(all, bytes.NewReader(p.content.Bytes()))
			last.batches += p.batches
		}
	}
	_ = last.Close()
	return io.MultiReader(append(all, &end)...), nil
}

// newWriter returns a Writer without the first line of a recording.
func newWriter(w io.Writer, compress bool) *Writer {
	r := &Writer{under: &counter{w: w}, keys: map[string]*written{}, seen: map[string]bool{}}
	r.out = bufio.NewWriterSize(r.under, 64<<10)
	if compress {
		r.zip = gzip.NewWriter(r.out)
	}
	return r
}
