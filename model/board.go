package model

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
)

// lapse is the longest time between two readings of a key that still counts as
// having watched it all along.
const lapse = 2500 * time.Millisecond

// displayWindow is the window of the timeline of a key whose own is not known.
const displayWindow = time.Minute

// span is the window of the timeline.
func (t *Target) span() time.Duration {
	if t.Window <= 0 {
		return displayWindow
	}
	return t.Window
}

// Watched is all that is known about one key.
type Watched struct {
	Reading  Reading
	Gauge    Gauge // Reading worked out at the board's latest instant
	Timeline *Timeline
	Pinned   bool
	Gone     bool            // it left the server; its past is still on screen
	LastHit  limiter.Instant // of the newest arrival seen; 0 none
	episode  episode
	recent   recent

	injected  []injection     // requests fired from here, oldest first
	forgotten limiter.Instant // of the newest of them that is not known any more; 0 all are
	anchor    anchor          // of windows that begin with their first request
	owed      *owed           // what they have put onto a key that drains; nil nothing
}

// Board is the state of everything that is watched: the reducer of Batches. The
// zero value is ready. Not safe for concurrent use.
type Board struct {
	At      limiter.Instant // server clock of the latest batch
	Local   time.Time
	Server  Server
	Sweep   Sweep
	Cost    Cost
	Health  Health
	HotKeys HotKeys

	// Rough, set before the first batch, keeps of the past of keys only what their rates need, for
	// a board that nothing draws.
	Rough bool

	keys     map[string]*Watched
	alerts   []Alert
	raised   int
	samples  []HealthSample
	pressed  []Alert // of this batch: keys that became throttled or near, or free again
	restart  restart
	troubles map[string]trouble
	spent    Cost            // by the watching since the last vital
	swept    bool            // the first pass of discovery is over: keys that come now are news
	lost     limiter.Instant // the last moment before the link was lost; 0 it never was
	totals   Totals          // of the gauges as they are,
	summed   bool            // unless they changed since
}

// Apply brings the board forward by one batch.
func (b *Board) Apply(batch Batch) {
	if batch.Anew != nil {
		b.replace(batch.Anew)
		return
	}
	if b.keys == nil {
		b.keys = make(map[string]*Watched)
	}
	b.summed = false
	raised := b.raised
	b.link(&batch)
	b.restarted(&batch)
	b.nodes(&batch)
	b.Local, b.Server, b.Sweep, b.Cost = batch.Local, batch.Server, batch.Sweep, batch.Cost
	b.spent.Add(batch.Cost)
	b.examine(batch.Health)
	if batch.HotKeys != nil {
		b.HotKeys = *batch.HotKeys
	}
	// A batch that comes late moves nothing back, but a server whose clock was set back rules.
	if batch.At > b.At || batch.Server.Link == Live && b.At.Sub(batch.At) > lapse {
		b.At = batch.At
	}
	var came, went []Alert
	for i := range batch.Readings {
		r := &batch.Readings[i]
		if b.swept && b.keys[r.Key] == nil {
			came = append(came, Alert{At: r.At, Key: r.Key, What: Appeared})
		}
		b.apply(r)
	}
	for _, f := range batch.Fired {
		b.Mark(f)
	}
	b.swept = b.swept || batch.Sweep.Passes > 0
	for _, name := range batch.Gone {
		if k := b.keys[name]; k != nil {
			if !k.Gone {
				went = append(went, Alert{At: batch.At, Key: name, What: Left})
			}
			k.Gone = true
		}
	}
	b.move(came, fewKeys)
	b.move(went, fewKeys)
	for _, kind := range [...]AlertKind{BecameThrottled, NoLongerThrottled, BecameClose} {
		var same []Alert
		for _, a := range b.pressed {
			if a.What == kind {
				same = append(same, a)
			}
		}
		b.move(same, fewPressed)
	}
	b.pressed = b.pressed[:0]
	b.remember(&batch)
	b.order(b.raised - raised)
	for _, name := range batch.LeftOut {
		if k := b.keys[name]; k != nil && !k.Pinned {
			delete(b.keys, name)
		}
	}
	if batch.Server.Link != Live {
		b.lost = b.At
	}
	for name, k := range b.keys { // what left stays until its past has left the screen too
		if k.Gone && !k.Pinned && b.At.Sub(k.LastHit) > k.Timeline.Window()*2 {
			delete(b.keys, name)
		}
	}
}

// replace puts another board in the place of b, with the pins of b.
func (b *Board) replace(by *Board) {
	for name, k := range b.keys {
		if other := by.keys[name]; other != nil {
			other.Pinned = k.Pinned
		}
	}
	*b = *by
}

// Anew returns a batch that puts the board as it stands at now in the place of another.
func (b *Board) Anew(now limiter.Instant) Batch {
	f := b.Freeze(now)
	f.At = b.At
	return f.anew()
}

func (b *Board) anew() Batch {
	return Batch{At: b.At, Local: b.Local, Server: b.Server, Sweep: b.Sweep, Cost: b.Cost, Anew: b}
}

func (b *Board) apply(r *Reading) {
	k := b.keys[r.Key]
	if k == nil {
		k = &Watched{}
		b.keys[r.Key] = k
	}
	window := r.Target.span()
	// With another window the source tells the past again; a clock that was set back by
	// more than a window would write where a later past stands.
	begun := k.Timeline == nil || k.Reading.Target.Window != r.Target.Window || k.Reading.At.Sub(r.At) > window
	if begun {
		k.Timeline = b.timeline(window)
		k.injected, k.owed, k.anchor = nil, nil, anchor{}
	}
	k.Gone = false
	again := r.Since == 0 && !begun // a source that starts anew may tell again what it told before
	k.recent.watch(r)
	var denied int64
	for _, a := range r.Arrivals {
		if again && a.At <= k.Reading.At {
			continue
		}
		a.At = min(a.At, r.At) // a writer whose clock is ahead
		if a.Denied {
			denied += a.N
		}
		k.Timeline.Arrive(a)
		if !a.Denied {
			k.recent.add(a.At, a.N)
		}
		k.LastHit = max(k.LastHit, a.At)
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
	b.judge(k, denied)
}

// unbroken returns since, or 0 when the link was lost between it and at.
func (b *Board) unbroken(since, at limiter.Instant) limiter.Instant {
	if since <= b.lost && b.lost < at {
		return 0
	}
	return since
}

// Mark records that a request was fired from here.
func (b *Board) Mark(f Fired) {
	if k := b.keys[f.Key]; k != nil && (f.Outcome == Admitted || f.Outcome == Denied) {
		k.Timeline.Mark(f.At, f.Outcome == Denied)
		k.inject(&f)
		k.owe(&f)
	}
}

// Refresh works every gauge out anew at now, and their totals with them.
func (b *Board) Refresh(now limiter.Instant) {
	var s sum
	for _, k := range b.keys {
		k.Gauge = k.Reading.Gauge(now)
		k.paceByArrivals(now)
		s.add(k)
	}
	b.totals, b.summed = s.total(), true
}

// paceByArrivals gives the gauge the rate of the latest arrivals, and a key whose store
// keeps no counts (GCRA, buckets) the rate over its window that its arrivals show.
func (k *Watched) paceByArrivals(now limiter.Instant) {
	if k.Reading.Err == "" && !k.Reading.Partial {
		k.Gauge.Recent, k.Gauge.RecentKnown = k.recent.rate(now)
	}
	if k.Gauge.RateKnown || k.Reading.Err != "" || k.Reading.Target.Window <= 0 {
		return
	}
	n, watched := k.Timeline.Admitted(k.Reading.At.Add(-k.Timeline.Window()), k.Reading.At)
	k.Gauge.Rate, k.Gauge.RateKnown = float64(n)/k.Timeline.Window().Seconds(), watched
}

// Pin keeps a key at the top of every order, or lets it go again.
func (b *Board) Pin(name string) {
	if k := b.keys[name]; k != nil {
		k.Pinned = !k.Pinned
	}
}

// Freeze returns the board as it stands at now, worked out once. Later batches change
// nothing of it.
func (b *Board) Freeze(now limiter.Instant) *Board {
	f := *b
	f.At, f.summed = now, false
	f.alerts, f.samples = slices.Clone(b.alerts), slices.Clone(b.samples)
	f.keys = make(map[string]*Watched, len(b.keys))
	for name, k := range b.keys {
		still := *k
		still.Timeline, still.owed = k.Timeline.Freeze(), k.owed.clone()
		f.keys[name] = &still
	}
	return &f
}

// Batch returns what the board holds as one batch, without what is only on its timelines.
func (b *Board) Batch() Batch {
	batch := Batch{At: b.At, Local: b.Local, Server: b.Server, Sweep: b.Sweep, Cost: b.Cost}
	for _, k := range b.keys {
		if !k.Gone {
			batch.Readings = append(batch.Readings, k.Reading)
		}
	}
	return batch
}

// Past returns what the board holds as one batch, with what is on its timelines: applied
// to an empty board it leads to much the same.
func (b *Board) Past() Batch {
	batch := b.Batch()
	for i := range batch.Readings {
		r := &batch.Readings[i]
		r.Since, r.Arrivals, r.Trace = b.keys[r.Key].Timeline.report(r.At)
	}
	return batch
}

// Key returns what is known about a key, or nil.
func (b *Board) Key(name string) *Watched { return b.keys[name] }

// Keys returns all keys with what is known about them, in no order.
func (b *Board) Keys() iter.Seq2[string, *Watched] { return maps.All(b.keys) }

// Len returns how many keys are watched.
func (b *Board) Len() int { return len(b.keys) }

// Sort is an order of keys.
type Sort uint8

// The orders; each has the most pressing key first.
const (
	ByUtilization Sort = iota
	ByRate
	ByDenied
	ByNext
	ByName
	ByAlgorithm
	sorts // how many there are
)

var sortNames = [...]string{"utilization", "rate", "denied", "next", "name", "algorithm"}

// String names the order for the screen.
func (s Sort) String() string { return sortNames[s%sorts] }

// Succ returns the order after s, and the first after the last.
func (s Sort) Succ() Sort { return (s + 1) % sorts }

// View selects and orders keys.
type View struct {
	Sort    Sort
	Reverse bool
	Filter  string // letters that must appear in the name in this order, any case; "" all
}

// Select returns the keys that v asks for, pinned ones first. Keys that compare
// equal stay in the order of their names, so that rows do not swap for nothing.
func (b *Board) Select(v View) []*Watched {
	list := make([]*Watched, 0, len(b.keys))
	for name, k := range b.keys {
		if Fuzzy(name, v.Filter) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(x, y *Watched) int {
		if x.Pinned != y.Pinned {
			if x.Pinned {
				return -1
			}
			return 1
		}
		c := compare(v.Sort, x, y)
		if v.Reverse {
			c = -c
		}
		if c == 0 {
			c = strings.Compare(x.Reading.Key, y.Reading.Key)
		}
		return c
	})
	return list
}

func compare(s Sort, x, y *Watched) int {
	switch s {
	case ByRate:
		xs, _ := x.Gauge.Pace()
		ys, _ := y.Gauge.Pace()
		return cmp.Compare(ys, xs)
	case ByDenied:
		return cmp.Compare(y.Gauge.DeniedInW.N, x.Gauge.DeniedInW.N)
	case ByNext:
		return cmp.Compare(wait(y), wait(x))
	case ByName:
		return strings.Compare(x.Reading.Key, y.Reading.Key)
	case ByAlgorithm:
		return cmp.Compare(x.Reading.Target.Algorithm, y.Reading.Target.Algorithm)
	}
	return cmp.Compare(press(y), press(x))
}

// press orders by utilization, unknown last.
func press(k *Watched) float64 {
	switch {
	case k.Reading.Err != "" || k.Gone:
		return -2
	case !k.Gauge.Remaining.Known || k.Gauge.Likely:
		return -1
	}
	return k.Gauge.Utilization
}

// wait orders by the time to the next admission: never longest, unknown last.
func wait(k *Watched) time.Duration {
	if !k.Gauge.NextKnown {
		return -1
	}
	return k.Gauge.Next
}

// Fuzzy says whether the runes of pattern appear in name in their order, ignoring
// the case of ASCII letters.
func Fuzzy(name, pattern string) bool {
	rest := strings.ToLower(name)
	for _, r := range strings.ToLower(pattern) {
		i := strings.IndexRune(rest, r)
		if i < 0 {
			return false
		}
		rest = rest[i+len(string(r)):]
	}
	return true
}

// AtEase counts the keys that seem neither throttled nor near their limit by a reading that
// was taken before an instant.
func (b *Board) AtEase(before limiter.Instant) (n int) {
	for _, k := range b.keys {
		g := &k.Gauge
		if k.Reading.At < before && !k.Gone && k.Reading.Err == "" && g.NextKnown && !g.Likely && !g.Throttled() && !g.Near() {
			n++
		}
	}
	return n
}
