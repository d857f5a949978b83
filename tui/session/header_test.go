package session_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestASlowServerIsSlowOnce: a round trip that is a concern is not told again beside it.
func TestASlowServerIsSlowOnce(t *testing.T) {
	s := tuitest.NewStage(t, 160, 42, tui.Options{})
	for rtt, want := range map[time.Duration]string{time.Millisecond: "rtt 1.00ms", 80 * time.Millisecond: "rtt 80ms: press 4"} {
		s.Edit = func(b *model.Batch) { b.Server.RTT, b.Health = rtt, nil } // nothing else is wrong
		s.Run(time.Second)
		top, _, _ := strings.Cut(s.Text(), "\n")
		if strings.Count(top, "rtt") != 1 || !strings.Contains(top, want) {
			t.Errorf("a round trip of %v: %q, want %q once", rtt, top, want)
		}
	}
}

// TestAStormIsInEveryHeader: the figure of script calls that changed nothing stands beside the server at each size, cut where there
// is little room, and whole on the screen of the server.
func TestAStormIsInEveryHeader(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Edit = func(b *model.Batch) {
		b.Server.Target = "redis://cache-1.example.net:6379"
		if b.Health != nil {
			b.Health.Errors, b.Health.Fruitless = nil, model.Measure{Known: true, V: 40}
		}
	}
	s.Run(5 * time.Second)
	for _, size := range [][2]int{{80, 24}, {100, 30}, {140, 42}, {200, 55}} {
		s.Size(size[0], size[1])
		for screen, want := range map[string]string{"1": "at least 40.0/s", "4": "at least 40.0/s script calls changed nothing"} {
			s.Press(screen)
			if text := s.Text(); !strings.Contains(strings.SplitN(text, "\n", 2)[0], "at least 40.0/s") || !strings.Contains(text, want) {
				t.Errorf("at %v screen %s does not say %q:\n%s", size, screen, want, text)
			}
		}
	}
}
