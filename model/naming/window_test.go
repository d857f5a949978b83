package naming_test

import (
	"strconv"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/naming"
)

// TestOver: the window of a name is over once the next one has begun, and for three of its lengths.
func TestOver(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 24, 12, 16, 3, 0, time.UTC))
	for name, want := range map[string]bool{
		"rl:u1:202611241215": true, "rl:u1:202611241216": false, "rl:u1:2026-11-24-12-14": true, "rl:u1:2026112411": true,
		"rl:u1:202611231216": false, "rl:u1:29420535": false, "rl:u1:58": false, "rl:alice": false, "rl:" + strconv.FormatInt(int64(now)/60e6-1, 10) + ":x": true,
	} {
		if _, over := naming.Over(name, now); over != want {
			t.Errorf("%s: over is %v", name, !want)
		}
	}
}
