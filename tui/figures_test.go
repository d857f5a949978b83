package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// sized are the sizes that people have, the smallest first.
var sized = [...][2]int{{60, 20}, {80, 24}, {100, 30}, {110, 30}, {140, 42}, {200, 55}}

// TestAFigureIsNeverCut shows a key far over a limit of five digits.
func TestAFigureIsNeverCut(t *testing.T) {
	for _, size := range sized {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			s := tuitest.NewStage(t, size[0], size[1], tui.Options{},
				tuitest.Personality{Name: "busy", How: limiter.SlidingWindow, Limit: limiter.Limit{Count: 20_000, Window: 10 * time.Second}})
			s.Edit = func(b *model.Batch) {
				r := &b.Readings[0]
				r.State = limiter.State{Algorithm: limiter.SlidingWindow, Start: r.At.Floor(10 * time.Second), Current: 33_300}
				r.Denied = model.Count{Known: true, N: 123_456}
			}
			s.Run(5 * time.Second)
			for line := range strings.Lines(s.Text()) {
				if at := strings.Index(line, "/20"); at >= 0 && !strings.HasPrefix(line[at:], "/20k ") {
					t.Errorf("the limit of 20000 is written as %q", strings.Fields(line[at:])[0])
				}
			}
			s.See("33k/20k")
			if size[1] >= 24 {
				s.See(" used")
			}
			if strings.Contains(s.Text(), "0used") || strings.Contains(s.Text(), "2used") {
				t.Errorf("two labels stand on each other:\n%s", s.Text())
			}
		})
	}
}

func TestAnIntervalKeepsItsUnit(t *testing.T) {
	for _, size := range sized {
		for _, used := range []int{1, 20, 150} {
			s := tuitest.NewStage(t, size[0], size[1], tui.Options{},
				tuitest.Personality{Name: "gcra", How: limiter.GCRA, Limit: limiter.Limit{Count: 100, Window: time.Minute}})
			s.Edit = func(b *model.Batch) {
				r := &b.Readings[0]
				r.State.TAT = r.At.Add(time.Duration(used) * 600 * time.Millisecond)
			}
			s.Run(2 * time.Second)
			for line := range strings.Lines(s.Text()) {
				if at := strings.Index(line, "one each"); at >= 0 && !strings.HasPrefix(line[at:], "one each 600ms") && !strings.HasPrefix(line[at:], "one each…") {
					t.Errorf("at %dx%d with %d used: %q", size[0], size[1], used, line[at:])
				}
			}
		}
	}
}

// TestARateCanBeSeenOnEveryScreen fires at a rate and goes through all screens.
func TestARateCanBeSeenOnEveryScreen(t *testing.T) {
	for _, size := range sized {
		told(t, size[0], size[1], tui.Options{}, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
			x.Press("r")
			x.See("firing 5.0/s at ")
			x.See("x stops")
			for _, screen := range []string{"enter", "tab", "tab", "esc", "2", "4", "5", "p", "?"} {
				x.Press(screen)
				x.Wait(time.Second)
				first, _, _ := strings.Cut(x.Screen(), "\n")
				if !strings.Contains(first, "firing 5.0/s") || !strings.Contains(first, "x stops") {
					t.Errorf("at %v after %q the first line is %q", size, screen, first)
				}
			}
			x.Press("esc", "p", "3")
			x.See("firing 5.0/s")
			x.Press("1")
			x.Resize(30, 8)
			x.See("firing 5.0/s")
			x.Resize(size[0], size[1])
			x.Press("1", "x")
			x.Gone("firing")
		})
	}
}
