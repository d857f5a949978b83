package model

import (
	"encoding/binary"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
)

// chunkBins is the number of bins that are packed together, a quarter of a window.
const chunkBins = BinsPerWindow / 4

// chunk holds the bins of a range that is still written to.
type chunk struct {
	number int64 // absolute: bin index / bins of a chunk
	shared bool  // with a frozen timeline: not to be written to
	bins   []Bin
}

// packed holds the bins of a past range, column by column: a bin takes 40 bytes while it is written to
// and about one byte when packed. It is immutable, so that timelines share it. nil holds empty bins.
//
// A column is runs of equal values: the difference to the run before as a varint, and the length of the
// run in a byte.
type packed []byte

// binColumns is the number of columns.
const binColumns = 6

// column returns the value of b in a column.
func (b *Bin) column(c int) int64 {
	switch c {
	case 0:
		return b.Admitted
	case 1:
		return b.Denied
	case 2:
		return int64(b.InjectedAdmitted)
	case 3:
		return int64(b.InjectedDenied)
	case 4:
		return b.Used
	}
	flags := int64(0)
	if b.UsedKnown {
		flags = 1
	}
	if b.Watched {
		flags |= 2
	}
	return flags
}

// setColumn is the inverse of column.
func (b *Bin) setColumn(c int, v int64) {
	switch c {
	case 0:
		b.Admitted = v
	case 1:
		b.Denied = v
	case 2:
		b.InjectedAdmitted = int32(v)
	case 3:
		b.InjectedDenied = int32(v)
	case 4:
		b.Used = v
	default:
		b.UsedKnown, b.Watched = v&1 != 0, v&2 != 0
	}
}

// pack packs the bins of a chunk.
func pack(bins []Bin) packed {
	if !slices.ContainsFunc(bins, func(b Bin) bool { return b != Bin{} }) {
		return nil
	}
	var room [binColumns * chunkBins * (binary.MaxVarintLen64 + 1)]byte
	p := room[:0]
	for c := range binColumns {
		last := int64(0)
		for i := 0; i < len(bins); {
			begin, v := i, bins[i].column(c)
			for i < len(bins) && bins[i].column(c) == v {
				i++
			}
			p = append(binary.AppendVarint(p, v-last), byte(i-begin))
			last = v
		}
	}
	return slices.Clone(p)
}

// unpack writes the packed bins to bins, whose length must be the number of packed bins.
func (p packed) unpack(bins []Bin) {
	clear(bins)
	if p == nil {
		return
	}
	for c := range binColumns {
		v := int64(0)
		for i := 0; i < len(bins); {
			d, n := binary.Varint(p)
			v += d
			end := i + int(p[n])
			p = p[n+1:]
			for ; i < end; i++ {
				bins[i].setColumn(c, v)
			}
		}
	}
}

// AsOf returns the board at an instant of its past, as far as its timelines go back: all gauges are
// calculated from the timelines, which both boards share.
func (b *Board) AsOf(t limiter.Instant) *Board {
	f := b.copy(t, func(k *Watched) *Watched { return k.AsOf(t) })
	f.alerts = slices.DeleteFunc(f.alerts, func(a Alert) bool { return a.At > t })
	f.samples = slices.DeleteFunc(f.samples, func(v HealthSample) bool { return v.At > t })
	for i := range f.alerts {
		a := &f.alerts[i]
		k, end := f.keys[a.Key], a.At.Add(a.For)
		if k == nil || a.What != BecameThrottled || !k.Gauge.NextKnown {
			continue
		}
		if !a.Ended {
			end = b.keys[a.Key].episode.last
		}
		if t.Sub(end) < k.grace() { // how long it lasts is not known
			k.episode = episode{pressure: pressureFull, began: t + 1, again: t + 1, last: t}
		}
	}
	return f
}

// AsOf returns the key at an instant of its past, as Board.AsOf does.
func (k *Watched) AsOf(t limiter.Instant) *Watched {
	then := *k
	r, known := k.readingAt(t)
	then.Reading, then.Gauge, then.episode = r, Gauge{Likely: r.Target.Evidence == Likely}, episode{began: 1, again: 1}
	then.Gone = k.Gone && k.Reading.At <= t
	if r.Target.LimitKnown { // what is not known stands before what is at ease
		then.Gauge.Utilization = NearLimit
	}
	level, likely := k.Timeline.peek(k.Timeline.Index(t)), Gauge{}
	if known {
		likely = r.Gauge(t)
		far := max(likely.Used.N-level.Used, level.Used-likely.Used.N) // a removal, say, is in the levels alone
		known = !level.UsedKnown || !likely.Used.Known || far <= level.Admitted+level.Denied
	}
	if known {
		then.Gauge = likely
		if _, whole := k.Timeline.Admitted(t.Add(-k.Timeline.Window()), t); !whole && k.Reading.At > t {
			then.Gauge.DeniedInW, then.Gauge.DeniedPerSec = Count{}, Measure{} // no reading brought what was denied before
		}
		n, watched := k.Timeline.Admitted(t.Add(-RecentSpan), t)
		then.Gauge.Recent, then.Gauge.RecentKnown = float64(n)/RecentSpan.Seconds(), watched && k.Gauge.RecentKnown
	} else if level.UsedKnown { // not of which requests
		g, most := &then.Gauge, Capacity(r.Target)
		if g.Used = (Count{true, level.Used}); r.Target.LimitKnown && level.Used < most {
			g.Remaining, g.Utilization, g.NextKnown = Count{true, most - level.Used}, float64(level.Used)/float64(most), true
		}
	}
	return &then
}

// readingAt returns the reading of the key at t, calculated from its timeline; known is false if the
// timeline does not reach far enough back.
func (k *Watched) readingAt(t limiter.Instant) (r Reading, known bool) {
	r = k.Reading
	if r.At <= t || r.Err != "" {
		return r, true
	}
	w, kind := k.Timeline.Window(), describe.KindOf(r.Target.Algorithm)
	r.At, r.TTL, r.Trace, r.Arrivals = t, 0, nil, nil
	r.PreviousKnown, r.ExactKnown = false, false
	if r.Denied.Known {
		r.Denied.N = k.Timeline.join(k.Timeline.Index(t.Add(-w))+1, k.Timeline.Index(t)).Denied
	}
	bin := k.Timeline.peek(k.Timeline.Index(t))
	used := bin.Used
	switch {
	case kind == describe.Log:
		r.State.Log, known = k.Timeline.entries(t.Add(-2*w), t)
		known = known || bin.UsedKnown // the first reading brought what was in the log before; AsOf compares the counts
		r.ExactKnown, r.PreviousKnown = known, known
		over := r.Gauge(t).Used.N - used // the oldest of them have left: of a bin it is not known when they came
		oldest := slices.IndexFunc(r.State.Log, func(e limiter.Entry) bool { return e.At > t.Add(-w) })
		if bin.UsedKnown && over > 0 && oldest >= 0 && over <= r.State.Log[oldest].Count {
			r.State.Log[oldest].Count -= over
		}
	case kind == describe.Weighted && r.Target.Convention.Alignment == convention.Epoch:
		start := t.Floor(w)
		r.State.Start = start
		r.State.Current, known = k.Timeline.Admitted(start-1, t)
		r.State.Previous, r.PreviousKnown = k.Timeline.Admitted(start.Add(-w)-1, start-1)
	case !bin.UsedKnown:
	case kind == describe.Arrival && r.Target.Limit.Count > 0:
		r.State.TAT, known = t.Add(time.Duration(used)*w/time.Duration(r.Target.Limit.Count)), true
	case kind == describe.Bucket:
		r.State.Level, r.State.Filled, known = float64(used), t, true
		if r.Target.Algorithm != limiter.LeakyBucket {
			r.State.Level = float64(Capacity(r.Target) - used)
		}
	case kind == describe.Window && (r.State.Start <= t || r.Target.Convention.Alignment == convention.Epoch):
		r.State.Current, known = used, true
		if r.Target.Convention.Alignment == convention.Epoch {
			r.State.Start = t.Floor(w)
		}
		if most := Capacity(r.Target); r.Denied.Known && k.Timeline.Between(t.Add(-w), t+1).Used > most { // it counts what it denies
			r.Denied.N = max(used-most, 0)
		}
	}
	return r, known
}

// entries returns the units admitted from since to at as a log, and whether the key was watched
// during the last window before at.
func (t *Timeline) entries(since, at limiter.Instant) (log []limiter.Entry, watched bool) {
	log = []limiter.Entry{}
	var buffer [chunkBins]Bin
	var b *Bin
	w := walk{t: t}
	for i := t.Index(since) + 1; i <= t.Index(at); i++ {
		if w, b = w.at(i, &buffer); b != nil && b.Admitted > 0 {
			log = append(log, limiter.Entry{At: min(t.Begin(i+1)-1, at), Count: b.Admitted})
		}
	}
	_, watched = t.Admitted(at.Add(-t.window), at)
	return log, watched
}
