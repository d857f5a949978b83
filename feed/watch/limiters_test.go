package watch

import (
	"testing"
	"time"

	"ratescope/limiter"
)

// TestTheLastOfAnEmptiedServer: keys that are read last, when those of most others are forgotten already, are of the emptied
// server too, and keys that are deleted later are not.
func TestTheLastOfAnEmptiedServer(t *testing.T) {
	l := newLimiters(Options{}, nil)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		l.trackers[name] = nil
	}
	const at = limiter.Instant(1_000_000)
	for i, step := range []struct {
		after   time.Duration
		left    int // trackers
		deleted int
		want    bool
	}{
		{0, 8, 2, false}, // two of eight
		{0, 8, 4, false}, // half of them, and few
		{0, 8, 6, true},
		{10 * time.Second, 2, 2, true}, // six are forgotten
		{2 * time.Minute, 2, 2, false}, // long after
	} {
		for name := range l.trackers {
			if len(l.trackers) > step.left {
				delete(l.trackers, name)
			}
		}
		if got := l.isEmptied(at.Add(step.after), step.deleted); got != step.want {
			t.Errorf("step %d: emptied is %v, want %v", i, got, step.want)
		}
	}
}
