package model

import (
	"slices"
	"time"

	"ratescope/limiter"
)

// owed is what requests fired from here have put onto a key that drains, GCRA or a bucket, and whether it can be
// taken off exactly. Without them the key would be as new earlier, by the emission intervals of their units, as long
// as it was never as new in between: a request of others that comes to a key that is as new counts from
// itself, and the difference shrinks by the idle time. Between two observations the key is as new at the earliest
// when the former said, so that this is known without watching every request. When the key itself is as new,
// nothing is owed any more.
type owed struct {
	base account
	list []observed // since base, in the order of their instants
}

// observed is when a key was as new as of an instant: as a reading says, or the answer to a request that was
// fired from here.
type observed struct {
	at, asNew limiter.Instant
	cost      int64 // of the request; 0 of a reading
}

// account is what is owed after some of the observations.
type account struct {
	at, asNew limiter.Instant
	units     int64
	broken    bool // how many units of them the key still holds is not known
}

// maxObserved bounds the observations that are kept apart: what is reported later than so many others
// came is not taken in any more.
const maxObserved = 64

// observe takes in an observation, which may come after later ones. unit is the emission interval.
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

// at returns what is owed as of an instant.
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

// clone returns a copy that shares nothing with o; nil of nil.
func (o *owed) clone() *owed {
	if o == nil {
		return nil
	}
	return &owed{base: o.base, list: slices.Clone(o.list)}
}

// rounding is how far the instants of two observations of the same state may lie apart.
const rounding = 5 * time.Microsecond

// take takes an observation in, in the order of their instants.
func (a *account) take(x observed, unit float64) {
	before := x.asNew.Add(-drainTime(x.cost, unit))
	slack := min(rounding, time.Duration(unit/2))
	came := before.Sub(a.asNew) // of others, in emission intervals
	switch {
	case before <= x.at: // it was as new, and with less on it as well
		a.units, a.broken = 0, false
	case came < -slack: // something was given back
		a.broken = true
	case came > slack && a.asNew.Add(-drainTime(a.units, unit)) < x.at:
		a.broken = true
	}
	a.at, a.asNew = x.at, x.asNew
	a.units += x.cost
}

// drainTime is how long so many units take to come back.
func drainTime(units int64, unit float64) time.Duration { return time.Duration(float64(units) * unit) }

// emission returns the emission interval of a target in nanoseconds; 0 where it does not drain evenly, or its
// library rounds its times.
func (t *Target) emission() float64 {
	drains := t.Algorithm.Kind() == limiter.KindArrival || t.Algorithm.Kind() == limiter.KindBucket && !t.Foreign()
	if !drains || !t.LimitKnown || t.Limit.Count <= 0 || t.Window <= 0 || t.Tick > time.Microsecond || t.Convention.Refill == limiter.RefillInterval {
		return 0
	}
	return float64(t.Window) / float64(t.Limit.Count)
}

// owe takes in a request that was fired from here.
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

// settle takes in what a reading says of a key that something is owed to.
func (k *Watched) settle(r *Reading) {
	if k.owed == nil {
		return
	}
	unit := r.Target.emission()
	if unit == 0 || r.Err != "" || r.Partial {
		k.owed.base.broken = true
		return
	}
	limit := r.Target.Limit
	limit.Window = r.Target.Window
	d := r.State.Peek(r.At, limit, r.Target.Convention, 0)
	k.owed.observe(observed{at: r.At, asNew: r.At.Add(d.ResetAfter)}, unit)
	if last := k.owed.list[len(k.owed.list)-1]; last.asNew <= last.at && last.cost == 0 {
		k.owed = nil
	}
}
