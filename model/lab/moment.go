package lab

import (
	"sort"
	"time"

	"ratescope/limiter"
)

// Moment is one decision of a candidate, with what it kept before and after.
type Moment struct {
	Number   int
	Arrival  Arrival
	Total    int64  // of a log: units that were charged since it was last empty, before this one
	Stored   Stored // on a server, before this one
	Before   limiter.State
	After    limiter.State
	Decision limiter.Decision
	Verdicts Verdicts // zero for an arrival that has not been decided
	Decided  bool     // false where the request has not been sent: nothing was charged for it

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
	if l.script != nil {
		return l.script.moment(a.At)
	}
	m := Moment{
		Number: number, Arrival: a, Total: l.total, Stored: l.stored.clone(),
		Before: l.state.Clone(), After: l.state.Clone(),
	}
	m.Decision = peek(&l.state, l.candidate, l.convention, a, number, s)
	decide(&m.After, l.candidate, l.convention, a, number, s)
	return m
}

// Inspect returns what candidate c decided about arrival i, or would decide about the one
// to come. It changes nothing about where the run stands, and reports whether there is
// such an arrival and it is sent to c.
func (r *Run) Inspect(c, i int) (Moment, bool) {
	if i < 0 || i >= r.workload.Len() && (i > r.workload.Len() || !r.workload.More()) || !r.workload.At(i).sentTo(c) {
		return Moment{}, false
	}
	l, from := runner{}, r.at
	if i >= r.at {
		l = r.runners[c].clone()
	} else {
		l, from = r.runnerBefore(c, i)
	}
	for k := from; k < i; k++ {
		l.pass(r.workload.At(k), c, k, &r.setup)
	}
	a := r.workload.At(i)
	m := Moment{Number: i, Arrival: a, Total: l.total, Stored: l.stored.clone(), Before: l.state.Clone(), Decided: i < r.at}
	m.Decision, _ = l.take(a, i, &r.setup)
	m.script = l.script
	m.After = l.state.Clone()
	if m.Decided {
		m.Verdicts = r.verdicts[i]
	}
	return m, true
}

// pass takes an arrival if it is sent to candidate c.
func (l *runner) pass(a Arrival, c, number int, s *Setup) {
	if a.sentTo(c) {
		l.take(a, number, s)
	}
}

// runnerBefore returns candidate c at the last checkpoint at or before arrival i, and
// where that stands.
func (r *Run) runnerBefore(c, i int) (runner, int) {
	if m := sort.Search(len(r.marks), func(m int) bool { return r.marks[m].at > i }) - 1; m >= 0 {
		return r.marks[m].runners[c].clone(), r.marks[m].at
	}
	return newRunner(r.setup.Candidates[c], &r.setup), 0
}

// Replay calls tell with what candidate i decided about every request decided so far, in
// order, until tell returns false.
func (r *Run) Replay(i int, tell func(number int, a Arrival, d limiter.Decision) bool) {
	l := newRunner(r.setup.Candidates[i], &r.setup)
	for k := range r.at {
		a := r.workload.At(k)
		if !a.sentTo(i) {
			continue
		}
		if d, _ := l.take(a, k, &r.setup); !tell(k, a, d) {
			return
		}
	}
}

// Levels returns what candidate c had used at the end of each of n stretches of time that
// begin at an instant; -1 for those that have not begun, and for a script.
func (r *Run) Levels(c int, from limiter.Instant, every time.Duration, n int) []int64 {
	l, k := r.runnerBefore(c, r.Since(from))
	levels := make([]int64, n)
	for col := range levels {
		begin := from.Add(time.Duration(col) * every)
		if begin > r.now || l.script != nil {
			levels[col] = -1
			continue
		}
		end := min(begin.Add(every)-1, r.now)
		for ; k < r.at && r.workload.At(k).At <= end; k++ {
			l.pass(r.workload.At(k), c, k, &r.setup)
		}
		levels[col] = peek(&l.state, l.candidate, l.convention, Arrival{At: end}, k, &r.setup).Used
	}
	return levels
}

// Future returns for each of n instants after now, a step apart, whether candidate c would
// admit one request of this cost there, if nothing else but what comes by itself arrived
// until then; nil for a script.
func (r *Run) Future(c int, from limiter.Instant, every time.Duration, n int, cost int64) []bool {
	l := r.runners[c].clone()
	if l.script != nil {
		return nil
	}
	fits := make([]bool, n)
	k := r.at
	for i := range fits {
		at := from.Add(time.Duration(i) * every)
		r.workload.Until(at)
		for ; k < r.workload.Len() && r.workload.At(k).At <= at; k++ {
			l.pass(r.workload.At(k), c, k, &r.setup)
		}
		fits[i] = peek(&l.state, l.candidate, l.convention, Arrival{At: at, Cost: cost}, k, &r.setup).Allowed
	}
	return fits
}
