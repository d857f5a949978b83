package model

import "math"

// leastSearched is the least share of the keys that must be searched for an estimate of the rest.
const leastSearched = 0.02

// UnseenAtMost returns an upper bound, with 95 % confidence, of the number of keys of a kind that the
// first search has yet to find, when it has found so many of them. It is not known before
// leastSearched of the keys were searched, or when the search is over.
//
// SCAN goes through keys in the order of their hashes, so that the searched keys are a random sample:
// of N keys in all, it has met N times the searched share on average. The bound is that of a Poisson
// distribution, by the approximation of Wilson and Hilferty (wrong by a tenth of a key at 0, by less
// above). Keys that were found in another way only increase it.
func (s *Sweep) UnseenAtMost(found int) (most int64, known bool) {
	if s.Passes > 0 || s.Total <= 0 || s.Scanned >= s.Total {
		return 0, false
	}
	share := float64(s.Scanned) / float64(s.Total)
	if share < leastSearched {
		return 0, false
	}
	const quantile = 1.6449 // of the normal distribution, 95 %
	n := float64(found + 1)
	mean := n * math.Pow(1-1/(9*n)+quantile/(3*math.Sqrt(n)), 3)
	return max(int64(math.Ceil(mean/share))-int64(found), 0), true
}
