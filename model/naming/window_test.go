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

// TestHoursOfOtherZones: an hour behind a date is no window of that day where it is not the hour of now. Where it is four
// hours ago and more it may be that of a zone west of Greenwich.
func TestHoursOfOtherZones(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 26, 9, 40, 0, 0, time.UTC))
	for name, form := range map[string]string{
		"rl:bob:2026-11-26T04": "%Y-%m-%dT%H", "rl:bob:2026-11-26-04": "%Y-%m-%d-%H", "rl:bob:2026-11-25-23": "%Y-%m-%d-%H",
		"rl:bob:2026112604": "", "rl:bob:2026-11-26T08": "", "rl:bob:2026-11-26-07": "", "rl:bob:2026-11-25-19": "",
	} {
		if w, ok := naming.WindowOf(name, now); w.Form != form || ok != (form != "") || w.Length != 0 || ok && w.Zone != -5*time.Hour && w.Zone != -10*time.Hour {
			t.Errorf("%s: %+v", name, w)
		}
	}
	for name, form := range map[string]string{ // a number behind another separator is a subject
		"rl:2026-11-26:04": "%Y-%m-%d", "rl:2026-11-26-0412": "%Y-%m-%d", "rl:bob:2026-11-26T04:40": "%Y-%m-%dT%H:%M", "rl:2026-11-26-09": "%Y-%m-%d-%H",
	} {
		if w, ok := naming.WindowOf(name, now); !ok || w.Form != form || w.Length == 0 {
			t.Errorf("%s: %+v", name, w)
		}
	}
}
