package model

import (
	"maps"
	"slices"
	"sort"

	"ratescope/limiter"
)

// injection is one request that was fired from here.
type injection struct {
	at     limiter.Instant
	cost   int64
	denied bool
}

// maxInjections bounds what one key remembers of the requests fired at it: two orders of the
// largest number.
const maxInjections = 2 * MaxRequests

// inject remembers a request that was fired from here, as far back as the timeline reaches.
func (k *Watched) inject(f *Fired) {
	if len(k.injected) >= maxInjections {
		k.forgotten = max(k.forgotten, k.injected[0].at)
		k.injected = k.injected[1:]
	}
	for len(k.injected) > 0 && f.At.Sub(k.injected[0].at) > k.Timeline.Reach() {
		k.injected = k.injected[1:]
	}
	if f.Outcome == Admitted && f.Decision.Used <= max(f.Cost, 1) {
		k.anchor.open(f.At)
	}
	k.injected = append(k.injected, injection{f.At, max(f.Cost, 1), f.Outcome == Denied}) // a frozen board shares what is before it
}

// forget notes that a counter fell within its window: the key was freed, or units were given
// back, and which of the requests fired from here it still counts is not known.
func (k *Watched) forget(r *Reading) {
	was := &k.Reading.State
	if len(k.injected) > 0 && r.Target.Algorithm.Kind() != limiter.KindLog && r.State.Start == was.Start && r.State.Current < was.Current {
		k.injected, k.forgotten = nil, r.At
	}
}

// Subtracted says what Organic could subtract: of how many keys, and how many keep their injected
// requests because those cannot be told from the others.
type Subtracted struct{ Keys, Kept int }

// Organic returns the board as it stands at now without the requests that were fired from here:
// without the members of logs that are theirs, and less their counts in the counters of their
// windows. Of GCRA and buckets they are refunded, as long as no request of others can have met a key that would
// have been as new without them; of windows that begin with their first request they are subtracted
// where that was one of others. Elsewhere, and of keys that are read as counts, they cannot be told apart: those
// keep them, and a note says so. It shares with b the keys at which nothing was fired, so that it holds until
// the next batch.
func (b *Board) Organic(now limiter.Instant) (*Board, Subtracted) {
	f := *b
	f.At, f.summed = now, false
	f.alerts, f.samples = slices.Clone(b.alerts), slices.Clone(b.samples)
	f.keys = maps.Clone(b.keys) // a key at which nothing was fired is that of b
	var s Subtracted
	for name, of := range b.keys {
		if len(of.injected) == 0 && of.forgotten == 0 {
			continue
		}
		still := *of
		k := &still
		k.Timeline = of.Timeline.Freeze()
		f.keys[name] = k
		note := InjectedKept
		if k.subtractable(now) {
			k.subtract(b.Server.Embedded)
			note = WithoutInjected
			s.Keys++
		} else {
			s.Kept++
		}
		k.Reading.Notes = append(slices.Clip(k.Reading.Notes), note)
		k.Gauge = k.Reading.Gauge(now)
		k.paceByArrivals(now)
	}
	return &f, s
}

// subtractable says whether the requests fired from here can be told from the others.
func (k *Watched) subtractable(now limiter.Instant) bool {
	r := &k.Reading
	switch {
	case r.Err != "" || r.Partial || slices.Contains(r.Notes, TooHot):
		return false
	case k.forgotten > 0 && now.Sub(k.forgotten) <= 2*r.Target.span():
		return false
	}
	switch r.Target.Algorithm.Kind() {
	case limiter.KindLog:
		return true
	case limiter.KindWindow, limiter.KindWeighted:
		return r.Target.Window > 0 && !k.chargedDenied() && (r.Target.Convention.Alignment == limiter.AlignEpoch || k.anchoredByOthers())
	case limiter.KindArrival, limiter.KindBucket:
		unit := r.Target.emission()
		return unit > 0 && (k.owed == nil || !k.owed.at(r.At, unit).broken)
	}
	return false
}

// chargedDenied says whether denied requests fired from here may be among what a library counts.
func (k *Watched) chargedDenied() bool {
	return k.Reading.Target.Foreign() && slices.ContainsFunc(k.injected, func(i injection) bool { return i.denied })
}

// anchoredByOthers says whether the window that counts now, which began with its first request, would have begun
// at the same instant without the requests fired from here.
func (k *Watched) anchoredByOthers() bool {
	r := &k.Reading
	if !r.Target.anchors() || slices.Contains(r.Notes, WindowInferred) || k.anchor.moved() {
		return false
	}
	return !slices.ContainsFunc(k.injected, func(i injection) bool { return i.at.Sub(r.State.Start).Abs() <= anchorSlack })
}

// subtract takes the requests fired from here off the reading and the timeline of a frozen key.
// The denied ones were recorded, and arrived, on the embedded server alone.
func (k *Watched) subtract(denials bool) {
	r, w := &k.Reading, k.Reading.Target.span()
	r.State = r.State.Clone()
	s := &r.State
	if unit := r.Target.emission(); unit > 0 && k.owed != nil {
		limit := r.Target.Limit
		limit.Window = r.Target.Window
		s.Refund(r.At, limit, r.Target.Convention, k.owed.at(r.At, unit).units)
	}
	bins := map[int64]int64{} // what was admitted, by bin
	for _, i := range k.injected {
		k.Timeline.unmark(k.Timeline.Index(i.at))
		if i.at > r.At {
			continue // not read yet
		}
		if i.denied {
			if !denials {
				continue
			}
			if r.Denied.Known && r.At.Sub(i.at) < w {
				r.Denied.N = max(r.Denied.N-i.cost, 0)
			}
			k.Timeline.withdraw(k.Timeline.Index(i.at), k.Timeline.Index(r.At), i.cost, true)
			continue
		}
		bins[k.Timeline.Index(i.at)] += i.cost
		k.recent.withdraw(i.at, i.cost)
		switch {
		case r.Target.Algorithm.Kind() == limiter.KindLog:
			takeFromLog(s.Log, r.Target.stamp(i.at), i.cost)
		case i.at >= s.Start && i.at < s.Start.Add(w):
			s.Current = max(s.Current-i.cost, 0)
		case i.at < s.Start && i.at >= s.Start.Add(-w):
			s.Previous = max(s.Previous-i.cost, 0)
		}
	}
	s.Log = slices.DeleteFunc(s.Log, func(e limiter.Entry) bool { return e.Count == 0 })
	for bin, cost := range bins {
		k.Timeline.withdraw(bin, k.Timeline.Index(r.At), cost, false)
		if !r.Target.Algorithm.Bursts() {
			k.Timeline.lower(bin, cost, r.Target.Algorithm)
		}
	}
	if r.Target.Algorithm.Bursts() {
		k.Timeline.lowerDrained(bins)
	}
}

// lowerDrained takes what was charged in bins off the levels of used of a key that drains, until it was as new.
func (t *Timeline) lowerDrained(bins map[int64]int64) {
	if len(bins) == 0 {
		return
	}
	owed := int64(0)
	for i := slices.Min(slices.Collect(maps.Keys(bins))); i <= t.seen; i++ {
		p, _ := t.peek(i)
		if p.UsedKnown && p.Used == 0 {
			owed = 0
		}
		if owed += bins[i]; p.UsedKnown && owed > 0 {
			b := t.at(i)
			b.Used = max(b.Used-owed, 0)
		}
	}
}

// stamp is the instant under which a log keeps a request.
func (t *Target) stamp(at limiter.Instant) limiter.Instant {
	if t.Layout.Unit > 0 {
		return at.Floor(t.Layout.Unit)
	}
	return at
}

// takeFromLog takes a cost off the entries of an instant; what is there no more was taken back.
func takeFromLog(log []limiter.Entry, at limiter.Instant, cost int64) {
	for i := sort.Search(len(log), func(i int) bool { return log[i].At >= at }); i < len(log) && log[i].At == at && cost > 0; i++ {
		n := min(log[i].Count, cost)
		log[i].Count -= n
		cost -= n
	}
}

// withdraw takes a cost off bin i, and what is not there off the ones after it up to a bin: what a
// counter has counted is seen by the reading after it.
func (t *Timeline) withdraw(i, last, cost int64, denied bool) {
	for end := min(last, i+BinsPerWindow/4); i <= end && cost > 0; i++ {
		if p, _ := t.peek(i); p.Admitted+p.Denied == 0 {
			continue
		}
		b := t.at(i)
		of := &b.Admitted
		if denied {
			of = &b.Denied
		}
		n := min(*of, cost)
		*of -= n
		cost -= n
	}
}

// unmark takes the marks of requests fired from here off a bin.
func (t *Timeline) unmark(i int64) {
	if p, _ := t.peek(i); p.InjectedAdmitted+p.InjectedDenied > 0 {
		b := t.at(i)
		b.InjectedAdmitted, b.InjectedDenied = 0, 0
	}
}

// lower takes a cost that was charged in bin i off the levels of used as long as it counted there:
// a window long, to the end of its clock-aligned window, or less and less to the end of the next.
func (t *Timeline) lower(i, cost int64, a limiter.Algorithm) {
	edge := (floorDiv(i, BinsPerWindow) + 1) * BinsPerWindow // the first bin of the next window
	end := i + BinsPerWindow
	switch a.Kind() {
	case limiter.KindWindow:
		end = edge
	case limiter.KindWeighted:
		end = edge + BinsPerWindow
	}
	for j := i; j < end && j <= t.seen; j++ {
		n := cost
		if a.Kind() == limiter.KindWeighted && j >= edge {
			n = cost * (end - j) / BinsPerWindow
		}
		if p, _ := t.peek(j); p.UsedKnown && n > 0 {
			b := t.at(j)
			b.Used = max(b.Used-n, 0)
		}
	}
}

// withdraw takes units off the second that they came in.
func (c *recent) withdraw(at limiter.Instant, n int64) {
	second := int64(at) / 1e6
	if second > c.second-int64(len(c.units)) && second <= c.second {
		u := &c.units[second%int64(len(c.units))]
		*u = max(*u-n, 0)
	}
}
