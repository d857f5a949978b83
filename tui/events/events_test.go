package events

import (
	"slices"
	"testing"

	"ratescope/limiter"
	"ratescope/model/record"
)

// TestMarkersStandAmongEventsAsTheyCame: newest first; where the server's clock was set back, what came after that stays above
// what came before.
func TestMarkersStandAmongEventsAsTheyCame(t *testing.T) {
	var list []event
	for _, at := range []limiter.Instant{110, 105, 400, 390} { // set back after 400
		list = append(list, event{at: at})
	}
	var got []limiter.Instant
	for _, e := range withMarks(list, []record.Marker{{At: 107}, {At: 50}, {At: 112}}) {
		got = append(got, e.at)
	}
	if want := []limiter.Instant{112, 110, 107, 105, 400, 390, 50}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
