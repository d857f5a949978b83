package model

import (
	"maps"
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
)

// injection is a request that was fired from here.
type injection struct {
	at     limiter.Instant
	cost   int64
	denied bool
}

// maxInjections bounds the injections that a key remembers: two orders of MaxRequests.
const maxInjections = 2 * MaxRequests

// inject remembers a request that was fired from here, and drops those that are older than the
// timeline reaches.
func (k *Watched) inject(f *Fired) {
	if len(k.injected) >= maxInjections {
		k.forgotten = max(k.forgotten, k.injected[0].at)
		k.injected = k.injected[1:]
	}
	for len(k.injected) > 0 && f.At.Sub(k.injected[0].at) > k.Timeline.Reach() {
		k.injected = k.injected[1:]
	}
	if f.Outcome == Admitted && f.Decision.Used <= max(f.Cost, 1) {
		k.anchor.opened = max(k.anchor.opened, f.At)
	}
	k.injected = append(k.injected, injection{f.At, max(f.Cost, 1), f.Outcome == Denied}) // a frozen board shares the earlier elements
}

// forget drops the injections of a key whose counter fell within its window: the key was freed or
// units were given back, so that it is unknown which injections still count.
func (k *Watched) forget(r *Reading) {
	was := &k.Reading.State
	if len(k.injected) > 0 && describe.KindOf(r.Target.Algorithm) != describe.Log && r.State.Start == was.Start &&
		r.State.Current < was.Current {
		k.injected, k.forgotten = nil, r.At
	}
}

// Subtracted is the number of Keys from which Organic has subtracted injected requests, and of those
// that have Kept them because they cannot be subtracted.
type Subtracted struct{ Keys, Kept int }

// Organic returns a copy of the board at now without the requests that were fired from here. They
// are removed from logs and from the counters of their windows. For GCRA and buckets they are
// refunded, if no request of another client can have come while the key would have been empty
// without them. For a window that begins with its first request they are subtracted if that
// request was another client's. Other keys, and keys that are read as counts, keep them with a note
// that says so. The copy shares with b the keys at which nothing was fired, so that it is valid
// until the next batch.
func (b *Board) Organic(now limiter.Instant) (*Board, Subtracted) {
	var s Subtracted
	f := b.copy(now, func(of *Watched) *Watched {
		if len(of.injected) == 0 && of.forgotten == 0 {
			return of
		}
		k := *of
		k.Timeline = of.Timeline.Freeze()
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
		return &k
	})
	return f, s
}

// subtractable reports whether the requests fired from here can be subtracted.
func (k *Watched) subtractable(now limiter.Instant) bool {
	r := &k.Reading
	switch {
	case r.Err != "" || r.Partial || slices.Contains(r.Notes, TooHot):
		return false
	case k.forgotten > 0 && now.Sub(k.forgotten) <= 2*r.Target.span():
		return false
	}
	switch describe.KindOf(r.Target.Algorithm) {
	case describe.Log:
		return true
	case describe.Window, describe.Weighted:
		charged := r.Target.Foreign() && slices.ContainsFunc(k.injected, func(i injection) bool { return i.denied })
		return r.Target.Window > 0 && !charged && (r.Target.Convention.Alignment == convention.Epoch || k.anchoredByOthers())
	case describe.Arrival, describe.Bucket:
		unit := r.Target.emission()
		return unit > 0 && (k.owed == nil || !k.owed.at(r.At, unit).broken)
	}
	return false
}

// anchoredByOthers reports whether the present window, which began with its first request, would
// have begun at the same instant without the requests fired from here.
func (k *Watched) anchoredByOthers() bool {
	r := &k.Reading
	if !r.Target.anchors() || slices.Contains(r.Notes, WindowInferred) || k.anchor.opened > 0 {
		return false
	}
	return !slices.ContainsFunc(k.injected, func(i injection) bool { return i.at.Sub(r.State.Start).Abs() <= anchorSlack })
}

// subtract subtracts the requests fired from here from the reading and the timeline of a frozen key.
// denials is set for the embedded server, which alone records denied ones.
func (k *Watched) subtract(denials bool) {
	r, w := &k.Reading, k.Reading.Target.span()
	r.State = r.State.Clone()
	s := &r.State
	if unit := r.Target.emission(); unit > 0 && k.owed != nil {
		limit, _ := r.terms()
		s.Refund(r.At, limit, r.Target.Convention, k.owed.at(r.At, unit).units)
	}
	bins := map[int64]int64{} // admitted units, by bin
	for _, i := range k.injected {
		if bin := k.Timeline.Index(i.at); k.Timeline.peek(bin).InjectedAdmitted+k.Timeline.peek(bin).InjectedDenied > 0 {
			k.Timeline.at(bin).InjectedAdmitted, k.Timeline.at(bin).InjectedDenied = 0, 0
		}
		if i.at > r.At {
			continue // later than the reading
		}
		if i.denied {
			if !denials {
				continue
			}
			if r.Denied.Known && r.At.Sub(i.at) < w {
				r.Denied.N = max(r.Denied.N-i.cost, 0)
			}
			if d := &k.denied; i.at >= d.since {
				d.units = max(d.units-float64(i.cost)*weight(d.last.Sub(i.at)), 0)
			}
			k.Timeline.withdraw(k.Timeline.Index(i.at), k.Timeline.Index(r.At), i.cost, true)
			continue
		}
		bins[k.Timeline.Index(i.at)] += i.cost
		k.recent.withdraw(i.at, i.cost)
		switch {
		case describe.KindOf(r.Target.Algorithm) == describe.Log:
			takeFromLog(s.Log, i.at.Floor(r.Target.Layout.Unit), i.cost)
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

// others returns how many units other clients asked for from an instant to now. Denied ones fired from here take nothing off what was
// admitted, unless the key is charged for them, because most servers do not record them.
func (k *Watched) others(from, now limiter.Instant, charged bool) int64 {
	b := k.Timeline.Between(from, now)
	first, last := k.Timeline.Index(from), k.Timeline.Index(now-1)
	own := map[bool]int64{} // units of the requests fired from here, by whether they were denied
	for _, i := range k.injected {
		if bin := k.Timeline.Index(i.at); first <= bin && bin <= last {
			own[i.denied] += i.cost
		}
	}
	admitted := b.Admitted - max(own[false], int64(b.InjectedAdmitted)) // of which k.injected has forgotten some
	denied := b.Denied - max(own[true], int64(b.InjectedDenied))
	if charged {
		return max(admitted+denied, 0)
	}
	return max(admitted, 0) + max(denied, 0)
}

// lowerDrained subtracts the units charged in bins from the later levels of a key that drains, until
// a level of 0.
func (t *Timeline) lowerDrained(bins map[int64]int64) {
	if len(bins) == 0 {
		return
	}
	owed := int64(0)
	for i := slices.Min(slices.Collect(maps.Keys(bins))); i <= t.seen; i++ {
		p := t.peek(i)
		if p.UsedKnown && p.Used == 0 {
			owed = 0
		}
		if owed += bins[i]; p.UsedKnown && owed > 0 {
			b := t.at(i)
			b.Used = max(b.Used-owed, 0)
		}
	}
}

// takeFromLog subtracts a cost from the entries of an instant. Missing units were taken back before.
func takeFromLog(log []limiter.Entry, at limiter.Instant, cost int64) {
	for i := sort.Search(len(log), func(i int) bool { return log[i].At >= at }); i < len(log) && log[i].At == at && cost > 0; i++ {
		n := min(log[i].Count, cost)
		log[i].Count -= n
		cost -= n
	}
}

// withdraw subtracts a cost from bin i and, as far as that holds too little, from the bins after it
// up to last, because a counter's units arrive with the next reading.
func (t *Timeline) withdraw(i, last, cost int64, denied bool) {
	for end := min(last, i+BinsPerWindow/4); i <= end && cost > 0; i++ {
		if p := t.peek(i); p.Admitted+p.Denied == 0 {
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

// lower subtracts a cost charged in bin i from the levels for as long as it counted: for a window
// (logs), to the end of its clock-aligned window (fixed windows), or with falling weight to the end
// of the next one (weighted windows).
func (t *Timeline) lower(i, cost int64, a limiter.Algorithm) {
	edge := (FloorDiv(i, BinsPerWindow) + 1) * BinsPerWindow // the first bin of the next window
	end := i + BinsPerWindow
	switch describe.KindOf(a) {
	case describe.Window:
		end = edge
	case describe.Weighted:
		end = edge + BinsPerWindow
	}
	for j := i; j < end && j <= t.seen; j++ {
		n := cost
		if describe.KindOf(a) == describe.Weighted && j >= edge {
			n = cost * (end - j) / BinsPerWindow
		}
		if p := t.peek(j); p.UsedKnown && n > 0 {
			b := t.at(j)
			b.Used = max(b.Used-n, 0)
		}
	}
}

// withdraw subtracts units from the second in which they came.
func (c *recent) withdraw(at limiter.Instant, n int64) {
	second := int64(at) / 1e6
	if second > c.second-int64(len(c.units)) && second <= c.second {
		u := &c.units[second%int64(len(c.units))]
		*u = max(*u-n, 0)
	}
}

// anchor follows the windows of a key that begin with their first request, and finds out whether
// they would have begun at the same instants without the requests fired from here. If one of these
// began a window, the windows after it may have moved too, until there was no window for the length
// of one.
type anchor struct {
	opened limiter.Instant // when a request fired from here last began a window; 0 if no window is moved
	start  limiter.Instant // of the newest window
	quiet  limiter.Instant // since when there is no window, as far as is known
	at     limiter.Instant // of the newest reading
}

// anchorSlack is the possible distance of a window's start from the request that began it, because
// the start is calculated from an expiry in milliseconds.
const anchorSlack = 2 * time.Millisecond

// anchors reports whether the windows of a target begin with their first request and have a known
// length.
func (t *Target) anchors() bool {
	return describe.KindOf(t.Algorithm) == describe.Window && t.Convention.Alignment == convention.FirstRequest && t.Window > 0
}

func (a *anchor) observe(r *Reading) {
	w, s := r.Target.Window, r.State.Start
	seen := r.At.Sub(a.at) < w // no whole window can have passed since the previous reading
	switch live := r.State.Current > 0 && s.Add(w) > r.At; {
	case !live && !seen:
		a.quiet = r.At
	case live && s > a.start.Add(anchorSlack):
		if (seen || s.Sub(a.at) < w) && s.Sub(a.quiet) >= w && a.opened < s.Add(-anchorSlack) {
			a.opened = 0
		}
		a.start = s
		fallthrough
	case live:
		a.quiet = s.Add(w)
	}
	a.at = r.At
}

// owed counts the units that requests fired from here have charged to a key that drains, GCRA or a
// bucket, and that are still charged.
//
// Each observation gives the instant at which the key will be empty. Without the injected units it
// would be empty earlier, by one emission interval for each, unless it would have been empty in
// between: a request of another client at an empty key is charged from its own instant, and the
// difference shrinks by the idle time. Between two observations the key is empty no earlier than
// the first one says, so that this can be decided without seeing every request. Once the key is
// empty, nothing is owed.
type owed struct {
	base account
	list []observed // observations after base, in the order of their instants
}

// observed is an observation, from a reading or from the answer to an injected request: as of at,
// the key will be empty at asNew.
type observed struct {
	at, asNew limiter.Instant
	cost      int64 // of the request; 0 for a reading
}

// account is the state after some of the observations.
type account struct {
	at, asNew limiter.Instant
	units     int64 // injected units that are still charged
	broken    bool  // units is unknown
}

// maxObserved bounds owed.list. Observations that come out of order by more than that make the
// account unknown.
const maxObserved = 64

// observe adds an observation, possibly after later ones. unit is the emission interval in
// nanoseconds.
func (o *owed) observe(x observed, unit float64) {
	i, _ := slices.BinarySearchFunc(o.list, x, func(a, b observed) int { return int(min(max(a.at-b.at, -1), 1)) })
	switch {
	case x.at < o.base.at:
		o.base.broken = true
	case len(o.list) == 0 && o.base == account{}:
		o.base = account{at: x.at, asNew: x.asNew.Add(-drainTime(x.cost, unit))}
	}
	if o.list = slices.Insert(o.list, i, x); len(o.list) > maxObserved {
		o.base.take(o.list[0], unit)
		o.list = o.list[1:]
	}
}

func (o *owed) at(now limiter.Instant, unit float64) account {
	a := o.base
	if now < a.at {
		a.broken = true
	}
	for _, x := range o.list {
		if x.at <= now {
			a.take(x, unit)
		}
	}
	return a
}

// clone returns a deep copy of o; nil for nil.
func (o *owed) clone() *owed {
	if o == nil {
		return nil
	}
	return &owed{base: o.base, list: slices.Clone(o.list)}
}

// rounding is the possible difference between two observations of the same state.
const rounding = 5 * time.Microsecond

// take adds the next observation in the order of their instants.
func (a *account) take(x observed, unit float64) {
	before := x.asNew.Add(-drainTime(x.cost, unit))
	slack := min(rounding, time.Duration(unit/2))
	came := before.Sub(a.asNew) // the emission intervals of other clients' requests
	switch {
	case before <= x.at: // the key was empty before the request
		a.units, a.broken = 0, false
	case came < -slack: // units were given back
		a.broken = true
	case came > slack && a.asNew.Add(-drainTime(a.units, unit)) < x.at:
		a.broken = true
	}
	a.at, a.asNew = x.at, x.asNew
	a.units += x.cost
}

func drainTime(units int64, unit float64) time.Duration { return time.Duration(float64(units) * unit) }

// emission returns the emission interval of a target in nanoseconds; 0 if it does not drain evenly,
// or if its library rounds times.
func (t *Target) emission() float64 {
	drains := describe.KindOf(t.Algorithm) == describe.Arrival || describe.KindOf(t.Algorithm) == describe.Bucket && !t.Foreign()
	if !drains || !t.LimitKnown || t.Limit.Count <= 0 || t.Window <= 0 || t.Tick > time.Microsecond ||
		t.Convention.Refill == convention.Interval {
		return 0
	}
	return float64(t.Window) / float64(t.Limit.Count)
}

// owe adds a request that was fired from here.
func (k *Watched) owe(f *Fired) {
	unit := k.Reading.Target.emission()
	if unit == 0 || f.Outcome != Admitted {
		return
	}
	if k.owed == nil {
		k.owed = &owed{}
	}
	k.owed.observe(observed{f.At, f.At.Add(f.Decision.ResetAfter), max(f.Cost, 1)}, unit)
}

// settle adds a reading of a key, if injected units are charged to it.
func (k *Watched) settle(r *Reading) {
	if k.owed == nil {
		return
	}
	unit := r.Target.emission()
	if unit == 0 || r.Err != "" || r.Partial {
		k.owed.base.broken = true
		return
	}
	limit, _ := r.terms()
	d := r.State.Peek(r.At, limit, r.Target.Convention, 0)
	k.owed.observe(observed{at: r.At, asNew: r.At.Add(d.ResetAfter)}, unit)
	if last := k.owed.list[len(k.owed.list)-1]; last.asNew <= last.at && last.cost == 0 {
		k.owed = nil
	}
}
