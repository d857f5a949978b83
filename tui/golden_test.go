package tui_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// situations are what a dashboard can have before it. Each runs for some time and then
// stands still: the same frame comes out on every machine.
var situations = []struct {
	name string
	set  func(t testing.TB, w, h int, o tui.Options) *stage
}{
	{"calm", func(t testing.TB, w, h int, o tui.Options) *stage {
		s := newStage(t, w, h, o, tuitest.Calm()...)
		s.run(25 * time.Second)
		return s
	}},
	{"busy", func(t testing.TB, w, h int, o tui.Options) *stage {
		s := newStage(t, w, h, o)
		s.run(25 * time.Second)
		return s
	}},
	{"over", func(t testing.TB, w, h int, o tui.Options) *stage {
		s := newStage(t, w, h, o, tuitest.Overrun()...)
		s.run(25 * time.Second)
		return s
	}},
	{"disconnected", func(t testing.TB, w, h int, o tui.Options) *stage {
		s := newStage(t, w, h, o)
		s.run(20 * time.Second)
		s.feed.Break(s.now, "prod-eu-1 does not answer: connection refused; still trying.")
		s.run(5 * time.Second)
		return s
	}},
	{"back", func(t testing.TB, w, h int, o tui.Options) *stage {
		s := newStage(t, w, h, o)
		s.run(15 * time.Second)
		s.feed.Break(s.now, "prod-eu-1 does not answer: connection refused; still trying.")
		s.run(4 * time.Second)
		s.feed.Mend()
		s.run(5 * time.Second)
		return s
	}},
	{"empty", func(t testing.TB, w, h int, o tui.Options) *stage {
		s := newStage(t, w, h, o)
		s.edit = func(b *model.Batch) { b.Readings = nil; b.Sweep.Patterns = []string{"rl:*"} }
		s.run(2 * time.Second)
		return s
	}},
	{"connecting", func(t testing.TB, w, h int, o tui.Options) *stage { return newStage(t, w, h, o) }},
}

func situation(t testing.TB, name string, w, h int, o tui.Options) *stage {
	t.Helper()
	for _, s := range situations {
		if s.name == name {
			return s.set(t, w, h, o)
		}
	}
	t.Fatalf("there is no situation %q", name)
	return nil
}

// TestFrames compares what can be read with what it was when it was last looked at;
// -update takes it as it is now.
func TestFrames(t *testing.T) {
	for _, s := range situations {
		for _, size := range [][2]int{{200, 55}, {140, 42}, {80, 24}, {60, 20}} {
			t.Run(fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1]), func(t *testing.T) {
				x := s.set(t, size[0], size[1], tui.Options{})
				x.check(s.name)
				golden.RequireEqual(t, x.text()+"\n")
			})
		}
	}
}

func TestFramesOfOtherScreens(t *testing.T) {
	for _, scene := range scenes[1:] {
		t.Run(scene.name, func(t *testing.T) {
			x := situation(t, "busy", 100, 30, tui.Options{})
			x.press(scene.to...)
			x.check(scene.name)
			golden.RequireEqual(t, x.text()+"\n")
		})
	}
	t.Run("ascii", func(t *testing.T) {
		x := situation(t, "busy", 100, 30, tui.Options{ASCII: true})
		text := x.text()
		for _, r := range text {
			if r > '~' {
				t.Errorf("%q is not ASCII", r)
				break
			}
		}
		golden.RequireEqual(t, text+"\n")
	})
}

// TestColours compares a few frames with their colours.
func TestColours(t *testing.T) {
	for _, tc := range []struct {
		situation, theme string
		w, h             int
	}{
		{"busy", "phosphor", 120, 32}, {"busy", "paper", 120, 32}, {"over", "phosphor", 80, 24}, {"over", "paper", 80, 24}, {"disconnected", "phosphor", 80, 24}, {"over", "monochrome", 80, 24},
	} {
		t.Run(fmt.Sprintf("%s-%s", tc.situation, tc.theme), func(t *testing.T) {
			x := situation(t, tc.situation, tc.w, tc.h, tui.Options{Theme: tc.theme})
			golden.RequireEqual(t, x.frame()+"\n")
		})
	}
}
