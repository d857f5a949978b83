package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/tuitest"
)

// TestEventsFilterAndMeasure: / lists only what fits, a throttled key says for how long, and the
// lanes show the keys of the events that are listed.
func TestEventsFilterAndMeasure(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{}, tuitest.Cast()...)
	s.run(40 * time.Second)
	s.press("5")
	s.see("lanes", "is throttled", "now")
	if !strings.Contains(s.text(), "s now") && !strings.Contains(s.text(), "throttled for ") {
		t.Errorf("no event says how long it lasted:\n%s", s.text())
	}
	s.press("/", "o", "t", "p")
	s.see("login:otp", "fit /otp")
	if strings.Contains(s.text(), "metrics:ingest  ") {
		t.Errorf("an event that does not fit is listed:\n%s", s.text())
	}
	s.press("esc", "/", "n", "e", "a", "r", "enter")
	s.see("is near its limit")
	if strings.Contains(s.text(), "is throttled") {
		t.Errorf("the words of an event are not filtered:\n%s", s.text())
	}
	s.press("esc", "/", "x", "y", "z", "z", "enter")
	s.see("No event fits the filter")
	s.press("esc", "esc")
}

// TestKeysThatComeAndGoAreOneEvent a pattern and minute, unless they are looked for.
func TestKeysThatComeAndGoAreOneEvent(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{})
	s.run(time.Second)
	came := 0
	s.edit = func(b *model.Batch) {
		for i := range came {
			r := b.Readings[0]
			r.Key = fmt.Sprintf("short:lived:%d", i)
			b.Readings = append(b.Readings, r)
		}
	}
	for s.now.Second() > 1 { // the keys come within a minute
		s.run(time.Second)
	}
	for came < 4 {
		came++
		s.run(12 * time.Second)
	}
	s.press("5")
	s.see("4 keys short:lived:*", "appeared")
	s.press("/")
	for _, letter := range "lived" {
		s.press(string(letter))
	}
	s.see("short:lived:0", "short:lived:3")
}

// TestAToastLeavesTheButtonsAlone: at the smallest sizes too.
func TestAToastLeavesTheButtonsAlone(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		s := newStage(t, size[0], size[1], tui.Options{Inject: firing.Options{Injector: &tuitest.Injector{}}})
		s.run(2 * time.Second)
		s.press("t", "enter") // says which theme it is
		s.see("Theme: ", "fire 1", "burst of 10", "? help")
	}
}

// TestTheFooterNamesWhatCannotBeDone: dimmed, and a press says why.
func TestTheFooterNamesWhatCannotBeDone(t *testing.T) {
	s := newStage(t, 200, 55, tui.Options{})
	s.run(2 * time.Second)
	s.see("space fire")
	s.press("b")
	s.see("Nothing can be fired at this source.")
}
