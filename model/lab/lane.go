package lab

import (
	"slices"
	"time"

	"ratescope/limiter"
)

// Tally is how a contender has fared up to a moment. Requests are counted as such;
// the largest window is in units of cost.
type Tally struct {
	Admitted, Denied int64
	// Against the exact log, which decides about the same arrivals on its own.
	WronglyAdmitted, WronglyDenied int64
	// Largest is the most that was admitted in any true window, Now in the one that ends
	// with the latest arrival. LargestAt is when the largest one ended.
	Largest, Now int64
	LargestAt    limiter.Instant
}

// lane is one contender on its way through the arrivals.
type lane struct {
	contender  Contender
	convention limiter.Convention
	state      limiter.State
	tally      Tally
	admitted   ring
	total      int64 // of a log: units charged since it was last empty
	twin       bool  // it decides as the exact log does, so it need not be asked again
}

func newLane(c Contender, s *Setup) lane {
	return lane{contender: c, convention: c.Convention(s.Convention), state: limiter.State{Algorithm: c.Algorithm}}
}

func (l *lane) clone() lane {
	c := *l
	c.state = l.state.Clone()
	c.admitted = l.admitted.clone()
	return c
}

// take decides about arrival number i and keeps the books.
func (l *lane) take(a Arrival, i int, s *Setup) limiter.Decision {
	l.trim(a.At, s)
	d := decide(&l.state, l.contender, l.convention, a, i, s)
	if a.Cost == 0 {
		return d
	}
	if charged(d, l.convention) {
		if l.total += a.Cost; d.Used <= a.Cost {
			l.total = a.Cost
		}
	}
	if !d.Allowed {
		l.tally.Denied++
		return d
	}
	l.tally.Admitted++
	l.tally.Now = l.admitted.add(a.At, a.Cost, int64(s.Limit.Window/time.Microsecond))
	if l.tally.Now > l.tally.Largest {
		l.tally.Largest, l.tally.LargestAt = l.tally.Now, a.At
	}
	return d
}

// follow takes over what the exact log thought. They may share entries, for entries are
// appended and never written over; a clone shares nothing.
func (l *lane) follow(exact *lane) {
	l.tally, l.admitted, l.total = exact.tally, exact.admitted, exact.total
	l.state.Log, l.state.BlockedUntil = exact.state.Log, exact.state.BlockedUntil
}

// compare books whether the contender and the exact log agreed.
func (l *lane) compare(allowed, exact bool) {
	switch {
	case allowed && !exact:
		l.tally.WronglyAdmitted++
	case !allowed && exact:
		l.tally.WronglyDenied++
	}
}

// charged says whether a request that is no peek was recorded: because it was admitted, or
// because denied ones are charged too.
func charged(d limiter.Decision, terms limiter.Convention) bool {
	return d.Allowed || terms.Denied == limiter.Charged && d.RetryAfter != limiter.Never
}

// trim forgets what no decision needs any more. It halves the time of a long run: what a
// log keeps beyond its window is for readers who want more than a decision.
func (l *lane) trim(now limiter.Instant, s *Setup) {
	old := now.Add(-reach(l.contender, s.Limit) - s.Skew)
	n := 0
	for n < len(l.state.Log) && l.state.Log[n].At < old {
		n++
	}
	l.state.Log = l.state.Log[n:]
}

// reach is the window that the contender really looks at.
func reach(c Contender, l limiter.Limit) time.Duration {
	if c.Fault == SecondsAsMillis {
		return min(l.Window*1000, limiter.MaxWindow)
	}
	return l.Window
}

// decide asks one contender about one arrival, with its fault if it has one.
func decide(state *limiter.State, c Contender, conv limiter.Convention, a Arrival, i int, s *Setup) limiter.Decision {
	switch c.Fault {
	case CollidingMembers:
		const milli = limiter.Instant(1000)
		a.At -= a.At % milli
		d := state.Peek(a.At, s.Limit, conv, a.Cost)
		last := len(state.Log) - 1
		if d.Allowed && last >= 0 && state.Log[last].At == a.At {
			return d // the member is there already: ZADD only sets its score again
		}
		one := a.Cost
		if a.Cost > 1 && d.Allowed {
			one = 1 // one member, whatever the cost
		}
		return state.Take(a.At, s.Limit, conv, one)
	case SecondsAsMillis:
		limit := s.Limit
		limit.Window = reach(c, limit)
		return state.Take(a.At, limit, conv, a.Cost)
	case ClientClock:
		return state.Take(clientClock(a.At, i, s), s.Limit, conv, a.Cost)
	}
	return state.Take(a.At, s.Limit, conv, a.Cost)
}

// clientClock is what the machine that sends request i takes for the time.
func clientClock(at limiter.Instant, i int, s *Setup) limiter.Instant {
	if i%2 == 1 {
		return at.Add(s.Skew)
	}
	return at
}

// ring holds what was admitted in the window that ends with the latest entry. The zero
// ring is empty.
type ring struct {
	entries []limiter.Entry
	sum     int64
}

// add appends and returns how much is in the window (at-w, at].
func (r *ring) add(at limiter.Instant, n, w int64) int64 {
	gone := 0
	for gone < len(r.entries) && int64(at-r.entries[gone].At) >= w {
		r.sum -= r.entries[gone].Count
		gone++
	}
	r.entries = append(r.entries[gone:], limiter.Entry{At: at, Count: n})
	r.sum += n
	return r.sum
}

func (r *ring) clone() ring { return ring{entries: slices.Clone(r.entries), sum: r.sum} }
