package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model"
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
	text    []byte // of a reading; used again for the next one

	frames  int
	framed  limiter.Instant
	flushed limiter.Instant
	ids     map[string]*written
	server  string // as last written
	sweep   string

	mask             *mask                 // nil: names are written as they are
	framing          func(limiter.Instant) // called before a frame begins, when all before it is out; nil: not
	again            bool                  // the next batch begins a frame
	batches, skipped int
	seen             map[string]bool
	err              error
}

// written is what a reader knows of a key.
type written struct {
	id  int
	key *model.Reading // as it was described; nil before it was
	log []limiter.Entry
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
		r.mask = newMask()
		h.Rules, h.Watch = nil, r.mask.patterns(h.Watch)
	}
	r.put(line{Recording: &opening{
		Version: Version, By: text(h.By), At: h.At, Server: serverOf(&h.Server), Watch: texts(h.Watch), Rules: texts(h.Rules), Masked: h.Mask,
	}})
	r.flush()
	return r, r.err
}

// Write appends a batch. An error is final.
func (w *Writer) Write(b model.Batch) error {
	if w.mask != nil {
		b = w.mask.batch(b)
	}
	if far := b.At.Sub(w.framed); w.frames == 0 || w.again || far >= frameEvery || far <= -frameEvery || len(w.ids) >= maxIDs-len(b.Readings) {
		w.frame(b.At)
	}
	for i := range b.Readings[:min(len(b.Readings), maxBatch)] {
		w.reading(&b.Readings[i])
	}
	w.skipped += max(len(b.Readings)-maxBatch, 0)
	closing := w.batch(&b)
	if !w.put(line{Batch: closing}) { // what can be long without end is not what matters
		closing.Health, closing.Hot, closing.Gone, closing.Left, closing.Fired = nil, nil, nil, nil, nil
		w.put(line{Batch: closing})
	}
	w.batches++
	far := b.At.Sub(w.flushed)
	if w.framing == nil && (w.zip == nil || far >= flushEvery || far <= -flushEvery) { // a Tail takes all when it is wanted
		w.flushed = b.At
		w.flush()
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
	if w.zip != nil && w.err == nil {
		w.err = w.zip.Close()
	}
	if w.err == nil {
		w.err = w.out.Flush()
	}
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

func (w *Writer) flush() {
	if w.zip != nil && w.err == nil {
		w.err = w.zip.Flush()
	}
	if w.err == nil {
		w.err = w.out.Flush()
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
	w.ids, w.server, w.sweep = map[string]*written{}, "", ""
	w.framed = at
	n := w.frames
	w.frames++
	w.put(line{Anew: &n})
}

// put writes a line, and says whether it is short enough to be one.
func (w *Writer) put(l line) bool {
	w.scratch.Reset()
	e := json.NewEncoder(&w.scratch) // ends the line
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil && w.err == nil {
		w.err = fmt.Errorf("what was seen cannot be written down: %w", err)
	}
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

// alike says whether two readings of a key are described by the same words.
func alike(x, y *model.Reading) bool {
	return x.Target == y.Target && x.Type == y.Type && x.Err == y.Err && x.Pattern == y.Pattern && x.State.Algorithm == y.State.Algorithm &&
		slices.Equal(x.Members, y.Members) && slices.Equal(x.Why, y.Why) && slices.Equal(x.Unsettled, y.Unsettled) && slices.Equal(x.Notes, y.Notes)
}

// reading writes one reading, in terms of the one before of the same key.
func (w *Writer) reading(r *model.Reading) {
	was := w.ids[r.Key]
	if was == nil {
		was = &written{id: len(w.ids)}
	}
	out := wireReading(r)
	out.ID = was.id
	described := was.key != nil && alike(was.key, r)
	if !described {
		out.Key = keyOf(r)
	}
	out.Drop, out.Keep, out.Log = delta(was.log, r.State.Log, r.At)
	text, err := out.append(w.text[:0])
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("what was seen cannot be written down: %w", err)
	}
	w.text = text
	if len(r.State.Log) > maxEntries || len(r.Arrivals) > maxEntries || len(r.Trace) > maxEntries || len(text) > MaxLine {
		w.skipped++
		return
	}
	w.write(text)
	if !described {
		k := *r
		k.Arrivals, k.Trace, k.State = nil, nil, limiter.State{Algorithm: r.State.Algorithm}
		was.key = &k
	}
	was.log = r.State.Log
	w.ids[r.Key] = was
	if len(w.seen) < maxIDs {
		w.seen[r.Key] = true
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
		since := int64(-1)
		if l.Since != 0 {
			since = int64(l.At - l.Since)
		}
		out.Trace = append(out.Trace, int64(r.At-l.At), since, l.Used)
	}
	if r.Denied.Known {
		out.Denied = &r.Denied.N
	}
	return out
}

func keyOf(r *model.Reading) *key {
	t := &r.Target
	k := &key{
		Name: text(r.Key), Type: text(r.Type), Inferred: t.Inferred, Per: int64(t.Limit.Window), Burst: t.Limit.Burst, Window: int64(t.Window),
		Convention: scenario.Describe(t.Convention), Tick: int64(t.Tick), Unit: int64(t.Layout.Unit), Suffixed: t.Layout.Suffixed, NoTotals: t.Layout.NoTotals, Units: t.Layout.PerUnit,
		Ruled: t.Ruled, Library: text(t.Library), Evidence: uint8(t.Evidence), LimitFrom: uint8(t.LimitFrom), Members: texts(r.Members), Why: texts(r.Why), Unsettled: texts(r.Unsettled), Pattern: text(r.Pattern),
		Notes: texts(r.Notes), Err: text(r.Err),
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

func (w *Writer) batch(b *model.Batch) *batch {
	s := &b.Server
	out := &batch{
		At: b.At, Link: uint8(s.Link), Err: text(s.Err), RTT: int64(s.RTT), Offset: int64(s.Offset), OffBy: int64(s.OffsetBy), Down: int64(s.Down),
		Cost: [3]int64{b.Cost.Commands, int64(b.Cost.Server), int64(b.Cost.Over)}, Gone: texts(b.Gone), Left: texts(b.LeftOut),
		Health: healthOf(b.Health), Hot: hotOf(b.HotKeys), Fired: firedOf(b.Fired),
	}
	if !b.Local.IsZero() {
		out.Local = b.Local.UnixNano()
	}
	out.Server = changed(&w.server, serverOf(s))
	p := &b.Sweep
	out.Sweep = changed(&w.sweep, &sweep{texts(p.Patterns), p.Scanned, p.Total, p.Matched, p.Passes, p.Dropped, p.Skipped, p.Keys, p.Missed})
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

func serverOf(s *model.Server) *server {
	w := &server{text(s.Target), s.Embedded, text(s.Role), text(s.Version), texts(s.Lacks), text(s.RunID), nil}
	for _, n := range s.Away {
		w.Away = append(w.Away, node{text(n.Addr), n.Keys, text(n.Err)})
	}
	return w
}
