package lab

import (
	"sort"
	"time"

	"ratescope/limiter"
)

// Verdicts is what became of one arrival: a bit a contender, in their order, and one
// for the exact log.
type Verdicts uint8

const exactBit Verdicts = 1 << 7

// Allowed says whether contender i admitted.
func (v Verdicts) Allowed(i int) bool { return v&(1<<i) != 0 }

// Exact says whether the exact log admitted.
func (v Verdicts) Exact() bool { return v&exactBit != 0 }

// checkpoint is everything as it was before arrival `at` was decided.
type checkpoint struct {
	at    int
	lanes []lane
}

// Distances between checkpoints, in arrivals.
const (
	nearStride = 128
	farStride  = 4096
)

// position is a place that stepping passed.
type position struct {
	at  int
	now limiter.Instant
}

// Run is a comparison at a moment. Make one with NewRun.
type Run struct {
	setup    Setup
	tape     *Tape
	lanes    []lane // the contenders, and the exact log when it is none of them
	exact    int    // which lane is the exact log
	at       int    // arrivals decided
	now      limiter.Instant
	verdicts []Verdicts
	marks    []checkpoint
	next     int // the arrival before which the next checkpoint is due
	trail    []position
	version  int
}

// NewRun returns a run at the beginning of its story. The setup must be valid.
func NewRun(s Setup, t *Tape) *Run {
	r := &Run{tape: t}
	r.begin(s.Clone())
	return r
}

// begin starts over under a setup, at its zero.
func (r *Run) begin(s Setup) {
	r.setup, r.lanes, r.exact = s, r.lanes[:0], -1
	for i, c := range s.Contenders {
		r.lanes = append(r.lanes, newLane(c, &r.setup))
		if c.judges(s.Convention) {
			r.lanes[i].twin = r.exact >= 0
			if r.exact < 0 {
				r.exact = i
			}
		}
	}
	if r.exact < 0 {
		r.exact = len(r.lanes)
		r.lanes = append(r.lanes, newLane(exactLog, &r.setup))
	}
	r.at, r.now, r.next = 0, s.Zero, 0
	r.verdicts, r.marks, r.trail = r.verdicts[:0], r.marks[:0], r.trail[:0]
	r.version++
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
// back, firing, another setup.
func (r *Run) Version() int { return r.version }

// Arrival returns arrival i, 0 <= i < Decided, and what became of it.
func (r *Run) Arrival(i int) (Arrival, Verdicts) { return r.tape.At(i), r.verdicts[i] }

// Since returns the number of the first decided arrival at or after an instant.
func (r *Run) Since(at limiter.Instant) int { return min(r.tape.From(at), r.at) }

// Tally returns how contender i has fared.
func (r *Run) Tally(i int) Tally { return r.lanes[i].tally }

// State returns a copy of what contender i keeps.
func (r *Run) State(i int) limiter.State { return r.lanes[i].state.Clone() }

// Terms returns the convention that contender i goes by.
func (r *Run) Terms(i int) limiter.Convention { return r.lanes[i].convention }

// Exact returns the exact log: how much its true window holds, and the limit's rest.
func (r *Run) Exact() limiter.Decision {
	l := &r.lanes[r.exact]
	return l.state.Peek(r.now, r.setup.Limit, l.convention, 0)
}

// Ask returns what contender i would think about a request of this cost now.
func (r *Run) Ask(i int, cost int64) Moment {
	l := &r.lanes[i]
	m := Moment{Number: r.at, Arrival: Arrival{At: r.now, Cost: cost}, Total: l.total, Before: l.state.Clone(), After: l.state.Clone()}
	m.Decision = decide(&m.After, l.contender, l.convention, m.Arrival, r.at, &r.setup)
	return m
}

// Replay tells what contender i thought about every request decided so far, in order,
// until tell says false.
func (r *Run) Replay(i int, tell func(number int, a Arrival, d limiter.Decision) bool) {
	l := newLane(r.setup.Contenders[i], &r.setup)
	for k := range r.at {
		a := r.tape.At(k)
		if !tell(k, a, l.take(a, k, &r.setup)) {
			return
		}
	}
}

// AdvanceTo lets time pass up to an instant and decides about everything that arrives.
// An instant before now changes nothing.
func (r *Run) AdvanceTo(t limiter.Instant) {
	if t <= r.now {
		return
	}
	r.trail = r.trail[:0]
	r.tape.Until(t)
	r.forward(r.tape.After(t))
	r.now = t
}

// AdvanceSome is AdvanceTo for who cannot wait: it decides about `most` arrivals at most,
// and says whether it got there.
func (r *Run) AdvanceSome(t limiter.Instant, most int) bool {
	r.trail = r.trail[:0]
	for range most {
		a, ok := r.Upcoming()
		if !ok || a.At > t {
			r.now = max(r.now, t)
			return true
		}
		r.forward(r.at + 1)
		r.now = max(r.now, a.At)
	}
	return false
}

// SeekTo goes to an instant in either direction, though not before the beginning. What
// arrives at that very instant has been decided.
func (r *Run) SeekTo(t limiter.Instant) {
	t = max(t, r.setup.Zero)
	if t >= r.now {
		r.AdvanceTo(t)
		return
	}
	r.trail = r.trail[:0]
	r.goTo(r.tape.After(t))
	r.now = t
}

// Upcoming returns the next arrival, if there is one.
func (r *Run) Upcoming() (Arrival, bool) {
	if r.at >= r.tape.Len() && !r.tape.More() {
		return Arrival{}, false
	}
	return r.tape.At(r.at), true
}

// Levels returns what contender c had used at the end of each of n stretches of time that
// begin at an instant; -1 for those that have not begun.
func (r *Run) Levels(c int, from limiter.Instant, every time.Duration, n int) []int64 {
	i := r.Since(from)
	l := newLane(r.setup.Contenders[c], &r.setup)
	k := 0
	if m := sort.Search(len(r.marks), func(m int) bool { return r.marks[m].at > i }) - 1; m >= 0 {
		l, k = r.marks[m].lanes[c].clone(), r.marks[m].at
	}
	levels := make([]int64, n)
	for col := range levels {
		begin := from.Add(time.Duration(col) * every)
		if begin > r.now {
			levels[col] = -1
			continue
		}
		end := min(begin.Add(every)-1, r.now)
		for ; k < r.at && r.tape.At(k).At <= end; k++ {
			l.take(r.tape.At(k), k, &r.setup)
		}
		levels[col] = decide(&l.state, l.contender, l.convention, Arrival{At: end}, k, &r.setup).Used
	}
	return levels
}

// Coming returns the arrivals that come by themselves from now up to an instant, none of
// them decided yet.
func (r *Run) Coming(until limiter.Instant) []Arrival {
	r.tape.Until(until)
	return append([]Arrival(nil), r.tape.made[r.at:max(r.at, r.tape.After(until))]...)
}

// Step goes to the next arrival and decides about it alone. It says false when nothing
// comes any more.
func (r *Run) Step() bool {
	a, ok := r.Upcoming()
	if !ok {
		return false
	}
	r.trail = append(r.trail, position{r.at, r.now})
	r.forward(r.at + 1)
	r.now = max(r.now, a.At)
	return true
}

// StepBack undoes a Step; where there was none it goes to just after the arrival before,
// or before that one when it is there already. It says false at the beginning.
func (r *Run) StepBack() bool {
	if n := len(r.trail); n > 0 {
		p := r.trail[n-1]
		r.trail = r.trail[:n-1]
		r.goTo(p.at)
		r.now = p.now
		return true
	}
	if r.at == 0 {
		moved := r.now > r.setup.Zero
		r.now = r.setup.Zero
		return moved
	}
	if last := r.tape.At(r.at - 1).At; r.now > last {
		r.now = last
		r.version++
		return true
	}
	r.goTo(r.at - 1)
	r.now = r.setup.Zero
	if r.at > 0 {
		r.now = r.tape.At(r.at - 1).At
	}
	return true
}

// Fire sends one request by hand, now, and returns its number.
func (r *Run) Fire(cost int64) int {
	r.tape.Until(r.now)
	r.forget(r.at)
	r.tape.Insert(r.at, Arrival{At: r.now, Cost: cost, Fired: true})
	r.trail = r.trail[:0]
	r.version++
	r.forward(r.at + 1)
	return r.at - 1
}

// Restart puts the same arrivals, those fired by hand among them, under another setup, at
// the beginning of the story.
func (r *Run) Restart(s Setup) {
	s.Zero = r.setup.Zero
	r.begin(s.Clone())
}

// Change is Restart and a return to the same moment: the effect on everything that has
// happened shows at once.
func (r *Run) Change(s Setup) {
	now := r.now
	r.Restart(s)
	r.AdvanceTo(now)
}

// forward decides about arrivals up to number `to`.
func (r *Run) forward(to int) {
	for ; r.at < to; r.at++ {
		if r.at == r.next {
			r.mark()
		}
		a := r.tape.At(r.at)
		exact := r.lanes[r.exact].take(a, r.at, &r.setup).Allowed
		var v Verdicts
		if exact {
			v = exactBit
		}
		for i := range r.setup.Contenders {
			allowed := exact
			switch {
			case r.lanes[i].twin:
				r.lanes[i].follow(&r.lanes[r.exact])
			case i != r.exact:
				allowed = r.lanes[i].take(a, r.at, &r.setup).Allowed
				r.lanes[i].compare(allowed, exact)
			}
			if allowed {
				v |= 1 << i
			}
		}
		if r.at < len(r.verdicts) {
			r.verdicts[r.at] = v
		} else {
			r.verdicts = append(r.verdicts, v)
		}
	}
}

// mark keeps a checkpoint before arrival r.at. They stand close where people step, and
// further apart the longer a run is.
func (r *Run) mark() {
	c := checkpoint{at: r.at, lanes: make([]lane, len(r.lanes))}
	for i := range r.lanes {
		c.lanes[i] = r.lanes[i].clone()
	}
	r.marks = append(r.marks, c)
	r.next = r.at + min(max(nearStride, r.at/16), farStride)
}

// goTo brings everything to where `to` arrivals have been decided, by way of the nearest
// checkpoint when that is behind.
func (r *Run) goTo(to int) {
	if to < r.at {
		r.restore(to)
	}
	r.forward(to)
	r.version++
}

func (r *Run) restore(to int) {
	r.at = r.load(to, r.lanes)
}

// load copies the last checkpoint at or before arrival `to` into lanes and returns where
// it stands. There always is one: the first is kept before anything is decided.
func (r *Run) load(to int, lanes []lane) int {
	i := sort.Search(len(r.marks), func(i int) bool { return r.marks[i].at > to }) - 1
	for k := range lanes {
		lanes[k] = r.marks[i].lanes[k].clone()
	}
	return r.marks[i].at
}

// forget drops every checkpoint and verdict that lies behind arrival i.
func (r *Run) forget(i int) {
	keep := sort.Search(len(r.marks), func(k int) bool { return r.marks[k].at > i })
	r.marks = r.marks[:keep]
	r.verdicts = r.verdicts[:min(i, len(r.verdicts))]
	r.next = 0
	if keep > 0 {
		last := r.marks[keep-1].at
		r.next = last + min(max(nearStride, last/16), farStride)
	}
	if r.next < r.at { // the spacing restarts here
		r.next = r.at
	}
}

// Moment is what a contender thought about one arrival.
type Moment struct {
	Number   int
	Arrival  Arrival
	Total    int64 // of a log: units that were charged since it was last empty, before this one
	Before   limiter.State
	After    limiter.State
	Decision limiter.Decision
	Verdicts Verdicts // zero for an arrival that has not been decided
	Decided  bool
}

// Inspect returns what contender c thought about arrival i, which may be the one to come.
// It changes nothing about where the run stands.
func (r *Run) Inspect(c, i int) (Moment, bool) {
	if i < 0 || i >= r.tape.Len() && (i > r.tape.Len() || !r.tape.More()) {
		return Moment{}, false
	}
	lanes := make([]lane, len(r.lanes))
	from := 0
	switch {
	case i >= r.at:
		lanes[c], from = r.lanes[c].clone(), r.at
	default:
		from = r.load(i, lanes)
	}
	l := &lanes[c]
	for k := from; k < i; k++ {
		l.take(r.tape.At(k), k, &r.setup)
	}
	m := Moment{Number: i, Arrival: r.tape.At(i), Total: l.total, Before: l.state.Clone(), Decided: i < r.at}
	m.Decision = l.take(m.Arrival, i, &r.setup)
	m.After = l.state.Clone()
	if m.Decided {
		m.Verdicts = r.verdicts[i]
	}
	return m, true
}
