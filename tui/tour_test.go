package tui_test

import (
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestTheTourTakesAMinute goes through all of it, at two sizes, and is on the dashboard then.
func TestTheTourTakesAMinute(t *testing.T) {
	if d := tui.TourLength(); d != time.Minute {
		t.Errorf("the tour takes %v", d)
	}
	for _, size := range [][2]int{{140, 42}, {60, 20}} {
		told(t, size[0], size[1], tui.Options{Tour: true}, func(x *tuitest.Terminal, _ *tuitest.Feed, injector *tuitest.Injector) {
			x.See("tour 1 of 9")
			x.Wait(27 * time.Second)
			x.See("tour 4 of 9")
			if n := len(injector.Orders()); n != 1 {
				t.Errorf("%d orders in the stop that fires a burst", n)
			}
			x.Wait(7 * time.Second)
			x.See("PAUSED")
			x.Wait(7 * time.Second)
			x.See("tour 6 of 9")
			x.Wait(16 * time.Second)
			x.See("That was the tour.")
			x.Wait(4 * time.Second)
			x.Gone("tour 9 of 9")
			x.See("used/limit")
			x.Gone("PAUSED")
		})
	}
}

// TestAnyKeyEndsTheTour: and it does nothing else.
func TestAnyKeyEndsTheTour(t *testing.T) {
	for _, key := range []string{"q", "space", "x", "esc", "2"} {
		told(t, 140, 42, tui.Options{Tour: true}, func(x *tuitest.Terminal, _ *tuitest.Feed, injector *tuitest.Injector) {
			x.See("tour 1 of 9")
			x.Press(key)
			x.See("The tour is over")
			x.Gone("tour 1 of 9")
			x.See("used/limit")
			if n := len(injector.Orders()); n != 0 {
				t.Errorf("%s fired", key)
			}
		})
	}
}
