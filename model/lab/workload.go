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
//
// Where clients react to answers, what was made after a request fired by hand is made
// again, for they would not have sent it.
type Workload struct {
	source  Source
	made    []Arrival
	pending Arrival
	has     bool
	done    bool

	loop  *closedLoop // the source, where clients react to answers; else nil
	later []Arrival   // fired by hand, and not yet put among what is made again
	from  [2]loopMark // before the first arrival, and where the last request was fired by hand
}

// loopMark is a closedLoop as it was before arrival `at`.
type loopMark struct {
	at   int
	loop *closedLoop
}

// NewWorkload returns the workload of a source; nil makes nothing.
func NewWorkload(s Source) *Workload {
	t := &Workload{source: s, done: s == nil}
	if t.loop, _ = s.(*closedLoop); t.loop != nil {
		t.from[0].loop = t.loop.clone()
	}
	return t
}

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
	switch {
	case t.loop != nil:
		t.pending, t.has = t.loop.head()
		if len(t.later) > 0 && (!t.has || t.later[0].At < t.pending.At) {
			t.pending, t.has = t.later[0], true
		}
	case !t.has && !t.done:
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
	if t.loop != nil {
		if a.Fired {
			t.later = t.later[1:]
		}
		t.loop.pass(a)
	}
	t.made, t.has = append(t.made, a), false
}

// Insert puts an arrival before arrival i. Everything up to its instant must have been
// made. Where clients react to answers, Len is i + 1 then.
func (t *Workload) Insert(i int, a Arrival) {
	if t.loop == nil {
		t.made = slices.Insert(t.made, i, a)
		return
	}
	t.rewind(i)
	t.loop.pass(a)
	t.made = append(t.made, a)
}

// rewind takes back every arrival from number i on. Those fired by hand come again at
// their instants.
func (t *Workload) rewind(i int) {
	if i == len(t.made) {
		return
	}
	var again []Arrival
	for _, a := range t.made[i:] {
		if a.Fired {
			again = append(again, a)
		}
	}
	t.later = append(again, t.later...)
	t.made = t.made[:i]
	from := t.from[0]
	if near := t.from[1]; near.loop != nil && near.at <= i {
		from = near
	}
	t.loop = from.loop.clone()
	for _, a := range t.made[from.at:] {
		t.loop.pass(a)
	}
	t.from[1] = loopMark{i, t.loop.clone()}
}

// After returns the number of the first arrival later than at, among those made.
func (t *Workload) After(at limiter.Instant) int {
	return sort.Search(len(t.made), func(i int) bool { return t.made[i].At > at })
}

// From returns the number of the first arrival at or after at, among those made.
func (t *Workload) From(at limiter.Instant) int {
	return sort.Search(len(t.made), func(i int) bool { return t.made[i].At >= at })
}
