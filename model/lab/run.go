package lab

import (
	"time"

	"ratescope/limiter"
)

// checkpoint is everything as it was before arrival `at` was decided.
type checkpoint struct {
	at      int
	runners []runner
}

// position is a place that stepping passed.
type position struct {
	at  int
	now limiter.Instant
}

// Run is a comparison at a moment. Make one with NewRun.
type Run struct {
	setup    Setup
	workload *Workload
	runners  []runner // one a candidate
	at       int      // arrivals decided
	now      limiter.Instant
	verdicts []Verdicts
	marks    []checkpoint
	next     int // the arrival before which the next checkpoint is due
	trail    []position
	version  int
	selected int // the candidate that a person looks at, for the goals that ask
}

// NewRun returns a run at the beginning of its story. The setup must be valid.
func NewRun(s Setup, t *Workload) *Run {
	r := &Run{workload: t, setup: s.Clone(), now: s.Zero}
	for _, c := range s.Candidates {
		r.runners = append(r.runners, newRunner(c, &r.setup))
	}
	return r
}

// Setup returns the terms of the run.
func (r *Run) Setup() Setup { return r.setup.Clone() }

// Now returns the moment.
func (r *Run) Now() limiter.Instant { return r.now }

// Elapsed returns how long after the beginning of the story that is.
func (r *Run) Elapsed() time.Duration { return r.now.Sub(r.setup.Zero) }

// Decided returns how many arrivals have been decided about.
func (r *Run) Decided() int { return r.at }

// Version changes whenever something happened that is not just time passing on: going
// back, firing.
func (r *Run) Version() int { return r.version }

// Arrival returns arrival i, 0 <= i < Decided, and what became of it.
func (r *Run) Arrival(i int) (Arrival, Verdicts) { return r.workload.At(i), r.verdicts[i] }

// Since returns the number of the first decided arrival at or after an instant.
func (r *Run) Since(at limiter.Instant) int { return min(r.workload.From(at), r.at) }

// Counts returns how candidate i has fared.
func (r *Run) Counts(i int) Counts { return r.runners[i].counts }

// Select says which candidate a person looks at.
func (r *Run) Select(i int) {
	if i != r.selected {
		r.selected = min(max(i, 0), len(r.runners)-1)
		r.version++
	}
}

// State returns a copy of what candidate i keeps.
func (r *Run) State(i int) limiter.State { return r.runners[i].state.Clone() }

// Bytes returns what candidate i takes on a server now; see Stored.Bytes.
func (r *Run) Bytes(i int) int64 {
	l := &r.runners[i]
	return l.stored.Bytes(l.candidate, l.state, r.now, r.setup)
}

// bytesAtLast is Bytes at the last arrival that was decided about: later keys expire.
func (r *Run) bytesAtLast(i int) int64 {
	l, at := &r.runners[i], r.now
	if r.at > 0 {
		at = r.workload.At(r.at - 1).At
	}
	return l.stored.Bytes(l.candidate, l.state, at, r.setup)
}

// Terms returns the convention that candidate i goes by.
func (r *Run) Terms(i int) limiter.Convention { return r.runners[i].convention }

// Upcoming returns the next arrival, if there is one.
func (r *Run) Upcoming() (Arrival, bool) {
	if r.at >= r.workload.Len() && !r.workload.More() {
		return Arrival{}, false
	}
	return r.workload.At(r.at), true
}

// Coming returns the arrivals that come by themselves from now up to an instant, none of
// them decided yet.
func (r *Run) Coming(until limiter.Instant) []Arrival {
	r.workload.Until(until)
	return append([]Arrival(nil), r.workload.made[r.at:max(r.at, r.workload.After(until))]...)
}
