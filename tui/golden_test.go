package tui_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// situations are what a dashboard can have before it. Each runs for some time and then
// stands still: the same frame comes out on every machine.
var situations = []struct {
	name string
	set  func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage
}{
	{"calm", func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage {
		s := tuitest.NewStage(t, w, h, o, tuitest.Calm()...)
		s.Run(25 * time.Second)
		return s
	}},
	{"busy", func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage {
		s := tuitest.NewStage(t, w, h, o)
		s.Run(25 * time.Second)
		return s
	}},
	{"over", func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage {
		s := tuitest.NewStage(t, w, h, o, tuitest.Overrun()...)
		s.Run(25 * time.Second)
		return s
	}},
	{"stale", func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage {
		s := tuitest.NewStage(t, w, h, o)
		s.Run(20 * time.Second)
		s.Edit = func(b *model.Batch) { b.Readings, b.Health = nil, nil } // it answers, but the keys are not read
		s.Run(8 * time.Second)
		return s
	}},
	{"paused", func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage {
		s := tuitest.NewStage(t, w, h, o)
		s.Run(20 * time.Second)
		s.Press("p", "left", "left")
		s.Run(5 * time.Second)
		return s
	}},
	{"disconnected", func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage {
		s := tuitest.NewStage(t, w, h, o)
		s.Run(20 * time.Second)
		s.Feed.Break(s.Now, "prod-eu-1 does not answer: connection refused; still trying.")
		s.Run(5 * time.Second)
		return s
	}},
	{"back", func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage {
		s := tuitest.NewStage(t, w, h, o)
		s.Run(15 * time.Second)
		s.Feed.Break(s.Now, "prod-eu-1 does not answer: connection refused; still trying.")
		s.Run(4 * time.Second)
		s.Feed.Mend()
		s.Run(5 * time.Second)
		return s
	}},
	{"empty", func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage {
		s := tuitest.NewStage(t, w, h, o)
		s.Edit = func(b *model.Batch) { b.Readings = nil; b.Sweep.Patterns = []string{"rl:*"} }
		s.Run(2 * time.Second)
		return s
	}},
	{"connecting", func(t testing.TB, w, h int, o tui.Options) *tuitest.Stage { return tuitest.NewStage(t, w, h, o) }},
}

func situation(t testing.TB, name string, w, h int, o tui.Options) *tuitest.Stage {
	t.Helper()
	for _, s := range situations {
		if s.name == name {
			return s.set(t, w, h, o)
		}
	}
	t.Fatalf("there is no situation %q", name)
	return nil
}

// pictures are the screens, and the keys that lead there from any of them.
var pictures = []struct{ name, key string }{{"dashboard", "1"}, {"grid", "2"}, {"health", "4"}, {"events", "5"}, {"heat", "6"}}

// TestFrames compares what can be read on every screen with what it was when it was last
// looked at; -update takes it as it is now. Each situation is seen on the dashboard, the
// telling ones on the screens that show them in their own way, and the dashboard and the grid at
// every size; the properties of sizes hold all others.
func TestFrames(t *testing.T) {
	everySize := []string{"dashboard", "grid"}
	screens := map[string][]string{
		"busy": {"dashboard", "grid", "health", "events", "heat"}, "empty": {"dashboard", "grid", "health", "events", "heat"},
		"over": {"dashboard", "heat"}, "disconnected": {"dashboard", "health"},
	}
	sizes := [][2]int{{140, 42}, {200, 55}, {80, 24}, {60, 20}}
	for _, s := range situations {
		x := s.set(t, sizes[0][0], sizes[0][1], tui.Options{})
		for i, size := range sizes {
			x.Size(size[0], size[1])
			for _, p := range pictures {
				if p.name != "dashboard" && !slices.Contains(screens[s.name], p.name) || i > 0 && (s.name != "busy" || !slices.Contains(everySize, p.name)) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s-%dx%d", s.name, p.name, size[0], size[1]), func(t *testing.T) {
					x.Press(p.key)
					check(x, s.name)
					golden.RequireEqual(t, x.Text()+"\n")
				})
			}
		}
	}
}

// TestFramesOfAlgorithms are each algorithm's own picture, beside the same traffic.
func TestFramesOfAlgorithms(t *testing.T) {
	x := tuitest.NewStage(t, 140, 42, tui.Options{}, tuitest.Every()...)
	x.Run(25 * time.Second)
	for _, p := range tuitest.Every() {
		t.Run(p.Name[len("every:"):], func(t *testing.T) {
			for x.Press("home"); x.Session.Selection.Selected != p.Name; x.Press("down") {
			}
			check(x, p.Name)
			golden.RequireEqual(t, x.Text()+"\n")
		})
	}
}

// TestFramesOfOverlays are what lies over a screen, and panes that take all of it.
func TestFramesOfOverlays(t *testing.T) {
	for _, scene := range scenes[1:] {
		if scene.name == "paused" || slices.ContainsFunc(pictures, func(p struct{ name, key string }) bool { return p.name == scene.name }) {
			continue // TestFrames has it
		}
		t.Run(scene.name, func(t *testing.T) {
			x := situation(t, "busy", 100, 30, tui.Options{})
			x.Press(scene.to...)
			check(x, scene.name)
			golden.RequireEqual(t, x.Text()+"\n")
		})
	}
	t.Run("ascii", func(t *testing.T) {
		x := situation(t, "busy", 100, 30, tui.Options{Look: shell.Options{ASCII: true}})
		text := x.Text()
		for _, r := range text {
			if r > '~' {
				t.Errorf("%q is not ASCII", r)
				break
			}
		}
		golden.RequireEqual(t, text+"\n")
	})
}

// TestColours compares frames with their colours.
func TestColours(t *testing.T) {
	list := []struct {
		situation, theme string
		w, h             int
	}{{"busy", "phosphor", 120, 32}, {"busy", "paper", 120, 32}, {"over", "monochrome", 80, 24}, {"stale", "paper", 80, 24}}
	for _, p := range list {
		t.Run(fmt.Sprintf("%s-%s", p.situation, p.theme), func(t *testing.T) {
			x := situation(t, p.situation, p.w, p.h, tui.Options{Look: shell.Options{Theme: p.theme}})
			golden.RequireEqual(t, x.App.View().Content+"\n")
		})
	}
}
