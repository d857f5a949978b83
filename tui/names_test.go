package tui_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestLongNamesSayWhoseKeyItIs has keys as the library limits names them, which begin and end
// alike, and looks for the part between on the screens that list keys.
func TestLongNamesSayWhoseKeyItIs(t *testing.T) {
	var people []tuitest.Personality
	for _, who := range []string{"10.0.0.7/login/10", "10.0.0.11/api/100", "alice/upload/20"} {
		one := tuitest.Overrun()[0]
		one.Name, one.How, one.Limit = "LIMITS:LIMITER/"+who+"/1/minute", limiter.SlidingLog, limiter.Limit{Count: 2, Window: time.Minute}
		people = append(people, one)
	}
	for _, size := range [][2]int{{140, 42}, {80, 24}} {
		s := tuitest.NewStage(t, size[0], size[1], tui.Options{}, people...)
		s.Run(5 * time.Second)
		for screen, own := range map[string]string{"1": "10.0.0.7/login", "2": "10.0.0.7/login", "5": "10.0.0.7/login", "6": "…10.0.0"} {
			s.Press(screen)
			s.See(own)
			for _, line := range strings.Split(s.Text(), "\n") {
				if at := strings.Index(line, "LIMITS:LI"); at >= 0 && !strings.Contains(line, "keys 3 · ") && strings.Contains(line[at:min(at+40, len(line))], "…") {
					t.Errorf("screen %s in %dx%d keeps what all names begin with and cuts the rest: %s", screen, size[0], size[1], line)
				}
			}
		}
	}
}

// TestThePastBeforeWatchingBeganIsUnknown scrolls a pause back beyond the first reading, where
// counters tell nothing.
func TestThePastBeforeWatchingBeganIsUnknown(t *testing.T) {
	one := tuitest.Overrun()[0]
	one.How, one.Limit = limiter.FixedWindow, limiter.Limit{Count: 20, Window: time.Minute}
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, one)
	s.Run(5 * time.Second)
	s.Press("p")
	for range 6 {
		s.Press("left")
	}
	s.See("Nothing was watched yet at", "– admitted", "– denied")
	s.Press("right", "right", "right", "right", "right", "right")
	if text := s.Text(); strings.Contains(text, "– admitted") {
		t.Errorf("the moment of the pause is not known any more:\n%s", text)
	}
}

// TestTheTitleSaysWhatAllNamesShare: rows say what differs.
func TestTheTitleSaysWhatAllNamesShare(t *testing.T) {
	var people []tuitest.Personality
	for _, who := range []string{"0000:subscription-6000", "0001:subscription-6001", "0002:subscription-6002"} {
		one := tuitest.Overrun()[0]
		one.Name = "LIMITS:LIMITER/tenant-" + who + "/requests/per-user/100/1/minute"
		people = append(people, one)
	}
	s := tuitest.NewStage(t, 200, 55, tui.Options{}, people...)
	s.Run(5 * time.Second)
	s.See("keys 3 · LIMITS:LIMITER/tenant-…/requests/per-user/100/1/minute", " 0000:subscription-6000 ", " 0002:subscription-6002 ")
}
