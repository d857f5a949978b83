package model

import (
	"encoding/binary"
	"slices"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
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

const binColumns = 6

// columns returns the values of b, column by column.
func (b *Bin) columns() [binColumns]int64 {
	flags := collect.If(b.UsedKnown, 1, int64(0)) + collect.If(b.Watched, 2, int64(0))
	return [...]int64{b.Admitted, b.Denied, int64(b.InjectedAdmitted), int64(b.InjectedDenied), b.Used, flags}
}

// setColumn sets what columns returns of b in a column.
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

func pack(bins []Bin) packed {
	if !slices.ContainsFunc(bins, func(b Bin) bool { return b != Bin{} }) {
		return nil
	}
	var room [binColumns * chunkBins * (binary.MaxVarintLen64 + 1)]byte
	p := room[:0]
	var values [chunkBins][binColumns]int64
	for i := range bins {
		values[i] = bins[i].columns()
	}
	for c := range binColumns {
		last := int64(0)
		for i := 0; i < len(bins); {
			begin, v := i, values[i][c]
			for i < len(bins) && values[i][c] == v {
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

// AsOf returns the board at an instant of its past. The keys that kept, the board as it stood at that instant, holds are as they
// were read; without it all gauges are calculated from the timelines, as far as these go back. The timelines are shared.
func (b *Board) AsOf(t limiter.Instant, kept *Board) *Board {
	f := b.copy(t, func(k *Watched) *Watched { return k.AsOf(t) })
	f.alerts.record = slices.DeleteFunc(f.alerts.record, func(a Alert) bool { return a.At > t })
	f.samples = slices.DeleteFunc(f.samples, func(v HealthSample) bool { return v.At > t })
	for i := range f.alerts.record {
		a := &f.alerts.record[i]
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
	if kept != nil {
		f.recall(kept)
	}
	return f
}

// recall takes over the keys as they were read. What came later is not counted.
func (b *Board) recall(kept *Board) {
	b.Sweep, b.Health = kept.Sweep, kept.Health
	for name, k := range b.keys {
		k.Unborn = kept.keys[name] == nil && !k.Gone
	}
	for name, was := range kept.keys {
		k := b.keys[name]
		if k == nil {
			k = was
			b.keys[name] = k
		}
		k.Reading, k.Gone, k.recent, k.denied, k.episode = was.Reading, was.Gone, was.recent, was.denied, was.episode
		k.episode.began, k.episode.again = b.At+1, b.At+1 // it may have begun before what is kept
		if k.LastHit > b.At {
			k.LastHit = was.LastHit
		}
		k.Gauge = k.Reading.Gauge(b.At)
		k.paceByArrivals(b.At)
	}
}

// AsOf returns the key at an instant of its past. Of an earlier instant than that of its reading only the level on its timeline is
// known, and that a request is admitted while the level is below the limit.
func (k *Watched) AsOf(t limiter.Instant) *Watched {
	then := *k
	then.episode, then.Gone = episode{began: 1, again: 1}, k.Gone && k.Reading.At <= t
	if k.Reading.At <= t || k.Reading.Err != "" {
		then.Gauge = k.Reading.Gauge(t)
		then.paceByArrivals(t)
		return &then
	}
	then.Gauge = Gauge{Likely: k.Reading.Target.Evidence == Likely}
	then.Reading.At, then.Reading.TTL = t, 0
	g, most := &then.Gauge, Capacity(k.Reading.Target)
	if k.Reading.Target.LimitKnown { // what is not known stands before what is at ease
		g.Utilization = NearLimit
	}
	if a := k.Reading.Target.Algorithm; describe.KindOf(a) == describe.Weighted &&
		k.Reading.Target.Convention.Alignment == convention.Epoch {
		state, w := &then.Reading.State, k.Timeline.Window()
		state.Start = t.Floor(w)
		known := false
		state.Previous, then.Reading.PreviousKnown = k.Timeline.Admitted(state.Start.Add(-w)-1, state.Start-1)
		if state.Current, known = k.Timeline.Admitted(state.Start-1, t); known {
			then.Gauge = then.Reading.Gauge(t)
			return &then
		}
	}
	then.Reading.Partial, then.Reading.State.BlockedUntil = true, 0 // what its state held then, and what came of it, is not known
	level := k.Timeline.peek(k.Timeline.Index(t))
	if g.Used = (Count{level.UsedKnown, level.Used}); level.UsedKnown && k.Reading.Target.LimitKnown && level.Used < most {
		g.Remaining, g.Utilization, g.NextKnown = Count{true, most - level.Used}, float64(level.Used)/float64(most), true
	}
	return &then
}
