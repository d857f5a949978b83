package tui_test

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
)

// TestGroupsFoldAndUnfold walks through the tree as a person does.
func TestGroupsFoldAndUnfold(t *testing.T) {
	injector := &feedInjector{}
	s := newStage(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, crowd(24)...)
	injector.feed = s.feed
	s.run(3 * time.Second)
	s.press("f")
	s.see(" in ", "groups")
	table := func(text string) bool {
		for _, line := range strings.Split(s.text(), "\n") {
			if row := []rune(line); strings.Contains(string(row[:min(len(row), 76)]), text) {
				return true
			}
		}
		return false
	}
	if !table("api 6") || table("› alice") {
		t.Fatalf("the groups are not folded:\n%s", s.text())
	}
	for i := 0; !strings.Contains(s.app.Group(), "api"); i++ {
		if i > 20 {
			t.Fatal("there is no group api")
		}
		s.press("home")
		for range i {
			s.press("down")
		}
	}
	s.press("space", "b")
	if orders := injector.Orders(); len(orders) != 0 {
		t.Fatalf("fired at a group: %+v", orders)
	}
	s.see("is a group")
	s.press("w")
	s.see("w asks about all of its keys on the heat map")
	s.press("right")
	if !table("search › alice") && !table("export › nightly") {
		t.Fatalf("the group is not open:\n%s", s.text())
	}
	s.press("down", "left")
	if got := s.app.Group(); got != "api" {
		t.Fatalf("left leads from inside to %q, want api", got)
	}
	s.press("enter")
	if table("search › alice") {
		t.Fatalf("enter did not fold the group:\n%s", s.text())
	}
	s.press("f")
	if s.app.Group() != "" {
		t.Error("a group is selected and nothing is grouped")
	}
}

// TestAWheelOnATinyScreen: the rows are those of the keys as soon as the groups are left, though there is no room to draw them.
func TestAWheelOnATinyScreen(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{}, crowd(24)...)
	s.run(3 * time.Second)
	s.press("f")
	s.frame()
	s.size(30, 6)
	s.press("f")
	s.app.Update(tea.MouseWheelMsg{X: 10, Y: 3, Button: tea.MouseWheelDown})
}

// TestAFilterOpensTheGroups: what fits can be seen.
func TestAFilterOpensTheGroups(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{}, crowd(24)...)
	s.run(3 * time.Second)
	s.press("f", "/", "m", "a", "i", "l")
	s.see("mail", "000", "001", "002")
	s.press("esc")
}

// BenchmarkGroups is a frame of ten thousand keys in groups.
func BenchmarkGroups(b *testing.B) {
	s := newStage(b, 160, 48, tui.Options{}, crowd(10_000)...)
	s.run(3 * time.Second)
	s.press("f")
	for b.Loop() {
		s.app.Update(tea.WindowSizeMsg{Width: 160, Height: 48}) // makes it stale
		s.frame()
	}
}
