package lab

import (
	"slices"
	"time"

	"ratescope/limiter"
)

// kept is what one algorithm does on a server beside its arithmetic, which is in package
// limiter: what
// its commands leave, and what that takes. Without an entry of its own an algorithm runs in the lab, which knows no
// memory of it.
type kept struct {
	leave func(s *Stored, c Candidate, q charge) // brings what is stored to after a charge
	// bytes is what the key takes as MEMORY USAGE says; nil of counters, which have a key each.
	bytes func(s Stored, c Candidate, state limiter.State, window time.Duration) int64
}

// keptBy holds an entry for each algorithm.
var keptBy = map[limiter.Algorithm]kept{
	limiter.FixedWindow:   {leave: (*Stored).leaveWindow},
	limiter.SlidingWindow: {leave: (*Stored).leaveWindows},
	limiter.SlidingLog:    {leave: (*Stored).leaveMember, bytes: zsetBytes},
	limiter.StreamCounter: {leave: (*Stored).leaveEntry, bytes: streamBytes},
	limiter.GCRA:          {leave: (*Stored).leaveRate, bytes: arrivalBytes},
	limiter.TokenBucket:   {leave: (*Stored).leaveRate, bytes: bucketBytes},
	limiter.LeakyBucket:   {leave: (*Stored).leaveRate, bytes: bucketBytes},
}

// charge is a request that a store recorded.
type charge struct {
	at       limiter.Instant
	cost     int64
	total    int64            // units of a stream before it
	decision limiter.Decision // with the request in it
	limit    limiter.Limit
	terms    limiter.Convention
	reach    time.Duration // how long the request counts
}

// leaveWindow keeps the counter of the current window.
func (s *Stored) leaveWindow(_ Candidate, q charge) {
	if d := q.decision; d.Used <= q.cost {
		s.Counters = append(s.Counters[:0], Counter{d.Start, gone(q.at, d.Start.Add(q.reach).Sub(q.at))})
	}
}

// leaveWindows keeps the counters of the current window and the one before.
func (s *Stored) leaveWindows(_ Candidate, q charge) {
	if d := q.decision; d.Current <= q.cost {
		s.Counters = slices.DeleteFunc(slices.Clone(s.Counters), func(k Counter) bool { return k.Expires <= q.at })
		s.Counters = append(s.Counters, Counter{d.Start, gone(q.at, 2*q.reach)})
	}
}

// leaveMember adds to a sorted set, and trims it.
func (s *Stored) leaveMember(c Candidate, q charge) {
	if q.decision.Used <= q.cost {
		s.Units, s.Grown = 0, false
	}
	s.Units += q.cost
	s.Grown = s.Grown || s.Units > mostInListpack
	if c.Fault != CollidingMembers && c.Fault != SecondsAsMillis && trims(q.at, q.cost) {
		s.Units -= s.trimmed(q.cost, q.decision.Used)
	}
	s.Expires = gone(q.at, q.reach+edgeOf(q.terms))
}

// leaveEntry adds to a stream, and trims it.
func (s *Stored) leaveEntry(_ Candidate, q charge) {
	total := q.total
	if q.decision.Used <= q.cost {
		s.Nodes, total = s.Nodes[:0], 0
	}
	s.append(q.at)
	if (total+q.cost)%trimStreamEvery < q.cost {
		s.trimNodes(lowest(q.at, q.reach, q.terms), trimStreamMost)
	}
	s.Expires = gone(q.at, q.reach+edgeOf(q.terms))
}

// leaveRate keeps an arrival time or a level until a whole burst has come back.
func (s *Stored) leaveRate(c Candidate, q charge) {
	s.Expires = gone(q.at, time.Duration(rateLife(c, q.terms, q.limit))*time.Millisecond)
}
