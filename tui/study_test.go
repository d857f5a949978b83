package tui_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/model/lab"
	"ratescope/tui"
	screenlab "ratescope/tui/lab"
	"ratescope/tui/tuitest"
)

// TestAKeyBecomesALesson opens the requests of a key that was denied in the lab, plays them, and
// saves the lesson as a file that opens as one.
func TestAKeyBecomesALesson(t *testing.T) {
	saved := map[string][]byte{}
	o := tui.Options{Lab: screenlab.Options{Save: func(name string, content []byte) error { saved[name] = content; return nil }}}
	told(t, 140, 42, o, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
		x.Wait(20 * time.Second)
		key := strings.Fields(selected(t, x))
		x.Press("O")
		x.See("Incident: the limit for ")
		x.See("as they were recorded")
		x.Press("enter", "p")
		x.Wait(5 * time.Second)
		x.Press("p")
		if text := x.Screen(); strings.Contains(text, " 0 admitted 0 denied") {
			t.Errorf("no request of %v came:\n%s", key, text)
		}
		x.Press("E")
		x.See("Saved incident-limit.json to /")
		x.Press("H")
		x.See("reached at ")
		x.See(" denies nothing, and a smaller one does.")
		x.Press("n", "H")
		x.See("reached at ")
		x.See("It admitted ")
		x.Press("N")
		x.Press("1")
		x.See("used/limit")
		x.Press("3")
		x.See("Incident: the limit for ")
	})
	list, err := lab.Load(saved["incident-limit.json"])
	if err != nil || len(list) != 1 || list[0].Goal == nil || len(list[0].Steps) == 0 {
		t.Fatalf("the file holds %d lessons (%v)", len(list), err)
	}
}
