package model

import "math"

// leastSearched is the share of the keys that must have been searched before it says anything about
// the rest.
const leastSearched = 0.02

// UnseenAtMost returns how many more keys of a kind there are at most, with 95 % confidence, in the part
// of the server that the first search has not come to, where so many of the kind are known. It is not
// known before a fiftieth was searched, or when the search is over.
//
// SCAN goes through keys in the order of their hashes, so that what was searched is a random sample: of
// N keys in all it has met a number with the mean N times the share. The bound is that of a Poisson
// distribution, by the approximation of Wilson and Hilferty (a tenth of a key off at 0, less above).
// Keys that were found in another way only make it larger.
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
