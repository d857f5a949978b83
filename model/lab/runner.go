package lab

import (
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/collect"
)

// Counts is how a candidate has fared up to a moment. Requests are counted as such;
// the largest window is in units of cost.
type Counts struct {
	Admitted, Denied int64
	// Against the true window of what the candidate itself admitted: see Verdicts.Wrong.
	WronglyAdmitted, WronglyDenied int64
	// Largest is the most that was admitted, or that went on from a queue, in any true window. LargestFrom and LargestAt
	// are when its first and its last unit were.
	Largest                int64
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
		l.script = c.Script.start(s.Limit, s.Zero)
	}
	return l
}

func (l *runner) clone() runner {
	c := *l
	c.state = l.state.Clone()
	c.admitted.entries = slices.Clone(l.admitted.entries)
	c.stored = l.stored.clone()
	return c
}

// clones returns copies of runners that go on apart.
func clones(list []runner) []runner {
	return collect.Map(list, func(l runner) runner { return l.clone() })
}

// take decides about arrival number i and updates the tally. It reports whether the
// decision was wrong, as Verdicts.Wrong says.
func (l *runner) take(a Arrival, i int, s *Setup) (d limiter.Decision, wrong bool) {
	turn := a.At
	if l.script != nil {
		if l.script = l.candidate.Script.decide(l.script, a); !l.answers(a) {
			return limiter.Decision{}, false
		}
		d = l.script.decision()
	} else {
		l.trim(a.At, s)
		turn = l.turn(a.At, s)
		d = decide(&l.state, l.candidate, l.convention, a, i, s)
	}
	if a.Cost == 0 {
		return d, false
	}
	if charged(d, l.convention) {
		l.store(&l.stored, a, i, d, s)
		if l.total += a.Cost; d.Used <= a.Cost {
			l.total = a.Cost
		}
	}
	w := trueWindow(s.Limit, l.convention)
	if s.Within == 0 && l.candidate.promises() {
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
	if n, first := l.admitted.add(turn, a.Cost, w); n > l.counts.Largest {
		l.counts.Largest, l.counts.LargestFrom, l.counts.LargestAt = n, first, turn
	}
	return d, wrong
}

// turn returns when a request goes on that is admitted at an instant: in a queue when what is before it has drained.
func (l *runner) turn(at limiter.Instant, s *Setup) limiter.Instant {
	if !l.candidate.Queues() {
		return at
	}
	return at.Add(l.state.Peek(at, s.Limit, l.convention, 0).ResetAfter)
}

// promises reports whether the candidate says that it admits the limit in any window, and denies nothing else: a burst
// and a rate promise nothing of a window, and a second limit denies more.
func (c Candidate) promises() bool {
	return (!c.Bursts() || c.Fault != NoFault) && (c.Script == nil || c.Script.shape == nil || !c.Script.shape.apart)
}

// answers reports whether an arrival that was taken has a verdict: a script that failed gives none, and none to a cost of 0.
func (l *runner) answers(a Arrival) bool { return l.script == nil || l.script.err == nil && a.Cost > 0 }

// truth reports whether the true window of what was admitted so far has room for a
// request, by the candidate's own edge and rule. A limit of 0 denies nothing.
func (l *runner) truth(a Arrival, w, limit int64) bool {
	inside := l.admitted.count(a.At, w)
	switch {
	case limit == 0:
		return true
	case l.convention.Rule == convention.Below && !l.candidate.Bursts():
		return inside < limit && a.Cost <= limit
	}
	return inside+a.Cost <= limit
}

// charged reports whether a request that is no peek was recorded: because it was admitted,
// or because denied ones are charged too.
func charged(d limiter.Decision, terms limiter.Convention) bool {
	return d.Allowed || terms.Denied == convention.Charged && d.RetryAfter != limiter.Never
}

// trim forgets what no decision needs any more. It halves the time of a long run: what a
// log keeps beyond its window is for readers who want more than a decision.
func (l *runner) trim(now limiter.Instant, s *Setup) {
	old := now.Add(-l.candidate.Reach(s.Limit) - s.Skew)
	n := 0
	for n < len(l.state.Log) && l.state.Log[n].At < old {
		n++
	}
	l.state.Log = l.state.Log[n:]
}

// Reach is the window that the candidate really looks at.
func (c Candidate) Reach(l limiter.Limit) time.Duration {
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
func heard(state *limiter.State, c Candidate, conv limiter.Convention, a Arrival, i int, s *Setup) (
	at limiter.Instant, cost int64, limit limiter.Limit,
) {
	at, cost, limit = clockOf(c, a.At, i, s), a.Cost, s.Limit
	limit.Window = c.Reach(limit)
	if c.Fault == CollidingMembers {
		d := state.Peek(at, limit, conv, cost)
		last := len(state.Log) - 1
		switch {
		case d.Allowed && last >= 0 && state.Log[last].At == at:
			cost = 0 // the member is there already: ZADD only sets its score again
		case d.Allowed:
			cost = min(cost, 1) // one member, whatever the cost
		}
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

// ring holds what was admitted within one window. The zero ring is empty.
type ring struct {
	entries []limiter.Entry // none older than a window
	sum     int64
}

// count drops what is w microseconds old at an instant, or older, and returns how much is left.
func (r *ring) count(at limiter.Instant, w int64) (inside int64) {
	for len(r.entries) > 0 && int64(at-r.entries[0].At) >= w {
		r.sum -= r.entries[0].Count
		r.entries = r.entries[1:]
	}
	return r.sum
}

// add appends n units and returns how much is in (at-w, at] then, and when the first of
// it was admitted.
func (r *ring) add(at limiter.Instant, n, w int64) (inside int64, first limiter.Instant) {
	r.count(at, w)
	r.entries = append(r.entries, limiter.Entry{At: at, Count: n})
	r.sum += n
	return r.sum, r.entries[0].At
}

// trueWindow returns the length of a true window in microseconds: where the edge is closed, what is exactly a window old
// counts, too.
func trueWindow(l limiter.Limit, terms limiter.Convention) int64 {
	w := l.Window.Microseconds()
	if terms.Edge == convention.Closed {
		w++
	}
	return w
}

// Verdicts is what became of one arrival at every candidate: for each fact a bit for each of them.
type Verdicts [4]uint8

const (
	sent = iota
	allowed
	wrong
	over
)

func (v Verdicts) has(fact, i int) bool { return v[fact]&(1<<i) != 0 }

// Allowed reports whether candidate i admitted the arrival.
func (v Verdicts) Allowed(i int) bool { return v.has(allowed, i) }

// Wrong reports whether candidate i decided otherwise than the true window of what it had
// admitted itself: admitted with that window full, or denied with room in it. GCRA and the buckets, which
// promise a burst and a rate and nothing of a window, are never wrong but by a fault.
func (v Verdicts) Wrong(i int) bool { return v.has(wrong, i) }

// Over reports whether candidate i, which promises a burst and a rate, has with this arrival admitted more above the
// limit in one true window than ever before: its excess, which is no mistake.
func (v Verdicts) Over(i int) bool { return v.has(over, i) }

// Sent reports whether the arrival was sent to candidate i. Clients that retry send to
// the candidate that denied them, see Arrival.Only.
func (v Verdicts) Sent(i int) bool { return v.has(sent, i) }

// set notes the facts that hold of candidate i, which got the arrival.
func (v *Verdicts) set(i int, facts [4]bool) {
	for fact, holds := range facts {
		if holds {
			v[fact] |= 1 << i
		}
	}
}

// BurstsApart is how much later, in parts of a window, the second of two bursts comes: still
// in the true window of the first.
const BurstsApart = 0.9

// TwoBursts returns the arrivals of two bursts of n requests: the first so far into a
// window, the second BurstsApart of a window later.
func TwoBursts(s Setup, phase time.Duration, n int) []Arrival {
	first := s.Zero.Add(phase.Truncate(time.Microsecond))
	apart := time.Duration(BurstsApart * float64(s.Limit.Window)).Truncate(time.Microsecond)
	return append(slices.Repeat([]Arrival{{At: first, Cost: 1}}, n), slices.Repeat([]Arrival{{At: first.Add(apart), Cost: 1}}, n)...)
}

// MostAdmitted returns the most that a candidate admits of some arrivals in one true window.
func MostAdmitted(c Candidate, s Setup, list []Arrival) int64 {
	l := newRunner(c, &s)
	for i, a := range list {
		l.take(a, i, &s)
	}
	return l.counts.Largest
}
