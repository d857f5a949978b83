package tui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// story runs a test in virtual time on a dashboard with the tests' own feed.
func story(t *testing.T, w, h int, o tui.Options, tell func(x *tuitest.Terminal)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		feed := tuitest.NewFeed(time.Now())
		if o.Take == nil {
			o.Take = feed.Take
		}
		tell(tuitest.Start(t, w, h, tuitest.Dark, o))
	})
}

func TestFirstLookTellsWhoIsInTrouble(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *tuitest.Terminal) {
		x.See("LIVE")
		x.See("near limit")
		x.See("login:otp:+4915112345678")
		x.See("next slot frees in")
		x.Press("q")
		x.Done()
		if x.AltScreen() {
			t.Error("the program left the terminal on its second screen")
		}
	})
}
