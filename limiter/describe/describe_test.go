package describe_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/describe"
)

// TestKinds holds the kind of each algorithm to the fields of a State that a request sets.
func TestKinds(t *testing.T) {
	at, limit := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 1, 0, time.UTC)), limiter.Limit{Count: 5, Window: time.Minute}
	titles := map[string]bool{}
	for _, a := range limiter.Algorithms() {
		s := limiter.State{Algorithm: a}
		s.Take(at, limit, limiter.Convention{}, 2)
		s.Take(at.Add(limit.Window), limit, limiter.Convention{}, 1)
		var kind describe.Kind
		switch {
		case s.Log != nil:
			kind = describe.Log
		case s.TAT != 0:
			kind = describe.Arrival
		case s.Filled != 0:
			kind = describe.Bucket
		case s.PreviousStart != 0:
			kind = describe.Weighted
		case s.Start != 0:
			kind = describe.Window
		}
		if got := describe.KindOf(a); got != kind || got == describe.Unknown {
			t.Errorf("%v is of kind %d: its state is of kind %d", a, got, kind)
		}
		if titles[describe.Title(a)] || describe.Title(a) == "" || describe.Short(a) == "" {
			t.Errorf("%v is called %q and %q", a, describe.Title(a), describe.Short(a))
		}
		titles[describe.Title(a)] = true
	}
	if describe.KindOf(200) != describe.Unknown || describe.Short(limiter.Unknown) != "–" {
		t.Error("an algorithm that is not known is described")
	}
}
