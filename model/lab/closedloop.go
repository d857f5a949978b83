package lab

import (
	"container/heap"
	"math/rand/v2"
	"slices"

	"ratescope/limiter"
)

// closedLoop is traffic of which some clients wait for the answer to a request before they
// send the next one. Unlike another source it has to hear of every request that any
// candidate gets, those fired by hand among them: they change the answers.
//
// It decides about each arrival when that is passed to it and no sooner, so that its clients
// have the answer to a request fired by hand before they send one at a later instant.
type closedLoop struct {
	setup   Setup
	runners []runner // one a candidate; their tallies stay empty
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
	for _, c := range l.setup.Candidates {
		l.runners = append(l.runners, newRunner(c, &l.setup))
	}
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
			r := &l.runners[i]
			r.trim(a.At, &l.setup)
			d := decide(&r.state, r.candidate, r.convention, a, l.passed, &l.setup)
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
	c.runners, c.streams = make([]runner, len(l.runners)), make([]stream, len(l.streams))
	for i := range c.runners {
		c.runners[i] = l.runners[i].clone()
	}
	for i := range c.streams {
		c.streams[i] = l.streams[i].clone()
	}
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
func (c *calls) Push(x any)   { *c = append(*c, x.(call)) }
func (c *calls) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

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
