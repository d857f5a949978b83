package tui_test

import (
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestWithoutWhatWasInjected: one key takes what was fired from here out of every figure, the screen
// says so, and again shows all; also in a pause.
func TestWithoutWhatWasInjected(t *testing.T) {
	told(t, 140, 42, tui.Options{}, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
		x.Press("/", "o", "n", "c", "e", "enter")
		x.See("0/10")
		x.Press("b")
		x.See("10/10")
		x.Press("\\")
		x.See("NOT INJECTED")
		x.See("0/10")
		x.Gone("10/10")
		x.Wait(2 * time.Second)
		x.See("0/10")
		x.Press("p")
		x.See("PAUSED, NOT INJECTED")
		x.See("0/10")
		x.Press("\\")
		x.Gone("NOT INJECTED")
		x.See("10/10")
		x.Press("p")
		x.See("LIVE")
		x.See("10/10")
	})
}
