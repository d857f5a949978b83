package record

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/scenario"
	"ratescope/model"
)

// ErrNotRecording is in the error of a file that is something else.
var ErrNotRecording = errors.New("this is no recording: give a file that \"ratescope record\" wrote")

// Damage is the error of a recording that cannot be read on: it was cut off, or something
// wrote into it. What came before is whole.
type Damage struct{ Why string }

func (d *Damage) Error() string { return "the recording ends too soon: " + d.Why }

// Recognize says whether the first bytes of a file may be those of a recording; a few
// dozen are enough.
func Recognize(head []byte) bool {
	return bytes.HasPrefix(head, []byte(magic)) || bytes.HasPrefix(head, []byte(gzipMagic))
}

const (
	magic     = `{"recording":{`
	gzipMagic = "\x1f\x8b"
)

// Reader reads a recording from its beginning, or from one of its frames. Make one with
// NewReader, or with File.From. Not safe for concurrent use.
type Reader struct {
	lines  *lines
	header Header

	keys    map[int]*known
	entries int  // of the logs of all keys
	fresh   int  // arrivals and levels of the batch in the making
	lost    bool // a line could not be read: what follows is skipped up to the next frame
	server  model.Server
	sweep   model.Sweep
	batch   model.Batch // in the making
	frame   int         // the number of the frame; -1 before the first
	number  int         // of the batch in its frame
	clock   clock
	held    bool  // what is told again at the beginning of a frame is news: nothing was read before
	latest  told  // what Next returned last, without its batch
	ahead   *told // what Next returns next, where BoardAt has read it already
	done    error
}

// told is a batch, and where and when it was seen.
type told struct {
	batch  model.Batch
	moment limiter.Instant
	place  Place
}

// known is what was read of a key.
type known struct {
	reading model.Reading // without what every reading says anew
	log     []limiter.Entry
	row     row // of the latest reading
}

// NewReader reads the first line. The error is ErrNotRecording, or says what else is
// wrong with it.
func NewReader(r io.Reader) (*Reader, error) {
	in, err := linesOf(r)
	if err != nil {
		return nil, err
	}
	rd := &Reader{lines: in, keys: map[int]*known{}, frame: -1, held: true}
	first, err := in.next()
	if err != nil {
		return nil, ErrNotRecording
	}
	if rd.header, err = headerOf(first); err != nil {
		return nil, err
	}
	return rd, nil
}

func headerOf(text []byte) (Header, error) {
	var l line
	if !bytes.HasPrefix(text, []byte(magic)) || json.Unmarshal(text, &l) != nil || l.Recording == nil {
		return Header{}, ErrNotRecording
	}
	o := l.Recording
	if o.Version < 1 || o.Version > Version {
		return Header{}, fmt.Errorf("the recording is of version %d, written by %q, and this program reads up to version %d: use a newer "+
			"ratescope",
			o.Version, string(o.By[:min(len(o.By), 64)]), Version)
	}
	h := Header{By: string(o.By), At: o.At, Watch: as[string](o.Watch), Rules: as[string](o.Rules), Mask: o.Masked}
	if o.Server != nil {
		h.Server = *o.Server
	}
	return h, nil
}

// Header returns what the first line said.
func (r *Reader) Header() Header { return r.header }

// Moment returns when the batch that was read last was seen, on the server's clock. It
// goes on while the server is away, and ascends but for a clock that was set back.
func (r *Reader) Moment() limiter.Instant { return r.latest.moment }

// Place is where in a file a batch is: the number of its frame, and its own in that, from 1. What a
// frame begins with, where everything stood, is number 0.
type Place struct{ Frame, Number int }

// Compare returns -1, 0 or 1 for a place that is before another, the same, or after it.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Frame, other.Frame), cmp.Compare(p.Number, other.Number))
}

// Place returns that of the batch that was read last.
func (r *Reader) Place() Place { return r.latest.place }

// Next returns the next batch. It returns io.EOF after the last one of a recording that
// was finished, and a *Damage after the last whole one of another; both for ever after.
// After a line that cannot be read it goes on with the next frame, because what comes
// before that may refer to the line. A batch shares nothing that is written to later.
func (r *Reader) Next() (model.Batch, error) {
	if next := r.ahead; next != nil {
		r.ahead, r.latest = nil, told{moment: next.moment, place: next.place}
		return next.batch, nil
	}
	for r.done == nil {
		text, err := r.lines.next()
		if err != nil && err != errLine {
			r.done = damage(err)
			break
		}
		closed := false
		if err == nil {
			closed, err = r.read(text)
		}
		switch {
		case err == io.EOF:
			r.done = err
		case err != nil:
			r.lost = true
		case closed:
			b := r.batch
			r.batch, r.latest = model.Batch{}, told{moment: r.clock.at, place: Place{r.frame, r.number}}
			return b, nil
		}
	}
	return model.Batch{}, r.done
}

// damage returns why no further line can be read.
func damage(err error) *Damage {
	if d := (*Damage)(nil); errors.As(err, &d) {
		return d
	}
	switch {
	case err == nil, err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return &Damage{"the file was cut off"}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return &Damage{"it cannot be uncompressed further"}
	}
	return &Damage{err.Error()}
}

// read takes one line and reports whether it closed a batch.
func (r *Reader) read(b []byte) (closed bool, err error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return false, errLine
	}
	switch {
	case l.End != nil:
		return false, io.EOF
	case l.Anew != nil:
		clear(r.keys)
		r.entries, r.fresh, r.lost = 0, 0, false
		r.frame++
		r.number = 0
		r.server, r.sweep, r.batch = model.Server{}, model.Sweep{}, model.Batch{}
	case r.lost:
	case l.Reading != nil:
		if len(r.batch.Readings) >= maxBatch {
			return false, &Damage{"a batch has no end"}
		}
		return false, r.add(l.Reading)
	case l.Pack != nil:
		return false, r.unpack(l.Pack)
	case l.Batch != nil:
		r.clock.moment(l.Batch)
		r.close(l.Batch)
		r.number++
		r.held, r.fresh = false, 0
		return true, nil
	case l.Held != nil:
		if r.held {
			r.clock.moment(l.Held)
		}
		r.close(l.Held)
		if r.held {
			r.held, r.fresh = false, 0
			return true, nil
		}
		r.fresh, r.batch = 0, model.Batch{}
	}
	return false, nil // what a later version may say beside
}

func groups(list []keyGroup) (out []model.KeyGroup) {
	for _, g := range list {
		algorithm, _ := limiter.ParseAlgorithm(g.Algorithm) // of a later version: unknown
		out = append(out, model.KeyGroup{Pattern: string(g.Pattern), Example: string(g.Example), Keys: g.Keys, Library: string(g.Library),
			Evidence: min(model.Evidence(g.Evidence), model.Likely), Algorithm: algorithm, Why: as[string](g.Why)})
	}
	return out
}

func (r *Reader) close(b *batch) {
	if b.Server != nil {
		r.server = *b.Server
	}
	if p := b.Sweep; p != nil {
		r.sweep = p.Sweep
		r.sweep.Patterns, r.sweep.Pace = as[string](p.Patterns), min(p.Pace, model.PaceBusy)
		r.sweep.Beyond, r.sweep.Candidates = groups(p.Beyond), groups(p.Candidates)
	}
	out := &r.batch
	out.At, out.Server, out.Sweep = b.At, r.server, r.sweep
	out.Sweep.Behind = max(b.Behind, 0)
	if b.Local != 0 {
		out.Local = time.Unix(0, b.Local)
	}
	s := &out.Server
	s.Link, s.Err = min(model.Link(b.Link), model.Down), string(b.Err)
	s.RTT, s.Down, s.Silent = time.Duration(b.RTT), time.Duration(b.Down), b.Silent
	s.Offset, s.OffsetBy = time.Duration(b.Offset), time.Duration(b.OffBy)
	out.Cost = model.Cost{Commands: b.Cost[0], Server: time.Duration(b.Cost[1]), Over: time.Duration(b.Cost[2])}
	out.Gone, out.LeftOut = as[string](b.Gone), as[string](b.Left)
	out.Health, out.HotKeys, out.Fired = b.Health.model(), b.Hot.model(r.keys), modelOf(b.Fired)
}

// add takes a reading on a line of its own into the batch in the making.
func (r *Reader) add(in *reading) error {
	if in.Key != nil {
		if err := r.describe(in.ID, in.Key); err != nil {
			return err
		}
	}
	k := r.keys[in.ID]
	if k == nil {
		return errUnnamed
	}
	if len(in.Log)%2+len(in.Arrivals)%2+len(in.Trace)%3 != 0 || len(in.Log)/2 > maxEntries || len(in.Arrivals)/2 > maxEntries ||
		len(in.Trace)/3 > maxEntries {
		return &Damage{"a reading has half a pair, or too many"}
	}
	entries := len(k.log)
	if err := k.extend(in); err != nil {
		return err
	}
	x, _ := rowOf(in)
	x.follow(k.log, &k.reading.Target)
	return r.take(k, &x, in, entries)
}

var errUnnamed = &Damage{"a reading is of a key that was not named"}

// take takes in a reading of a key whose log had so many entries before, and has those of the reading now.
func (r *Reader) take(k *known, x *row, in *reading, entries int) error {
	x.expire(&k.row)
	k.row = *x
	r.fresh += len(in.Arrivals)/2 + len(in.Trace)/3
	r.entries += len(k.log) - entries
	switch {
	case r.fresh > maxFresh:
		return &Damage{"a batch holds more than any source reports"}
	case r.entries > maxHeld:
		return &Damage{"its logs are larger than any server's"}
	}
	r.batch.Readings = append(r.batch.Readings, k.told(in))
	return nil
}

// told returns the reading that a line tells, whose log was extended.
func (k *known) told(in *reading) model.Reading {
	out := k.reading
	out.At, out.Since, out.TTL, out.Ends = in.At, in.Since, time.Duration(in.TTL), in.Ends
	out.Partial = in.Flags&flagPartial != 0
	out.Approximate, out.PreviousKnown, out.ExactKnown = in.Flags&flagApproximate != 0, in.Flags&flagPrevious != 0, in.Flags&flagExact != 0
	s := &out.State
	s.Start, s.Previous, s.Current, s.PreviousStart = in.Start, in.Previous, in.Current, in.Before
	s.TAT, s.Level, s.Filled, s.Part, s.Parts, s.BlockedUntil = in.TAT, float64(in.Level), in.Filled, in.Part, in.Parts, in.Blocked
	if in.Denied != nil {
		out.Denied = model.Count{Known: true, N: *in.Denied}
	}
	if in.Flags&flagLog != 0 {
		s.Log = k.log[:len(k.log):len(k.log)]
		if s.Log == nil {
			s.Log = []limiter.Entry{}
		}
	}
	for p := range slices.Chunk(in.Arrivals, 2) {
		out.Arrivals = append(out.Arrivals, model.Arrival{At: in.At - limiter.Instant(p[0]), N: p[1] >> 1, Denied: p[1]&1 == 1})
	}
	for p := range slices.Chunk(in.Trace, 3) {
		l := model.Level{At: in.At - limiter.Instant(p[0]), Used: p[2]}
		if p[1] != -1 {
			l.Since = l.At - limiter.Instant(p[1])
		}
		out.Trace = append(out.Trace, l)
	}
	return out
}

// extend brings the log forward. What was handed out before is not written to: entries
// are only appended behind it, and everything else makes a new slice.
func (k *known) extend(in *reading) error {
	old := k.log
	if in.Drop < 0 || in.Keep < 0 || in.Drop > len(old) || in.Keep > len(old)-in.Drop {
		return &Damage{"a log refers to entries that are not there"}
	}
	log := old[in.Drop : in.Drop+in.Keep]
	if len(log) < len(old)-in.Drop || cap(log) > 4*len(log)+4096 {
		log = slices.Clone(log)
	}
	last := in.At
	if len(log) > 0 {
		last = log[len(log)-1].At
	}
	if len(log)+len(in.Log)/2 > maxEntries {
		return errLong
	}
	for p := range slices.Chunk(in.Log, 2) {
		last += limiter.Instant(p[0])
		log = append(log, limiter.Entry{At: last, Count: p[1]})
	}
	k.log = log
	return nil
}

var errLong = &Damage{"a log is longer than any server's"}

func (k *key) into(r *model.Reading) error {
	c, err := scenario.ParseWords(k.Convention)
	if err != nil {
		return &Damage{err.Error()}
	}
	t := model.Target{
		Inferred: k.Inferred, Window: time.Duration(k.Window), Convention: c, Tick: max(time.Duration(k.Tick), 0),
		LimitKnown: k.Limit != nil, Limit: limiter.Limit{Count: k.Unproven, Window: time.Duration(k.Per), Burst: k.Burst},
		Ruled: k.Ruled, Described: k.Described, Library: string(k.Library), Evidence: min(model.Evidence(k.Evidence), model.Likely),
		LimitFrom: min(model.LimitFrom(k.LimitFrom), model.LimitInferred), Exact: k.Exact, Base: string(k.Base),
		LimitKey: string(k.LimitKey),
		Layout:   layout.Layout{Unit: time.Duration(k.Unit), Suffixed: k.Suffixed, NoTotals: k.NoTotals, PerUnit: k.Units},
	}
	if k.Limit != nil {
		t.Limit.Count = *k.Limit
	}
	if t.Algorithm, err = algorithm(k.Algorithm); err != nil {
		return err
	}
	*r = model.Reading{Key: string(k.Name), Type: string(k.Type), Target: t, Members: as[string](k.Members), Why: as[string](k.Why),
		Unsettled: as[string](k.Unsettled), Pattern: string(k.Pattern), Notes: as[model.Note](k.Notes), Err: string(k.Err)}
	r.State.Algorithm = t.Algorithm
	if k.State != "" {
		r.State.Algorithm, err = algorithm(k.State)
	}
	return err
}

// algorithm is that of a name; "" and unknown are none.
func algorithm(name string) (limiter.Algorithm, error) {
	if name == "" || name == limiter.Unknown.String() {
		return limiter.Unknown, nil
	}
	a, err := limiter.ParseAlgorithm(name)
	if err != nil {
		return a, &Damage{err.Error()}
	}
	return a, nil
}
