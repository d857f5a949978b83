package record

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model"
	"ratescope/model/collect"
)

// Header is what a recording says about itself.
type Header struct {
	By     string          // what wrote it
	At     limiter.Instant // when it begins
	Server model.Server    // as it was then: Target, Embedded, Role and Version
	Watch  []string        // patterns of the keys; none is every key
	Rules  []string        // how keys were said to be limited, one text each
	Mask   bool            // a Writer hides the middle of every key's name
}

// Intervals of the server's clock.
const (
	frameEvery = 30 * time.Second // between two frames
	flushEvery = time.Second      // between two flushes of the compressor
)

// Writer writes a recording. Make one with NewWriter. Not safe for concurrent use.
type Writer struct {
	under   *counter
	out     *bufio.Writer
	zip     *gzip.Writer // nil: not compressed
	scratch bytes.Buffer

	frames  int
	framed  limiter.Instant
	flushed limiter.Instant
	pack    packer
	keys    map[string]*written
	ids     int         // given in this frame
	last    model.Batch // the latest, without its readings, with the latest Health and HotKeys
	server  string      // as last written
	sweep   string

	mask             *Masker               // nil: names are written as they are
	framing          func(limiter.Instant) // called before a frame begins, when all before it is out; nil: not
	again            bool                  // the next batch begins a frame
	batches, skipped int
	seen             map[string]bool
	err              error
}

// written is what was told of a key.
type written struct {
	id        int             // in the frame; -1 none yet
	described []byte          // how it was described, as JSON; nil before it was
	reading   *model.Reading  // the latest, without what it alone brought
	row       row             // of the latest in the frame
	log       []limiter.Entry // of the latest in the frame
}

// maxUnits is the most that an arrival can say.
const maxUnits = 1 << 61

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// NewWriter begins a recording on w with its first line.
func NewWriter(w io.Writer, compress bool, h Header) (*Writer, error) {
	r := newWriter(w, compress)
	if h.Mask {
		r.mask = NewMasker()
		h.Rules, h.Watch = nil, r.mask.Patterns(h.Watch)
	}
	r.put(line{Recording: &opening{
		Version: Version, By: text(h.By), At: h.At, Server: &h.Server, Watch: as[text](h.Watch), Rules: as[text](h.Rules),
		Masked: h.Mask}})
	r.flush((*gzip.Writer).Flush)
	return r, r.err
}

// Write appends a batch. An error is final.
func (w *Writer) Write(b model.Batch) error {
	b = w.mask.Batch(b)
	if far := b.At.Sub(w.framed); w.frames == 0 || w.again || far >= frameEvery || far <= -frameEvery || w.ids >= maxIDs-len(b.Readings) {
		w.frame(b.At)
	}
	for i := range b.Readings[:min(len(b.Readings), maxBatch)] {
		w.reading(&b.Readings[i])
	}
	w.packed()
	w.skipped += max(len(b.Readings)-maxBatch, 0)
	end := w.batch(&b)
	if !w.put(line{Batch: end}) { // what can be long without end is not what matters
		end.Health, end.Hot, end.Gone, end.Left, end.Fired = nil, nil, nil, nil, nil
		w.put(line{Batch: end})
	}
	w.keep(&b)
	w.batches++
	far := b.At.Sub(w.flushed)
	if w.framing == nil && (w.zip == nil || far >= flushEvery || far <= -flushEvery) { // a Tail takes all when it is wanted
		w.flushed = b.At
		w.flush((*gzip.Writer).Flush)
	}
	return w.err
}

// Close ends the recording with its last line. What is under it is not closed.
func (w *Writer) Close() error {
	w.put(line{End: &ending{w.batches}})
	return w.finish()
}

// finish writes out everything that was put. What is compressed ends.
func (w *Writer) finish() error {
	w.flush((*gzip.Writer).Close)
	return w.err
}

// Batches returns how many were written.
func (w *Writer) Batches() int { return w.batches }

// Keys returns how many keys were in them.
func (w *Writer) Keys() int { return len(w.seen) }

// Bytes returns how many bytes went out so far.
func (w *Writer) Bytes() int64 { return w.under.n }

// Skipped returns how many readings were left out because they fit in no line.
func (w *Writer) Skipped() int { return w.skipped }

// flush writes out what was put, as far as the compressor gives it.
func (w *Writer) flush(zip func(*gzip.Writer) error) {
	if w.zip != nil && w.err == nil {
		w.err = zip(w.zip)
	}
	if w.err == nil {
		w.err = w.out.Flush()
	}
}

// fail notes that a line cannot be made.
func (w *Writer) fail(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("what was seen cannot be written down: %w", err)
	}
}

// frame begins a part that can be read without what is before it.
func (w *Writer) frame(at limiter.Instant) {
	if w.zip != nil && w.err == nil {
		w.err = w.zip.Close()
		w.zip.Reset(w.out)
	}
	if w.framing != nil && w.err == nil {
		w.err = w.out.Flush()
		w.framing(at)
	}
	w.again = false
	w.ids, w.server, w.sweep = 0, "", ""
	w.framed = at
	n := w.frames
	w.frames++
	w.put(line{Anew: &n})
	w.hold()
}

// put writes a line, and says whether it is short enough to be one.
func (w *Writer) put(l line) bool {
	w.scratch.Reset()
	e := json.NewEncoder(&w.scratch) // ends the line
	e.SetEscapeHTML(false)
	w.fail(e.Encode(l))
	if w.scratch.Len() > MaxLine {
		return false
	}
	w.write(w.scratch.Bytes())
	return true
}

// write writes a line that has its end.
func (w *Writer) write(text []byte) {
	switch {
	case w.err != nil:
	case w.zip != nil:
		_, w.err = w.zip.Write(text)
	default:
		_, w.err = w.out.Write(text)
	}
}

// keep notes where a batch leaves everything.
func (w *Writer) keep(b *model.Batch) {
	was := w.last
	w.last = model.Batch{At: b.At, Local: b.Local, Server: b.Server, Sweep: b.Sweep, Health: cmp.Or(b.Health, was.Health),
		HotKeys: cmp.Or(b.HotKeys, was.HotKeys)}
	for _, name := range slices.Concat(b.Gone, b.LeftOut) {
		delete(w.keys, name)
	}
}

// hold tells where everything stands, in the order of the names of keys.
func (w *Writer) hold() {
	if w.batches == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(w.keys))
	was := w.keys
	w.keys = make(map[string]*written, len(was))
	if len(names) > maxHold {
		names = nil // they are told when they are read
	}
	w.pack.Held = true
	for _, name := range names {
		k := was[name]
		w.keys[name] = &written{id: -1, described: k.described, reading: k.reading}
		w.reading(k.reading)
	}
	w.packed()
	w.pack.Held = false
	w.put(line{Held: w.batch(&w.last)})
}

func (w *Writer) batch(b *model.Batch) *batch {
	s := &b.Server
	out := &batch{Health: healthOf(b.Health), Hot: hotOf(b.HotKeys, w.keys),
		At: b.At, Link: uint8(s.Link), Err: text(s.Err), RTT: int64(s.RTT), Offset: int64(s.Offset), OffBy: int64(s.OffsetBy),
		Down: int64(s.Down), Silent: s.Silent,
		Cost: [3]int64{b.Cost.Commands, int64(b.Cost.Server), int64(b.Cost.Over)}, Gone: as[text](b.Gone), Left: as[text](b.LeftOut),
		Fired: firedOf(b.Fired), Behind: b.Sweep.Behind,
	}
	if !b.Local.IsZero() {
		out.Local = b.Local.UnixNano()
	}
	out.Server = changed(&w.server, s)
	p := &b.Sweep
	out.Sweep = changed(&w.sweep, &sweep{*p, as[text](p.Patterns), groupsOf(p.Beyond), groupsOf(p.Candidates)})
	return out
}

func groupsOf(list []model.KeyGroup) (out []keyGroup) {
	for _, g := range list {
		out = append(out, keyGroup{text(g.Pattern), text(g.Example), g.Keys, text(g.Library), uint8(g.Evidence), g.Algorithm.String(),
			as[text](g.Why)})
	}
	return out
}

// changed returns v when it is not spelled as was, and nil when it is.
func changed[T any](was *string, v *T) *T {
	spelled, err := json.Marshal(v)
	if err == nil && string(spelled) == *was {
		return nil
	}
	*was = string(spelled)
	return v
}

// alike says whether two readings of a key are described by the same words.
func alike(x, y *model.Reading) bool {
	return x.Target == y.Target && x.Type == y.Type && x.Err == y.Err && x.Pattern == y.Pattern && x.State.Algorithm == y.State.Algorithm &&
		slices.Equal(x.Members, y.Members) && slices.Equal(x.Why, y.Why) && slices.Equal(x.Unsettled, y.Unsettled) &&
		slices.Equal(x.Notes, y.Notes)
}

// reading writes one reading, in terms of the one before of the same key.
func (w *Writer) reading(r *model.Reading) {
	k := w.keys[r.Key]
	if k == nil {
		k = &written{id: -1}
	}
	text, described := k.described, k.described != nil && alike(k.reading, r)
	if !described {
		var err error
		text, err = json.Marshal(keyOf(r))
		w.fail(err)
	}
	out := wireReading(r)
	if out.ID = k.id; k.id < 0 {
		out.ID, described = w.ids, false
	}
	out.Drop, out.Keep, out.Log = delta(k.log, r.State.Log, r.At)
	x, packs := rowOf(out)
	x.follow(r.State.Log, &r.Target)
	if len(out.Log)+len(out.Arrivals) > maxPackedOne || len(text) > maxPackedKeys {
		packs = false
	}
	if packs {
		if p := &w.pack; len(p.IDs)+len(p.Log)+len(p.Arrivals) > maxPacked-maxPackedOne || p.size > maxPackedKeys {
			w.packed()
		}
		if !described {
			w.pack.Keys = append(w.pack.Keys, named{out.ID, text})
			w.pack.size += len(text)
		}
		w.pack.add(out, &x, &k.row, len(k.log), r.State.Log)
	} else if !w.alone(out, r, described) {
		w.skipped++
		return
	}
	if k.id < 0 {
		k.id = w.ids
		w.ids++
	}
	x.expire(&k.row)
	still := *r
	still.Arrivals, still.Trace, still.Since = nil, nil, 0
	k.described, k.row, k.log, k.reading = text, x, r.State.Log, &still
	w.keys[r.Key] = k
	if len(w.seen) < maxIDs {
		w.seen[r.Key] = true
	}
}

// alone writes a reading on a line of its own, and says whether it fits there.
func (w *Writer) alone(out *reading, r *model.Reading, described bool) bool {
	if !described {
		out.Key = keyOf(r)
	}
	text, err := json.Marshal(line{Reading: out})
	w.fail(err)
	if len(r.State.Log) > maxEntries || len(r.Arrivals) > maxEntries || len(r.Trace) > maxEntries || len(text) >= MaxLine {
		return false
	}
	w.packed()
	w.write(append(text, '\n'))
	return true
}

// packed writes the readings that were put together.
func (w *Writer) packed() {
	if w.pack.n > 0 {
		w.put(line{Pack: w.pack.take()})
	}
}

// delta says what a log is in terms of an older one of the same key: without the first
// entries, and with some appended. Logs are ascending, and mostly grow at their end.
func delta(old, log []limiter.Entry, at limiter.Instant) (drop, keep int, rest []int64) {
	if len(log) > 0 {
		drop = sort.Search(len(old), func(i int) bool { return old[i].At >= log[0].At })
	}
	for drop+keep < len(old) && keep < len(log) && old[drop+keep] == log[keep] {
		keep++
	}
	if keep == 0 {
		drop = 0
	}
	last := at
	if keep > 0 {
		last = log[keep-1].At
	}
	for _, e := range log[keep:] {
		rest = append(rest, int64(e.At-last), e.Count)
		last = e.At
	}
	return drop, keep, rest
}

func wireReading(r *model.Reading) *reading {
	s := &r.State
	out := &reading{
		At: r.At, Since: r.Since, Start: s.Start, Previous: s.Previous, Current: s.Current, Before: s.PreviousStart, TAT: s.TAT,
		Level: real(s.Level), Filled: s.Filled, Part: s.Part, Parts: s.Parts, Blocked: s.BlockedUntil, Ends: r.Ends, TTL: int64(r.TTL),
		Denied: collect.Known(r.Denied.Known, r.Denied.N),
	}
	for i, set := range []bool{r.Approximate, r.PreviousKnown, r.ExactKnown, s.Log != nil, r.Partial} {
		if set {
			out.Flags |= 1 << i
		}
	}
	for _, a := range r.Arrivals {
		n := min(max(a.N, -maxUnits), maxUnits) << 1
		if a.Denied {
			n |= 1
		}
		out.Arrivals = append(out.Arrivals, int64(r.At-a.At), n)
	}
	for _, l := range r.Trace {
		since := collect.If(l.Since != 0, int64(l.At-l.Since), -1)
		out.Trace = append(out.Trace, int64(r.At-l.At), since, l.Used)
	}
	return out
}

func keyOf(r *model.Reading) *key {
	t := &r.Target
	k := &key{
		Name: text(r.Key), Type: text(r.Type), Inferred: t.Inferred, Per: int64(t.Limit.Window), Burst: t.Limit.Burst,
		Window: int64(t.Window), Convention: scenario.Describe(t.Convention), Tick: int64(t.Tick), Unit: int64(t.Layout.Unit),
		Suffixed: t.Layout.Suffixed,
		NoTotals: t.Layout.NoTotals, Units: t.Layout.PerUnit, Ruled: t.Ruled, Described: t.Described, Library: text(t.Library),
		Evidence: uint8(t.Evidence), LimitFrom: uint8(t.LimitFrom), Exact: t.Exact, Base: text(t.Base), LimitKey: text(t.LimitKey),
		Members: as[text](r.Members), Why: as[text](r.Why), Unsettled: as[text](r.Unsettled), Pattern: text(r.Pattern),
		Notes: as[text](r.Notes), Err: text(r.Err),
	}
	if t.Algorithm != limiter.Unknown {
		k.Algorithm = t.Algorithm.String()
	}
	if r.State.Algorithm != t.Algorithm {
		k.State = r.State.Algorithm.String()
	}
	if t.LimitKnown {
		k.Limit = &t.Limit.Count
	} else {
		k.Unproven = t.Limit.Count
	}
	return k
}
