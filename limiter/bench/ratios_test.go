package bench

import (
	"fmt"
	"slices"
	"testing"
)

// peersOf are the peers of an algorithm.
var peersOf = map[string][]string{"fixed": {"ulule"}, "gcra": {"redis_rate", "throttled"}}

// reportRatios tells the decisions a second of what the plain constructor gives, at so many goroutines,
// beside the best peer of its algorithm and the bounds, and its allocations. took has the turns of each
// contestant, those of one round at the same place.
func reportRatios(b *testing.B, goroutines int, took map[string][]pace) {
	for algorithm, peers := range peersOf {
		ours := took[algorithm+"/ratescope"]
		beside := func(what string, others ...string) {
			var ratios []float64
			for i, our := range ours {
				best := 0.0
				for _, name := range others {
					best = max(best, took[algorithm+"/"+name][i].rate)
				}
				ratios = append(ratios, our.rate/best)
			}
			b.ReportMetric(median(ratios), fmt.Sprintf("%s-%d/%s", algorithm, goroutines, what))
		}
		beside("peer", peers...)
		beside("rueidis", "rueidis EVALSHA")
		beside("EVALSHA", "plain EVALSHA")
		var allocations []float64
		for _, our := range ours {
			allocations = append(allocations, our.allocs)
		}
		b.ReportMetric(median(allocations), fmt.Sprintf("%s-%d-allocations", algorithm, goroutines))
	}
}

// median returns the middle of some numbers, which it sorts.
func median(numbers []float64) float64 {
	slices.Sort(numbers)
	return numbers[len(numbers)/2]
}
