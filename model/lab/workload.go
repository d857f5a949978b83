package lab

import (
	"slices"
	"sort"

	"ratescope/limiter"
)

// Arrival is one request on its way to every candidate.
type Arrival struct {
	At    limiter.Instant
	Cost  int64
	Key   int32 // which of many keys it is for; 0 where there is one
	Fired bool  // by hand, not by a traffic model
	Only  int8  // the one candidate that it is sent to, from 1; 0 is all of them
}

// sentTo reports whether the arrival is sent to candidate i.
func (a Arrival) sentTo(i int) bool { return a.Only == 0 || int(a.Only) == i+1 }

// Source makes arrivals in the order of time. Next is called once an arrival; it says
// false when there are no more.
type Source interface {
	Next() (Arrival, bool)
}

// maxArrivals bounds what a workload holds, so that a clock left running at speed 50 for an
// evening does not fill the memory.
const maxArrivals = 4_000_000

// Workload is the sequence of arrivals: what its source makes, as far as it was looked
// at, and what was fired by hand in between.
type Workload struct {
	source  Source
	made    []Arrival
	pending Arrival
	has     bool
	done    bool
}

// NewWorkload returns the workload of a source; nil makes nothing.
func NewWorkload(s Source) *Workload { return &Workload{source: s, done: s == nil} }

// Len returns how many arrivals have been made so far.
func (t *Workload) Len() int { return len(t.made) }

// At returns arrival i, 0 <= i < Len.
func (t *Workload) At(i int) Arrival { return t.made[i] }

// Until makes every arrival up to and including the instant at.
func (t *Workload) Until(at limiter.Instant) {
	for t.peek() && t.pending.At <= at {
		t.take()
	}
}

// More makes one arrival beyond the ones there are, and says whether there was one.
func (t *Workload) More() bool {
	if !t.peek() {
		return false
	}
	t.take()
	return true
}

func (t *Workload) peek() bool {
	if !t.has && !t.done {
		t.pending, t.has = t.source.Next()
		t.done = !t.has
	}
	return t.has && len(t.made) < maxArrivals
}

func (t *Workload) take() {
	a := t.pending
	if n := len(t.made); n > 0 { // a model that errs must not send the clock back
		a.At = max(a.At, t.made[n-1].At)
	}
	t.made, t.has = append(t.made, a), false
}

// Insert puts an arrival before arrival i. Everything up to its instant must have been
// made.
func (t *Workload) Insert(i int, a Arrival) { t.made = slices.Insert(t.made, i, a) }

// After returns the number of the first arrival later than at, among those made.
func (t *Workload) After(at limiter.Instant) int {
	return sort.Search(len(t.made), func(i int) bool { return t.made[i].At > at })
}

// From returns the number of the first arrival at or after at, among those made.
func (t *Workload) From(at limiter.Instant) int {
	return sort.Search(len(t.made), func(i int) bool { return t.made[i].At >= at })
}
