package model

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// lapse is the longest gap between two readings of a key for which the key counts as watched without a gap.
const lapse = 2500 * time.Millisecond

// displayWindow is the window of a timeline whose key has no known window.
const displayWindow = time.Minute

// span returns the window of the key's timeline.
func (t *Target) span() time.Duration {
	return collect.If(t.Window <= 0, displayWindow, t.Window)
}

// Watched is the state of one key.
type Watched struct {
	Reading  Reading
	Gauge    Gauge // the gauge of Reading at the board's latest instant
	Timeline *Timeline
	Pinned   bool
	Gone     bool            // the key left the server, and its past is still on screen
	Unborn   bool            // the key was not watched yet at the instant of the past that its board shows
	LastHit  limiter.Instant // of the newest arrival; 0 for none
	episode  episode
	recent   recent
	denied   spell

	injected  []injection     // requests fired from here, oldest first
	forgotten limiter.Instant // of the newest injected request that was dropped; 0 for none
	anchor    anchor          // for windows that begin with their first request
	owed      *owed           // charges of injected requests, for keys that drain; nil for none
}

// Board is the state of everything that is watched, a reducer of Batches. The zero value is ready. It is not safe for concurrent use.
type Board struct {
	At      limiter.Instant // of the latest batch
	Local   time.Time       // this machine's clock at the latest batch
	Server  Server
	Sweep   Sweep
	Cost    Cost
	Health  Health
	HotKeys HotKeys

	// Rough keeps only as much of the past of keys as their rates need, for a board that is not drawn. It must be set before the first batch.
	Rough bool

	keys    map[string]*Watched
	alerts  alerts
	samples []HealthSample
	loss    loss
	spent   Cost            // of watching, since the latest health sample
	swept   bool            // what the first pass of discovery found was read, so that new keys are news
	lost    limiter.Instant // the latest instant before the link was lost; 0 if it never was
	totals  Totals          // valid if summed is set
	summed  bool
}

// Apply updates the board with one batch.
func (b *Board) Apply(batch Batch) {
	if batch.Anew != nil {
		b.replace(batch.Anew)
		return
	}
	b.summed = false
	raised, latest := b.alerts.raised, max(batch.At, b.At)
	b.alerts.link(&b.Server, &batch, latest)
	b.alerts.correct(b.loss.count(&batch, b.keys, b.Server.RunID, latest))
	b.alerts.nodes(b.Server.Away, &batch)
	if by := batch.set(b); by != 0 { // the spells that last have lasted as long as before
		for _, k := range b.keys {
			k.episode.began, k.episode.again, k.episode.last = k.episode.began.Add(by), k.episode.again.Add(by), k.episode.last.Add(by)
		}
	}
	b.Local, b.Server, b.Sweep, b.Cost = batch.Local, batch.Server, batch.Sweep, batch.Cost
	b.spent.Add(batch.Cost)
	b.examine(batch.Health)
	b.summed = false // it asks for the totals, and the readings change them
	if batch.HotKeys != nil {
		b.HotKeys = *batch.HotKeys
	}
	// A late batch does not turn the board's clock back, but a server whose clock was set back does.
	if batch.At > b.At || batch.Server.Link == Live && b.At.Sub(batch.At) > lapse {
		b.At = batch.At
	}
	for i := range batch.Readings {
		r := &batch.Readings[i]
		if b.swept && b.keys[r.Key] == nil {
			b.alerts.moved = append(b.alerts.moved, Alert{At: r.At, Key: r.Key, What: Appeared})
		}
		b.apply(r)
	}
	for _, f := range batch.Fired {
		b.Mark(f)
	}
	// What the first pass found is no news; it is read soon after that.
	b.swept = b.swept || batch.Sweep.Passes > 3 || batch.Sweep.Passes > 0 && len(b.keys) >= batch.Sweep.Matched
	for _, name := range batch.Gone {
		if k := b.keys[name]; k != nil {
			if !k.Gone {
				b.alerts.moved = append(b.alerts.moved, Alert{At: batch.At, Key: name, What: Left})
				b.alerts.end(k)
			}
			k.Gone = true
		}
	}
	b.alerts.move(fewKeys, Appeared, Left)
	b.alerts.move(fewPressed, BecameThrottled, NoLongerThrottled, BecameClose)
	b.alerts.moved = b.alerts.moved[:0]
	b.alerts.correct(b.loss.restarted(&batch, b.At))
	// The readings of a batch are in the order of their keys. Earlier alerts stay in place, because they may have been shown.
	newest := b.alerts.record[len(b.alerts.record)-min(b.alerts.raised-raised, len(b.alerts.record)):]
	slices.SortStableFunc(newest, func(x, y Alert) int { return cmp.Compare(x.At, y.At) })
	for _, name := range batch.LeftOut {
		if k := b.keys[name]; k != nil && !k.Pinned {
			b.alerts.end(k)
			delete(b.keys, name)
		}
	}
	if batch.Server.Link != Live {
		b.lost = b.At
	}
	for name, k := range b.keys { // keys that are gone stay for two windows after their last arrival, unless they were only likely limiters
		if k.Gone && !k.Pinned && (k.Reading.Target.Evidence == Likely || b.At.Sub(k.LastHit) > k.Timeline.Window()*2) {
			delete(b.keys, name)
		}
	}
}

// replace replaces b with another board, which takes over the pins of b.
func (b *Board) replace(by *Board) {
	for name, k := range b.keys {
		if other := by.keys[name]; other != nil {
			other.Pinned = k.Pinned
		}
	}
	*b = *by
}

// Anew returns a batch that replaces the receiver's board with a copy of b at now.
func (b *Board) Anew(now limiter.Instant) Batch {
	f := b.Freeze(now)
	f.At = b.At
	return f.anew()
}

// anew returns a batch that replaces the receiver's board with b itself.
func (b *Board) anew() Batch {
	return Batch{At: b.At, Local: b.Local, Server: b.Server, Sweep: b.Sweep, Cost: b.Cost, Anew: b}
}

// apply updates the key of a reading.
func (b *Board) apply(r *Reading) {
	k := collect.Entry(&b.keys, r.Key)
	window := r.Target.span()
	// For another window the source reports the past again. If the clock was set back by more
	// than a window, new arrivals would overwrite a later past.
	begun := k.Timeline == nil || k.Reading.Target.Window != r.Target.Window || k.Reading.At.Sub(r.At) > window
	if begun {
		if k.Timeline = NewTimeline(window); b.Rough {
			k.Timeline = newTimeline(window, roughBins, roughWindows)
		}
		k.injected, k.owed, k.anchor = nil, nil, anchor{}
	}
	k.Gone = false
	repeats := r.Repeats(&k.Reading)
	since := b.unbroken(r.Since, r.At)
	k.recent.watch(since, r)
	var denied int64
	for _, a := range r.Arrivals {
		counted := repeats && a.At <= k.Reading.At
		if counted && !begun {
			continue
		}
		a.At = min(a.At, r.At) // the writer's clock may be ahead
		k.Timeline.Arrive(a)
		k.LastHit = max(k.LastHit, a.At)
		switch {
		case counted: // in the numbers of the reading that reported it first
		case a.Denied:
			denied += a.N
			if r.Since > 0 {
				k.denied.add(r.Since, a)
			}
		case since > 0 || r.Since == 0: // else it may have come while the server was away
			k.recent.add(a.At, a.N)
		}
	}
	k.Gauge = r.Gauge(r.At)
	for _, l := range r.Trace {
		k.Timeline.Watch(b.unbroken(l.Since, l.At), l.At, Count{true, l.Used})
	}
	if r.Err == "" {
		k.Timeline.Watch(b.unbroken(r.watched(), r.At), r.At, k.Gauge.Used)
	}
	k.forget(r)
	k.settle(r)
	if r.Target.anchors() && r.Err == "" && !r.Partial {
		k.anchor.observe(r)
	}
	k.Reading = *r
	k.paceByArrivals(r.At)
	k.Reading.Arrivals, k.Reading.Trace = nil, nil
	b.alerts.judge(k, denied)
}

// unbroken returns since, or 0 if the link was lost between since and at.
func (b *Board) unbroken(since, at limiter.Instant) limiter.Instant {
	return collect.If(since <= b.lost && b.lost < at, 0, since)
}

// Mark records that a request was fired from here.
func (b *Board) Mark(f Fired) {
	if k := b.keys[f.Key]; k != nil && (f.Outcome == Admitted || f.Outcome == Denied) {
		k.Timeline.Mark(f.At, f.Outcome == Denied)
		k.inject(&f)
		k.owe(&f)
	}
}

// Refresh calculates all gauges and their totals at now.
func (b *Board) Refresh(now limiter.Instant) {
	var s sum
	for _, k := range b.keys {
		k.Gauge = k.Reading.Gauge(now)
		k.paceByArrivals(now)
		s.add(k, now)
	}
	b.totals, b.summed = s.total(), true
}

// paceByArrivals sets the gauge's Recent and DeniedPerSec from the latest arrivals, where these are seen, and, for a key whose state
// contains no counts (GCRA, buckets), its Rate from the arrivals of a window.
func (k *Watched) paceByArrivals(now limiter.Instant) {
	if k.Gauge.Used.Known || k.Reading.Target.Algorithm == limiter.FixedWindow && k.Reading.Err == "" && !k.Reading.Partial {
		k.Gauge.Recent, k.Gauge.RecentKnown = k.recent.rate(now)
	}
	if _, watched := k.recent.rate(now); watched && k.Gauge.DeniedInW.Known && k.Reading.Err == "" {
		k.Gauge.DeniedPerSec = Measure{true, k.denied.rate(now)}
	}
	if k.Gauge.RateKnown || k.Reading.Err != "" || k.Reading.Target.Window <= 0 {
		return
	}
	n, watched := k.Timeline.Admitted(k.Reading.At.Add(-k.Timeline.Window()), k.Reading.At)
	k.Gauge.Rate, k.Gauge.RateKnown = float64(n)/k.Timeline.Window().Seconds(), watched
}

// Pin keeps a key at the top of every order, or ends that.
func (b *Board) Pin(name string) {
	if k := b.keys[name]; k != nil {
		k.Pinned = !k.Pinned
	}
}

// Freeze returns a copy of the board at now, which later batches do not change. Its gauges are those of b; see Refresh.
func (b *Board) Freeze(now limiter.Instant) *Board {
	return b.copy(now, func(k *Watched) *Watched {
		still := *k
		still.Timeline, still.owed = k.Timeline.Freeze(), k.owed.clone()
		return &still
	})
}

// copy returns a copy of the board at now, with other keys in place of its own.
func (b *Board) copy(now limiter.Instant, of func(k *Watched) *Watched) *Board {
	f := *b
	f.At, f.summed, f.alerts.moved = now, false, nil
	f.alerts.record, f.samples = slices.Clone(b.alerts.record), slices.Clone(b.samples)
	f.loss.held, f.loss.unread = maps.Clone(b.loss.held), maps.Clone(b.loss.unread)
	f.keys = make(map[string]*Watched, len(b.keys))
	for name, k := range b.keys {
		f.keys[name] = of(k)
	}
	return &f
}

// Batch returns the board's readings as one batch, without the past on its timelines.
func (b *Board) Batch() Batch {
	batch := Batch{At: b.At, Local: b.Local, Server: b.Server, Sweep: b.Sweep, Cost: b.Cost}
	for _, name := range slices.Sorted(maps.Keys(b.keys)) {
		if k := b.keys[name]; !k.Gone {
			batch.Readings = append(batch.Readings, k.Reading)
		}
	}
	return batch
}

// Past returns the board's readings and the past on its timelines as one batch. Applied to an
// empty board, it leads to about the same board.
func (b *Board) Past() Batch {
	batch := b.Batch()
	for i := range batch.Readings {
		r := &batch.Readings[i]
		r.Since, r.Arrivals, r.Trace = b.keys[r.Key].Timeline.report(r.At)
	}
	return batch
}

// Key returns a key by its name; nil if it is not watched.
func (b *Board) Key(name string) *Watched { return b.keys[name] }

// Keys returns all keys by their names, in no order.
func (b *Board) Keys() iter.Seq2[string, *Watched] { return maps.All(b.keys) }

// Len returns how many keys are watched.
func (b *Board) Len() int { return len(b.keys) }

// Sort is an order of keys.
type Sort uint8

// The orders; each has the most pressing key first.
const (
	ByUtilization Sort = iota
	ByRate             // admitted and, where known, denied
	ByDenied
	ByNext
	ByName
	ByAlgorithm
	sorts // how many there are
)

var sortNames = [...]string{"utilization", "rate", "denied", "next", "name", "algorithm"}

// String returns the name of the order for the screen.
func (s Sort) String() string { return sortNames[s%sorts] }

// Succ returns the order after s, and the first after the last.
func (s Sort) Succ() Sort { return (s + 1) % sorts }

// View orders keys.
type View struct {
	Sort    Sort
	Reverse bool
}

// Select returns all keys in the order of v, pinned ones first. Keys that compare equal are ordered by
// name, so that rows do not swap without a reason.
func (b *Board) Select(v View) []*Watched {
	return slices.SortedFunc(maps.Values(b.keys), func(x, y *Watched) int {
		if x.Pinned != y.Pinned {
			return collect.If(x.Pinned, -1, 1)
		}
		return cmp.Or(v.Compare(x, y), strings.Compare(x.Reading.Key, y.Reading.Key))
	})
}

// Compare orders two keys, which may be of different boards; 0 where neither comes first.
func (v View) Compare(x, y *Watched) int {
	if v.Reverse {
		x, y = y, x
	}
	switch v.Sort {
	case ByRate:
		return cmp.Compare(y.Came().V, x.Came().V)
	case ByDenied:
		return cmp.Compare(y.Gauge.DeniedPerSec.V, x.Gauge.DeniedPerSec.V)
	case ByNext:
		return cmp.Compare(wait(y), wait(x))
	case ByName:
		return strings.Compare(x.Reading.Key, y.Reading.Key)
	case ByAlgorithm:
		return cmp.Compare(x.Reading.Target.Algorithm, y.Reading.Target.Algorithm)
	}
	return cmp.Compare(press(y), press(x))
}

// press returns a key's utilization for sorting; unknown ones come last.
func press(k *Watched) float64 {
	switch {
	case k.Reading.Err != "" || k.Gone:
		return -2
	case !k.Gauge.Remaining.Known || k.Gauge.Likely:
		return cmp.Or(k.Gauge.Utilization, -1) // see AsOf
	}
	return k.Gauge.Utilization
}

// wait returns the time to a key's next admission for sorting; unknown ones come last.
func wait(k *Watched) time.Duration {
	if !k.Gauge.NextKnown {
		return -1
	}
	return k.Gauge.Next
}

// AtEase returns how many keys are neither throttled, now or a moment ago, nor near their limit by readings
// that are older than an instant.
func (b *Board) AtEase(before limiter.Instant) (n int) {
	for _, k := range b.keys {
		if state := k.State(b.At); k.Reading.At < before && !k.Gone && k.Gauge.NextKnown && (state == OKState || state == Silent) {
			n++
		}
	}
	return n
}
