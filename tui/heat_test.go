package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
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
	s := newStage(t, 140, 42, tui.Options{}, people...)
	s.run(3 * time.Second)
	s.press("6")
	s.see("10000 keys", " and 285 more at ")
	before := s.app.At()
	s.press("down", "down", "left", "enter")
	if s.app.Screen() != "heat" {
		t.Fatal("a row of many keys leads away from the map")
	}
	if strings.Contains(s.text(), "10000 keys") {
		t.Errorf("enter does not open the row:\n%s", s.text())
	}
	s.press("esc")
	s.see("10000 keys")
	for range 6 {
		s.press("enter")
		if s.app.Screen() != "heat" {
			break
		}
	}
	if s.app.Screen() != "dashboard" || s.app.Selected() == "" {
		t.Fatalf("the rows do not lead to a key: %s", s.app.Screen())
	}
	s.see("PAUSED", "admitted")
	if at := s.app.At(); at > before || before.Sub(at) > 5*time.Second {
		t.Errorf("the dashboard shows %v, the cursor was about at %v", at.Time(), before.Time())
	}
}

// TestAnEventLeadsToItsMoment opens the newest event: its key, with the cursor at its time.
func TestAnEventLeadsToItsMoment(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{}, tuitest.Overrun()...)
	s.run(12 * time.Second)
	s.press("5", "end", "enter")
	if s.app.Screen() != "dashboard" {
		t.Fatal("enter does not lead to the key")
	}
	s.see("PAUSED")
	at := s.app.At()
	if now := limiter.InstantOf(s.now); now.Sub(at) < 5*time.Second {
		t.Errorf("the oldest event of %v leads to a moment %v ago", s.now, now.Sub(at))
	}
}
