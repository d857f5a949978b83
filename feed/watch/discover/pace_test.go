package discover

import (
	"testing"
	"time"

	"ratescope/feed/watch/health"
)

// TestPace: the first pass asks for few keys at once until it is known that no other client uses the server, and for many of a server
// that is far away; later passes take their own share and sample nothing.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		trip  time.Duration
		first bool
		share float64
		size  int
	}{
		{0, true, firstShare * 0.01, busyCount},
		{2 * farTrip, true, firstShare * 0.01, 2 * busyCount},
		{0, false, laterShare * 0.01, scanCount},
		{9 * farTrip, false, laterShare * 0.01, farPages * scanCount},
	} {
		p := pace{governor: health.NewGovernor(0.01, 0.1), budget: 0.01, most: 0.1, first: c.first, trip: func() time.Duration { return c.trip }}
		if got, size := p.share(), p.pageSize(); got != c.share || size != c.size {
			t.Errorf("over %v, first pass %v: a share of %v in pages of %d, want %v and %d", c.trip, c.first, got, size, c.share, c.size)
		}
	}
}
