package tui_test

import (
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// sameThing are actions of the dashboard and of the lab that do the same to what each shows.
var sameThing = map[string]string{
	"pause": "play", "earlier": "step back", "later": "step", "next pane": "next view",
	"first key": "restart",  // home: the beginning
	"csv":       "scenario", // E: what e saves, in another form
}

// TestALetterMeansTheSameInTheLab holds the keys of the dashboard to those of the lab.
func TestALetterMeansTheSameInTheLab(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Run(time.Second)
	dashboard := map[string]map[string]bool{}
	for _, act := range s.App.All() {
		for _, key := range act.Keys() {
			if dashboard[key] == nil {
				dashboard[key] = map[string]bool{}
			}
			dashboard[key][act.Name] = true
			dashboard[key][sameThing[act.Name]] = true
		}
	}
	s.Press("3")
	for _, act := range s.App.All() {
		for _, key := range act.Keys() {
			if there := dashboard[key]; there != nil && !there[act.Name] {
				t.Errorf("%s is %q in the lab and %v on the dashboard", key, act.Name, there)
			}
		}
	}
}
