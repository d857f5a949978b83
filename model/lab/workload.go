package lab

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"sort"

	"ratescope/limiter"
	"ratescope/model/collect"
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
	t.later = append(collect.Only(t.made[i:], func(a Arrival) bool { return a.Fired }), t.later...)
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

// closedLoop is traffic of which some clients wait for the answer to a request before they
// send the next one. Unlike another source it has to hear of every request that any
// candidate gets, those fired by hand among them: they change the answers.
//
// It decides about each arrival when that is passed to it and no sooner, so that its clients
// have the answer to a request fired by hand before they send one at a later instant.
type closedLoop struct {
	setup   Setup
	runners []runner // one a candidate
	streams []stream
	passed  int
}

// stream is a part of a closedLoop.
type stream interface {
	// head returns the next arrival without consuming it, if there is one.
	head() (Arrival, bool)
	// advance consumes the next arrival, which was admitted or denied.
	advance(allowed bool)
	clone() stream
}

// newClosedLoop joins sources under a setup.
func newClosedLoop(s Setup, sources []Source) *closedLoop {
	l := &closedLoop{setup: s.Clone()}
	l.runners = collect.Map(l.setup.Candidates, func(c Candidate) runner { return newRunner(c, &l.setup) })
	for _, source := range sources {
		if other, ok := source.(*closedLoop); ok {
			l.streams = append(l.streams, other.streams...)
		} else {
			l.streams = append(l.streams, &openStream{made: &buffered{source: source}})
		}
	}
	return l
}

// first returns the stream of the next arrival and that arrival; nil when none comes.
func (l *closedLoop) first() (next stream, a Arrival) {
	for _, st := range l.streams {
		if head, ok := st.head(); ok && (next == nil || head.At < a.At) {
			next, a = st, head
		}
	}
	return next, a
}

// head returns the next arrival that comes by itself. It is the same one until that is
// passed, whatever is fired by hand before it.
func (l *closedLoop) head() (Arrival, bool) {
	next, a := l.first()
	return a, next != nil
}

// pass lets the candidates decide about an arrival, which is the head or was fired by
// hand, and lets the client that sent it hear the answer.
func (l *closedLoop) pass(a Arrival) {
	var sender stream
	if !a.Fired {
		sender, _ = l.first()
	}
	allowed := false
	for i := range l.runners {
		if a.sentTo(i) {
			d, _ := l.runners[i].take(a, l.passed, &l.setup)
			allowed = allowed || d.Allowed
		}
	}
	l.passed++
	if sender != nil {
		sender.advance(allowed)
	}
}

// Next implements Source for a reader that fires nothing by hand.
func (l *closedLoop) Next() (Arrival, bool) {
	a, ok := l.head()
	if ok {
		l.pass(a)
	}
	return a, ok
}

func (l *closedLoop) clone() *closedLoop {
	c := *l
	c.runners = clones(l.runners)
	c.streams = collect.Map(l.streams, func(s stream) stream { return s.clone() })
	return &c
}

// openStream is a source whose arrivals depend on no answer, so that copies at different
// places share what it made.
type openStream struct {
	made *buffered
	at   int
}

type buffered struct {
	source Source
	list   []Arrival
}

func (o *openStream) head() (Arrival, bool) {
	for o.at >= len(o.made.list) {
		a, ok := o.made.source.Next()
		if !ok {
			return Arrival{}, false
		}
		o.made.list = append(o.made.list, a)
	}
	return o.made.list[o.at], true
}

func (o *openStream) advance(bool) { o.at++ }

func (o *openStream) clone() stream { c := *o; return &c }

// storm is a crowd of clients of one candidate that try again when they are denied.
type storm struct {
	numbers *rand.PCG
	random  *rand.Rand // of numbers
	only    int8       // the one candidate, from 1; 0 where there is no other
	calls   calls
	think   float64 // mean microseconds between two calls of a client
	retry   float64
	backs   bool
	cost    int64
	end     limiter.Instant // 0 is none
}

// call is the next attempt of one client.
type call struct {
	at     limiter.Instant
	client int
	failed int // attempts that were denied
}

type calls []call

func (c calls) Len() int { return len(c) }
func (c calls) Less(i, k int) bool {
	return c[i].at < c[k].at || c[i].at == c[k].at && c[i].client < c[k].client
}
func (c calls) Swap(i, k int) { c[i], c[k] = c[k], c[i] }
func (calls) Push(any)        {} // a crowd neither grows nor shrinks
func (calls) Pop() any        { return nil }

// maxDoublings is how often a client that backs off doubles its wait.
const maxDoublings = 6

// newStorms makes the same crowd for every candidate: they begin alike, and each reacts
// to its own one.
func newStorms(t Traffic, s Setup, seed uint64) *closedLoop {
	l := newClosedLoop(s, nil)
	for i := range l.setup.Candidates {
		w := newStorm(t, s, seed)
		if len(l.setup.Candidates) > 1 {
			w.only = int8(i + 1)
		}
		l.streams = append(l.streams, w)
	}
	return l
}

func newStorm(t Traffic, s Setup, seed uint64) *storm {
	w := &storm{numbers: t.numbers(seed), think: 1e6 / t.PerSecond, retry: t.RetryMS * 1e3, backs: t.Backoff, cost: max(t.Cost, 1)}
	w.random = rand.New(w.numbers)
	from := s.Zero + micros(t.FromMS)
	if t.ToMS > 0 {
		w.end = s.Zero + micros(t.ToMS)
	}
	for i := range t.Clients {
		w.calls = append(w.calls, call{at: from + limiter.Instant(w.random.ExpFloat64()*w.think), client: i})
	}
	heap.Init(&w.calls)
	return w
}

func (w *storm) head() (Arrival, bool) {
	at := w.calls[0].at
	return Arrival{At: at, Cost: w.cost, Only: w.only}, w.end == 0 || at < w.end
}

func (w *storm) advance(allowed bool) {
	c := &w.calls[0]
	switch {
	case allowed:
		c.failed = 0
		c.at += 1 + limiter.Instant(w.random.ExpFloat64()*w.think)
	case w.backs:
		most := w.retry * float64(int(1)<<min(c.failed, maxDoublings))
		c.failed++
		c.at += 1 + limiter.Instant(most/2+w.random.Float64()*most)
	default:
		c.failed++
		c.at += max(limiter.Instant(w.retry), 1)
	}
	heap.Fix(&w.calls, 0)
}

func (w *storm) clone() stream {
	c, numbers := *w, *w.numbers
	c.numbers, c.random, c.calls = &numbers, rand.New(&numbers), slices.Clone(w.calls)
	return &c
}
