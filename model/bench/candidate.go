package bench

import (
	"slices"
	"time"

	"ratescope/limiter"
)

// Candidate is an algorithm with everything in which implementations of it differ.
type Candidate struct {
	Algorithm limiter.Algorithm
	Limit     limiter.Limit
	Terms     limiter.Convention
	Grain     time.Duration // its clock shows multiples of this alone; 0 is microseconds
	Renewed   bool          // a fixed window that ends one window after the last request, not the first
}

// Bound is the most that the algorithm admits in a window of w, whatever the traffic.
func (c Candidate) Bound(l limiter.Limit) int64 {
	switch c.Algorithm {
	case limiter.SlidingLog, limiter.StreamCounter:
		return l.Count
	case limiter.FixedWindow:
		if c.Terms.Alignment == limiter.AlignFirstRequest {
			return 2*l.Count - 1
		}
	case limiter.SlidingWindow:
		if c.Terms.Rounding == limiter.RoundExact && c.Terms.Rule == limiter.RuleFits {
			return 2*l.Count - 1
		}
	case limiter.GCRA, limiter.TokenBucket, limiter.LeakyBucket:
		return l.Count + max(l.Count, c.Limit.Burst)
	}
	return 2 * l.Count
}

// measured is what a few experiments say of a limiter before candidates are made.
type measured struct {
	capacity int64         // admitted at once by a new key
	endless  bool          // no denial was seen
	first    time.Duration // after which one is admitted again; 0 where none was
	back     int64         // how many then
	all      time.Duration // after which all are; 0 where that was not seen
	expiries []time.Duration
}

// candidates are the limiters that may behave as measured.
func candidates(l limiter.Limit, m measured) []Candidate {
	var all []Candidate
	add := func(c Candidate) {
		if c.Limit.Validate() == nil && c.Limit.Count > 0 && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	w, n := l.Window, m.capacity
	windows := []time.Duration{w, 1000 * w, w / 1000, 2 * w, w / 2, m.first.Round(time.Second),
		(m.first - time.Second).Round(time.Second),
		m.first, m.first - time.Millisecond, m.all, m.all - time.Millisecond, m.all / 2}
	for _, grain := range []time.Duration{0, time.Second} {
		for i, window := range windows {
			if window < limiter.MinWindow || slices.Contains(windows[:i], window) {
				continue
			}
			limit := limiter.Limit{Count: n, Window: window}
			for _, align := range []limiter.Alignment{limiter.AlignEpoch, limiter.AlignFirstRequest} {
				for _, denied := range []limiter.Denied{limiter.DeniedFree, limiter.DeniedCharged} {
					add(Candidate{limiter.FixedWindow, limit, limiter.Convention{Alignment: align, Denied: denied}, grain, false})
					for _, rounding := range []limiter.Rounding{limiter.RoundExact, limiter.RoundFloor, limiter.RoundNearest} {
						for _, rule := range []limiter.Rule{limiter.RuleFits, limiter.RuleBelow} {
							add(Candidate{limiter.SlidingWindow, limit, limiter.Convention{Alignment: align, Denied: denied, Rounding: rounding,
								Rule: rule}, grain, false})
						}
					}
				}
			}
			for _, denied := range []limiter.Denied{limiter.DeniedFree, limiter.DeniedCharged} {
				for _, edge := range []limiter.Edge{limiter.EdgeHalfOpen, limiter.EdgeClosed} {
					add(Candidate{limiter.SlidingLog, limit, limiter.Convention{Edge: edge, Denied: denied}, grain, false})
				}
				add(Candidate{limiter.FixedWindow, limit, limiter.Convention{Denied: denied, Alignment: limiter.AlignFirstRequest}, grain, true})
			}
		}
		if grain == 0 { // a window of slices counts each to its end, as a log whose clock shows their beginnings
			for _, slices := range []time.Duration{2, 3, 4, 5, 6, 10, 12, 20, 60} {
				add(Candidate{limiter.SlidingLog, limiter.Limit{Count: n, Window: w}, limiter.Convention{}, w / slices, false})
			}
		}
		for _, rate := range []limiter.Limit{{Count: l.Count, Window: w}, {Count: n, Window: w}, {Count: m.back, Window: m.first},
			{Count: 1, Window: m.first - time.Millisecond}, {Count: n, Window: m.all}, {Count: l.Count, Window: 1000 * w}, {Count: 1,
				Window: (w / time.Duration(l.Count)).Truncate(time.Millisecond)}} {
			rate.Burst = n
			add(Candidate{Algorithm: limiter.GCRA, Limit: rate, Grain: grain})
			add(Candidate{Algorithm: limiter.TokenBucket, Limit: rate, Terms: limiter.Convention{Refill: limiter.RefillInterval}, Grain: grain})
		}
	}
	return all
}
