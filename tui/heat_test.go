package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestHeatShowsThousandsOfKeys puts 10,000 keys on one screen, opens rows until there is one
// key, and that key at the moment under the cursor.
func TestHeatShowsThousandsOfKeys(t *testing.T) {
	var people []tuitest.Personality
	for i := range 10_000 {
		p := tuitest.Cast()[i%8]
		p.Name = fmt.Sprintf("tenant:%05d", i)
		people = append(people, p)
	}
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, people...)
	s.Run(3 * time.Second)
	s.Press("6")
	s.See("10000 keys", " and 285 more at ")
	before := s.Session.Shown.At()
	s.Press("down", "down", "left", "enter")
	if s.App.Screen() != "heat" {
		t.Fatal("a row of many keys leads away from the map")
	}
	if strings.Contains(s.Text(), "10000 keys") {
		t.Errorf("enter does not open the row:\n%s", s.Text())
	}
	s.Press("esc")
	s.See("10000 keys")
	for range 6 {
		s.Press("enter")
		if s.App.Screen() != "heat" {
			break
		}
	}
	if s.App.Screen() != "dashboard" || s.Session.Selection.Selected == "" {
		t.Fatalf("the rows do not lead to a key: %s", s.App.Screen())
	}
	s.See("PAUSED", "admitted")
	if at := s.Session.Shown.At(); at > before || before.Sub(at) > 5*time.Second {
		t.Errorf("the dashboard shows %v, the cursor was about at %v", at.Time(), before.Time())
	}
}
