package lab

import (
	"math"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// checkpoint is everything as it was before arrival `at` was decided.
type checkpoint struct {
	at      int
	runners []runner
}

// checkpoints are those of a run. They stand close where people step, and further apart the longer a run is.
type checkpoints struct {
	kept []checkpoint // the first is before all arrivals
	next int          // the arrival before which the next one is due
}

// Distances between checkpoints, in arrivals.
const (
	nearStride = 128
	farStride  = 4096
)

// after returns the arrival before which the checkpoint after one is due.
func after(mark int) int { return mark + min(max(nearStride, mark/16), farStride) }

// keep makes a checkpoint before arrival `at` where one is due.
func (c *checkpoints) keep(at int, runners []runner) {
	if at == c.next {
		c.kept, c.next = append(c.kept, checkpoint{at, clones(runners)}), after(at)
	}
}

// until returns how many checkpoints there are at or before arrival i.
func (c *checkpoints) until(i int) int {
	return sort.Search(len(c.kept), func(k int) bool { return c.kept[k].at > i })
}

// before returns the last checkpoint at or before arrival i, which the run has passed.
func (c *checkpoints) before(i int) checkpoint { return c.kept[c.until(i)-1] }

// forget drops every checkpoint that lies behind arrival i, where the run stands.
func (c *checkpoints) forget(i int) {
	c.kept = c.kept[:c.until(i)]
	if c.next = i; len(c.kept) > 0 { // the spacing restarts here
		c.next = max(i, after(c.before(i).at))
	}
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
	marks    checkpoints
	trail    []position
	version  int
	selected int // the candidate that a person looks at, for the goals that ask
}

// NewRun returns a run at the beginning of its story. The setup must be valid.
func NewRun(s Setup, t *Workload) *Run {
	r := &Run{workload: t, setup: s.Clone(), now: s.Zero}
	r.runners = collect.Map(s.Candidates, func(c Candidate) runner { return newRunner(c, &r.setup) })
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
func (r *Run) Since(at limiter.Instant) int { return min(r.workload.After(at-1), r.at) }

// Counts returns how candidate i has fared.
func (r *Run) Counts(i int) Counts { return r.runners[i].counts }

// Select says which candidate a person looks at.
func (r *Run) Select(i int) {
	if i != r.selected {
		r.selected = min(max(i, 0), len(r.runners)-1)
		r.version++
	}
}

// Bytes returns what candidate i takes on a server at an instant; see Stored.Bytes.
func (r *Run) Bytes(i int, at limiter.Instant) int64 {
	l := &r.runners[i]
	return l.stored.Bytes(l.candidate, l.state, at, r.setup)
}

// last returns when the last arrival came that was decided about; the beginning where there is none.
func (r *Run) last() limiter.Instant {
	if r.at == 0 {
		return r.setup.Zero
	}
	return r.workload.At(r.at - 1).At
}

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

// AdvanceTo lets time pass up to an instant and decides about everything that arrives.
// An instant before now changes nothing.
func (r *Run) AdvanceTo(t limiter.Instant) {
	if t > r.now {
		r.AdvanceSome(t, maxArrivals)
	}
}

// AdvanceSome is AdvanceTo in parts: it decides about `most` arrivals at most, and reports
// whether it got there.
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

// reach lets time pass up to an instant, as AdvanceTo, and leaves so many of the requests that
// arrive at that very instant still to come.
func (r *Run) reach(t limiter.Instant, left int) {
	r.AdvanceTo(t - 1)
	r.workload.Until(t)
	for r.workload.After(t)-r.at > left && r.Step() {
	}
	r.trail = r.trail[:0]
	r.now = max(r.now, t)
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
	r.goTo(r.workload.After(t))
	r.now = t
}

// Step goes to the next arrival and decides about it alone. It returns false when nothing
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
// or before that one when it is there already. It returns false at the beginning.
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
	if last := r.last(); r.now > last {
		r.now = last
		r.version++
		return true
	}
	r.goTo(r.at - 1)
	r.now = r.last()
	return true
}

// Fire sends one request by hand, now, and returns its number.
func (r *Run) Fire(cost int64) int {
	r.workload.Until(r.now)
	r.marks.forget(r.at)
	r.verdicts = r.verdicts[:min(r.at, len(r.verdicts))]
	r.workload.Insert(r.at, Arrival{At: r.now, Cost: cost, Fired: true})
	r.trail = r.trail[:0]
	r.version++
	r.forward(r.at + 1)
	return r.at - 1
}

// forward decides about arrivals up to number `to`.
func (r *Run) forward(to int) {
	for ; r.at < to; r.at++ {
		r.marks.keep(r.at, r.runners)
		a := r.workload.At(r.at)
		var v Verdicts
		for i := range r.runners {
			if a.sentTo(i) {
				l := &r.runners[i]
				most := max(l.counts.Largest, r.setup.Limit.Count)
				d, wrong := l.take(a, r.at, &r.setup)
				over := l.candidate.Bursts() && l.candidate.Fault == NoFault && r.setup.Limit.Count > 0 && l.counts.Largest > most
				if l.answers(a) {
					v.set(i, [...]bool{true, d.Allowed, wrong, over})
				}
			}
		}
		if r.at < len(r.verdicts) {
			r.verdicts[r.at] = v
		} else {
			r.verdicts = append(r.verdicts, v)
		}
	}
}

// goTo brings everything to where `to` arrivals have been decided, by way of the nearest
// checkpoint when that is behind.
func (r *Run) goTo(to int) {
	if to < r.at {
		m := r.marks.before(to)
		r.runners, r.at = clones(m.runners), m.at
	}
	r.forward(to)
	r.version++
}

// Moment is one decision of a candidate, with what it kept before and after.
type Moment struct {
	Candidate Candidate
	Number    int
	Arrival   Arrival
	Total     int64  // of a log: units that were charged since it was last empty, before this one
	Stored    Stored // on a server, before this one
	Left      Stored // on a server, after it
	Before    limiter.State
	After     limiter.State
	Decision  limiter.Decision
	Verdicts  Verdicts // zero for an arrival that has not been decided
	Decided   bool     // false where the request has not been sent: nothing was charged for it

	setup  *Setup
	script *scripted // what a script did; nil of an algorithm
}

// Open reports whether there is no verdict: a script has got no request yet, or failed.
func (m Moment) Open() bool { return m.script != nil && (!m.Decided || m.script.err != nil) }

// Ask returns what candidate i would decide about a request of this cost now. Nothing is
// charged: where the request would be denied, its wait is that of a client which has not
// sent it. After is what would be kept if it were sent. A script charges whatever it is sent: of one it returns the last
// decision.
func (r *Run) Ask(i int, cost int64) Moment {
	return r.runners[i].ask(Arrival{At: r.now, Cost: cost}, r.at, &r.setup)
}

func (l *runner) ask(a Arrival, number int, s *Setup) Moment {
	m := Moment{
		Candidate: l.candidate, setup: s, script: l.script,
		Number: number, Arrival: a, Total: l.total, Stored: l.stored.clone(), Left: l.stored.clone(),
		Before: l.state.Clone(), After: l.state.Clone(),
	}
	if n := l.script; n != nil {
		if n.before != nil {
			m.Number, m.Arrival, m.Decision, m.Decided = n.number-1, n.sent, n.decision(), true
		}
		return m
	}
	m.Decision = peek(&l.state, l.candidate, l.convention, a, number, s)
	if d := decide(&m.After, l.candidate, l.convention, a, number, s); a.Cost > 0 && charged(d, l.convention) {
		l.store(&m.Left, a, number, d, s)
	}
	return m
}

// Inspect returns what candidate c decided about arrival i, or would decide about the one
// to come. It changes nothing about where the run stands, and reports whether there is
// such an arrival and it is sent to c.
func (r *Run) Inspect(c, i int) (Moment, bool) {
	if i < 0 || i >= r.workload.Len() && (i > r.workload.Len() || !r.workload.More()) || !r.workload.At(i).sentTo(c) {
		return Moment{}, false
	}
	w := r.walk(c, i)
	w.pass(i, math.MaxInt64)
	a, l := r.workload.At(i), &w.runner
	m := l.ask(a, i, &r.setup)
	m.Decision, _ = l.take(a, i, &r.setup)
	m.Number, m.Arrival, m.Decided, m.script = i, a, i < r.at, l.script
	if m.Decided {
		m.Verdicts = r.verdicts[i]
	}
	return m, true
}

// walker takes one candidate along the arrivals of a run, apart from where that stands.
type walker struct {
	runner   runner
	i        int // the candidate
	at       int // the arrival that is next
	workload *Workload
	setup    *Setup
}

// walk returns candidate c as it is now or at the last checkpoint, at or before arrival i.
func (r *Run) walk(c, i int) walker {
	from := checkpoint{r.at, r.runners}
	if i < r.at {
		from = r.marks.before(i)
	}
	return walker{from.runners[c].clone(), c, from.at, r.workload, &r.setup}
}

// next lets the candidate decide about the next arrival, if that is sent to it.
func (w *walker) next() (a Arrival, d limiter.Decision, sent bool) {
	if a = w.workload.At(w.at); a.sentTo(w.i) {
		d, _ = w.runner.take(a, w.at, w.setup)
		sent = true
	}
	w.at++
	return a, d, sent
}

// pass goes on to arrival number end, or to the first one after an instant.
func (w *walker) pass(end int, at limiter.Instant) {
	for w.at < end && w.workload.At(w.at).At <= at {
		w.next()
	}
}

// peek returns what the candidate would decide about one more request, which is not sent.
func (w *walker) peek(at limiter.Instant, cost int64) limiter.Decision {
	return peek(&w.runner.state, w.runner.candidate, w.runner.convention, Arrival{At: at, Cost: cost}, w.at, w.setup)
}

// Turns returns what candidate c, a queue, has admitted of the requests before number until and lets go on at an instant or
// later, each at its turn.
func (r *Run) Turns(c int, from limiter.Instant, until int) (list []Arrival) {
	longest := time.Duration(r.setup.Candidates[c].Room(r.setup.Limit)) * (Interval(r.setup.Limit) + time.Microsecond)
	first := r.Since(from.Add(-longest))
	w := r.walk(c, first)
	for w.pass(first, math.MaxInt64); w.at < until; w.next() {
		a, v := r.Arrival(w.at)
		if turn := w.runner.turn(a.At, &r.setup); v.Allowed(c) && turn >= from {
			list = append(list, Arrival{At: turn, Cost: a.Cost})
		}
	}
	return list
}

// Levels returns what candidate c had used at the end of each of n stretches of time that
// begin at an instant; -1 for those that have not begun, and for a script.
func (r *Run) Levels(c int, from limiter.Instant, every time.Duration, n int) []int64 {
	w := r.walk(c, r.Since(from))
	levels := make([]int64, n)
	for col := range levels {
		begin := from.Add(time.Duration(col) * every)
		if begin > r.now || w.runner.script != nil {
			levels[col] = -1
			continue
		}
		end := min(begin.Add(every)-1, r.now)
		w.pass(r.at, end)
		levels[col] = w.peek(end, 0).Used
	}
	return levels
}

// Future returns for each of n instants after now, a step apart, whether candidate c would
// admit one request of this cost there, if nothing else but what comes by itself arrived
// until then; nil for a script.
func (r *Run) Future(c int, from limiter.Instant, every time.Duration, n int, cost int64) []bool {
	w := r.walk(c, r.at)
	if w.runner.script != nil {
		return nil
	}
	fits := make([]bool, n)
	for i := range fits {
		at := from.Add(time.Duration(i) * every)
		r.workload.Until(at)
		w.pass(r.workload.Len(), at)
		fits[i] = w.peek(at, cost).Allowed
	}
	return fits
}
