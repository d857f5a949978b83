package bench

import (
	"fmt"
	"testing"
)

// peersOf are the peers of an algorithm.
var peersOf = map[string][]string{"fixed": {"ulule"}, "gcra": {"redis_rate", "throttled"}}

// reportRatios tells the decisions a second of what the plain constructor gives, at so many goroutines,
// beside the best peer of its algorithm and the bounds, and its allocations.
func reportRatios(b *testing.B, goroutines int, found map[string]pace) {
	for algorithm, peers := range peersOf {
		ours := found[algorithm+"/ratescope"]
		beside := func(name, what string) {
			if other := found[algorithm+"/"+name]; other.rate > 0 {
				b.ReportMetric(ours.rate/other.rate, fmt.Sprintf("%s-%d/%s", algorithm, goroutines, what))
			}
		}
		best := peers[0]
		for _, peer := range peers {
			if found[algorithm+"/"+peer].rate > found[algorithm+"/"+best].rate {
				best = peer
			}
		}
		beside(best, "peer")
		beside("rueidis EVALSHA", "rueidis")
		beside("plain EVALSHA", "EVALSHA")
		b.ReportMetric(ours.allocs, fmt.Sprintf("%s-%d-allocations", algorithm, goroutines))
	}
}
