package lab

import (
	"time"

	"ratescope/limiter"
)

// BurstsApart is how much later, in parts of a window, the second of two bursts comes: still
// in the true window of the first.
const BurstsApart = 0.9

// TwoBursts returns the arrivals of two bursts of n requests: the first so far into a
// window, the second BurstsApart of a window later.
func TwoBursts(s Setup, phase time.Duration, n int) []Arrival {
	first := s.Zero.Add(phase.Truncate(time.Microsecond))
	apart := time.Duration(BurstsApart * float64(s.Limit.Window)).Truncate(time.Microsecond)
	list := make([]Arrival, 0, 2*n)
	for _, at := range []limiter.Instant{first, first.Add(apart)} {
		for range n {
			list = append(list, Arrival{At: at, Cost: 1})
		}
	}
	return list
}

// MostAdmitted returns the most that a candidate admits of some arrivals in one true window.
func MostAdmitted(c Candidate, s Setup, list []Arrival) int64 {
	l := newRunner(c, &s)
	for i, a := range list {
		l.take(a, i, &s)
	}
	return l.counts.Largest
}
