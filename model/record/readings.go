package record

import (
	"encoding/json"
	"slices"
	"sort"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model"
)

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
		if w.pack.full() {
			w.packed()
		}
		if !described {
			w.pack.describe(out.ID, text)
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
	if w.pack.n == 0 {
		return
	}
	text, err := w.pack.line(w.text[:0])
	w.fail(err)
	w.text = text
	w.write(text)
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
		Denied: known64(r.Denied.Known, r.Denied.N),
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
	return out
}

func keyOf(r *model.Reading) *key {
	t := &r.Target
	k := &key{
		Name: text(r.Key), Type: text(r.Type), Inferred: t.Inferred, Per: int64(t.Limit.Window), Burst: t.Limit.Burst, Window: int64(t.Window),
		Convention: scenario.Describe(t.Convention), Tick: int64(t.Tick), Unit: int64(t.Layout.Unit), Suffixed: t.Layout.Suffixed,
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
