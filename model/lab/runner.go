package lab

import (
	"time"

	"ratescope/limiter"
)

// Counts is how a candidate has fared up to a moment. Requests are counted as such;
// the largest window is in units of cost.
type Counts struct {
	Admitted, Denied int64
	// Against the true window of what the candidate itself admitted: see Verdicts.Wrong.
	WronglyAdmitted, WronglyDenied int64
	// Largest is the most that was admitted in any true window, Now in the one that ends
	// with the latest arrival. LargestFrom and LargestAt are when the first and the last
	// unit of the largest one were admitted.
	Largest, Now           int64
	LargestFrom, LargestAt limiter.Instant
}

// runner is the state of one candidate at some arrival of a workload.
type runner struct {
	candidate  Candidate
	convention limiter.Convention
	state      limiter.State
	stored     Stored
	counts     Counts
	admitted   ring
	total      int64     // of a log: units charged since it was last empty
	script     *scripted // the last request that a script has decided; nil of an algorithm
}

func newRunner(c Candidate, s *Setup) runner {
	l := runner{candidate: c, convention: c.Convention(s.Convention), state: limiter.State{Algorithm: c.Algorithm}}
	if c.Scripted() {
		l.script = c.Script.start(s.Limit)
	}
	return l
}

func (l *runner) clone() runner {
	c := *l
	c.state = l.state.Clone()
	c.admitted = l.admitted.clone()
	c.stored = l.stored.clone()
	return c
}

// take decides about arrival number i and updates the tally. It reports whether the
// decision was wrong, as Verdicts.Wrong says.
func (l *runner) take(a Arrival, i int, s *Setup) (d limiter.Decision, wrong bool) {
	if l.script != nil {
		if l.script = l.candidate.Script.decide(l.script, a); !l.answers(a) {
			return limiter.Decision{}, false
		}
		d = l.script.decision()
	} else {
		l.trim(a.At, s)
		d = decide(&l.state, l.candidate, l.convention, a, i, s)
	}
	if a.Cost == 0 {
		return d, false
	}
	if charged(d, l.convention) {
		l.stored.charge(l.candidate, charge{
			at: clockOf(l.candidate, a.At, i, s), cost: a.Cost, total: l.total, decision: d,
			limit: s.Limit, terms: l.convention, reach: reach(l.candidate, s.Limit),
		})
		if l.total += a.Cost; d.Used <= a.Cost {
			l.total = a.Cost
		}
	}
	w := int64(s.Limit.Window / time.Microsecond)
	if !l.candidate.Bursts() || l.candidate.Fault != NoFault { // a burst and a rate promise nothing of a window
		wrong = d.Allowed != l.truth(a, w, s.Limit.Count)
	}
	switch {
	case !d.Allowed:
		l.counts.Denied++
		if wrong {
			l.counts.WronglyDenied++
		}
		return d, wrong
	case wrong:
		l.counts.WronglyAdmitted++
	}
	l.counts.Admitted++
	var first limiter.Instant
	l.counts.Now, first = l.admitted.add(a.At, a.Cost, w)
	if l.counts.Now > l.counts.Largest {
		l.counts.Largest, l.counts.LargestFrom, l.counts.LargestAt = l.counts.Now, first, a.At
	}
	return d, wrong
}

// answers reports whether an arrival that was taken has a verdict: a script that failed gives none, and none to a cost of 0.
func (l *runner) answers(a Arrival) bool { return l.script == nil || l.script.err == nil && a.Cost > 0 }

// truth reports whether the true window of what was admitted so far has room for a
// request, by the candidate's own edge and rule. A limit of 0 denies nothing.
func (l *runner) truth(a Arrival, w, limit int64) bool {
	inside, edge := l.admitted.count(a.At, w)
	if l.convention.Edge == limiter.EdgeClosed {
		inside += edge
	}
	switch {
	case limit == 0:
		return true
	case l.convention.Rule == limiter.RuleBelow && !l.candidate.Bursts():
		return inside < limit && a.Cost <= limit
	}
	return inside+a.Cost <= limit
}

// charged reports whether a request that is no peek was recorded: because it was admitted,
// or because denied ones are charged too.
func charged(d limiter.Decision, terms limiter.Convention) bool {
	return d.Allowed || terms.Denied == limiter.DeniedCharged && d.RetryAfter != limiter.Never
}

// trim forgets what no decision needs any more. It halves the time of a long run: what a
// log keeps beyond its window is for readers who want more than a decision.
func (l *runner) trim(now limiter.Instant, s *Setup) {
	old := now.Add(-reach(l.candidate, s.Limit) - s.Skew)
	n := 0
	for n < len(l.state.Log) && l.state.Log[n].At < old {
		n++
	}
	l.state.Log = l.state.Log[n:]
}

// reach is the window that the candidate really looks at.
func reach(c Candidate, l limiter.Limit) time.Duration {
	if c.Fault == SecondsAsMillis {
		return min(l.Window*1000, limiter.MaxWindow)
	}
	return l.Window
}

// decide takes one arrival to the state of a candidate, with its fault if it has one.
func decide(state *limiter.State, c Candidate, conv limiter.Convention, a Arrival, i int, s *Setup) limiter.Decision {
	at, cost, limit := heard(state, c, conv, a, i, s)
	if cost == 0 {
		return state.Peek(at, limit, conv, a.Cost)
	}
	return state.Take(at, limit, conv, cost)
}

// peek returns what a candidate would decide about an arrival that is not sent, so that
// nothing is charged, a denied one neither.
func peek(state *limiter.State, c Candidate, conv limiter.Convention, a Arrival, i int, s *Setup) limiter.Decision {
	at, _, limit := heard(state, c, conv, a, i, s)
	return state.Peek(at, limit, conv, a.Cost)
}

// heard returns what reaches the arithmetic of a candidate of an arrival: the instant, the
// cost that is recorded, 0 for none, and the limit.
func heard(state *limiter.State, c Candidate, conv limiter.Convention, a Arrival, i int, s *Setup) (at limiter.Instant, cost int64, limit limiter.Limit) {
	at, cost, limit = clockOf(c, a.At, i, s), a.Cost, s.Limit
	switch c.Fault {
	case CollidingMembers:
		d := state.Peek(at, limit, conv, cost)
		last := len(state.Log) - 1
		switch {
		case d.Allowed && last >= 0 && state.Log[last].At == at:
			cost = 0 // the member is there already: ZADD only sets its score again
		case d.Allowed:
			cost = min(cost, 1) // one member, whatever the cost
		}
	case SecondsAsMillis:
		limit.Window = reach(c, limit)
	}
	return at, cost, limit
}

// clockOf is what a candidate takes for the time of request i: the server's microsecond,
// or with a fault the millisecond, or the clock of the machine that sends.
func clockOf(c Candidate, at limiter.Instant, i int, s *Setup) limiter.Instant {
	switch {
	case c.Fault == CollidingMembers:
		return at - at%1000
	case c.Fault == ClientClock && i%2 == 1:
		return at.Add(s.Skew)
	}
	return at
}
