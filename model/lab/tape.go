package lab

import (
	"slices"
	"sort"

	"ratescope/limiter"
)

// Arrival is one request on its way to every contender.
type Arrival struct {
	At    limiter.Instant
	Cost  int64
	Key   int32 // which of many keys it is for; 0 where there is one
	Fired bool  // by hand, not by a traffic model
}

// Source makes arrivals in the order of time. Next is called once an arrival; it says
// false when there are no more.
type Source interface {
	Next() (Arrival, bool)
}

// maxArrivals bounds what a tape holds, so that a clock left running at speed 50 for an
// evening does not fill the memory.
const maxArrivals = 4_000_000

// Tape is the stream of arrivals: what its source makes, asked for as far as somebody
// looks, and what was fired by hand in between.
type Tape struct {
	source  Source
	made    []Arrival
	pending Arrival
	has     bool
	done    bool
}

// NewTape returns the tape of a source; nil makes nothing.
func NewTape(s Source) *Tape { return &Tape{source: s, done: s == nil} }

// Len returns how many arrivals have been made so far.
func (t *Tape) Len() int { return len(t.made) }

// At returns arrival i, 0 <= i < Len.
func (t *Tape) At(i int) Arrival { return t.made[i] }

// Until makes every arrival up to and including the instant at.
func (t *Tape) Until(at limiter.Instant) {
	for t.peek() && t.pending.At <= at {
		t.take()
	}
}

// More makes one arrival beyond the ones there are, and says whether there was one.
func (t *Tape) More() bool {
	if !t.peek() {
		return false
	}
	t.take()
	return true
}

func (t *Tape) peek() bool {
	if !t.has && !t.done {
		t.pending, t.has = t.source.Next()
		t.done = !t.has
	}
	return t.has && len(t.made) < maxArrivals
}

func (t *Tape) take() {
	a := t.pending
	if n := len(t.made); n > 0 { // a model that errs must not send the clock back
		a.At = max(a.At, t.made[n-1].At)
	}
	t.made, t.has = append(t.made, a), false
}

// Insert puts an arrival before arrival i. Everything up to its instant must have been
// made.
func (t *Tape) Insert(i int, a Arrival) { t.made = slices.Insert(t.made, i, a) }

// After returns the number of the first arrival later than at, among those made.
func (t *Tape) After(at limiter.Instant) int {
	return sort.Search(len(t.made), func(i int) bool { return t.made[i].At > at })
}

// From returns the number of the first arrival at or after at, among those made.
func (t *Tape) From(at limiter.Instant) int {
	return sort.Search(len(t.made), func(i int) bool { return t.made[i].At >= at })
}
