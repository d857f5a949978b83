package watch

import (
	"testing"
	"time"

	"ratescope/feed/track"
)

// TestATrackerIsDueOnce: a tracker that is on screen and of which there is news is read once, since
// it holds the answers to one question alone.
func TestATrackerIsDueOnce(t *testing.T) {
	r := &reader{trackers: map[string]*tracked{}}
	r.spending.budget.share = 0.5
	for _, name := range []string{"a", "b", "c"} {
		k := &tracked{Tracker: track.New(name, nil, false, nil)}
		r.trackers[name], r.visible = k, append(r.visible, k)
	}
	for _, kind := range []orderKind{orderQuick, orderWoken} {
		times := map[string]int{}
		for _, k := range r.dueBetween(order{kind: kind, names: []string{"b"}}, time.Unix(0, 0)) {
			times[k.Name]++
		}
		for _, name := range []string{"a", "b", "c"} {
			if want := 1; times[name] != want && !(kind == orderWoken && name != "b" && times[name] == 0) {
				t.Errorf("order %v reads %s %d times, want %d", kind, name, times[name], want)
			}
		}
	}
}
