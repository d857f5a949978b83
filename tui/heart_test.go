package tui_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestAScrolledPauseShowsThatMoment pauses, scrolls back, and compares what the board says
// of every key with what it said then.
func TestAScrolledPauseShowsThatMoment(t *testing.T) {
	people := tuitest.Every()
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, people...)
	s.Run(30 * time.Second)
	used := map[limiter.Instant]map[string]int64{}
	for range 100 {
		s.Run(tuitest.Refresh)
		now := map[string]int64{}
		for _, k := range s.Session.Rows.Rows {
			now[k.Reading.Key] = k.Gauge.Used.N
		}
		used[limiter.InstantOf(s.Now)] = now
	}
	s.Press("p")
	for range 6 {
		s.Press("left")
		at := s.Session.Shown.At()
		if at >= limiter.InstantOf(s.Now) {
			t.Fatal("the picture is not of the past")
		}
		var then map[string]int64
		nearest := time.Hour
		for when, levels := range used {
			if d := when.Sub(at); d.Abs() < nearest {
				nearest, then = d.Abs(), levels
			}
		}
		for _, k := range s.Session.Rows.Rows {
			g, name := &k.Gauge, k.Reading.Key
			if !g.Used.Known {
				t.Errorf("%s: nothing is known %v ago", name, limiter.InstantOf(s.Now).Sub(at))
				continue
			}
			// A bin is a 240th of the window, and a burst of 13 comes at once.
			if d := g.Used.N - then[name]; (d > 13 || d < -13) || nearest < 50*time.Millisecond && (d > 2 || d < -2) &&
				!strings.Contains(name, "window") {
				t.Errorf("%s: %d were used at that moment, %d are shown", name, then[name], g.Used.N)
			}
		}
	}
	text := s.Text()
	s.Press("p")
	s.Run(time.Second)
	if s.Session.Shown.At() < limiter.InstantOf(s.Now).Add(-2*time.Second) {
		t.Errorf("after the pause the picture stays in the past:\n%s", text)
	}
}
