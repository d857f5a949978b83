package model

import (
	"slices"
	"time"

	"ratescope/limiter"
)

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

// at returns the account as of an instant.
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

// drainTime returns the time in which so many units drain.
func drainTime(units int64, unit float64) time.Duration { return time.Duration(float64(units) * unit) }

// emission returns the emission interval of a target in nanoseconds; 0 if it does not drain evenly,
// or if its library rounds times.
func (t *Target) emission() float64 {
	drains := t.Algorithm.Kind() == limiter.KindArrival || t.Algorithm.Kind() == limiter.KindBucket && !t.Foreign()
	if !drains || !t.LimitKnown || t.Limit.Count <= 0 || t.Window <= 0 || t.Tick > time.Microsecond || t.Convention.Refill == limiter.RefillInterval {
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
