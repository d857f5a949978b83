package keys_test

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

// TestGroupsFoldAndUnfold walks through the tree as a person does.
func TestGroupsFoldAndUnfold(t *testing.T) {
	injector := &ledger{}
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, tuitest.Crowd(24)...)
	s.Run(3 * time.Second)
	s.Press("f")
	s.See(" in ", "groups")
	table := func(text string) bool {
		for _, line := range strings.Split(s.Text(), "\n") {
			if row := []rune(line); strings.Contains(string(row[:min(len(row), 76)]), text) {
				return true
			}
		}
		return false
	}
	if !table("api 6") || table("› alice") {
		t.Fatalf("the groups are not folded:\n%s", s.Text())
	}
	for i := 0; !strings.Contains(s.Session.Selection.Group, "api"); i++ {
		if i > 20 {
			t.Fatal("there is no group api")
		}
		s.Press("home")
		for range i {
			s.Press("down")
		}
	}
	s.Press("space", "b")
	if orders := injector.orders; len(orders) != 0 {
		t.Fatalf("fired at a group: %+v", orders)
	}
	s.See("is a group")
	s.Press("w")
	s.See("w asks about all of its keys on the heat map")
	s.Press("right")
	if !table("search › alice") && !table("export › nightly") {
		t.Fatalf("the group is not open:\n%s", s.Text())
	}
	s.Press("down", "left")
	if got := s.Session.Selection.Group; got != "api" {
		t.Fatalf("left leads from inside to %q, want api", got)
	}
	s.Press("enter")
	if table("search › alice") {
		t.Fatalf("enter did not fold the group:\n%s", s.Text())
	}
	s.Press("f")
	if s.Session.Selection.Group != "" {
		t.Error("a group is selected and nothing is grouped")
	}
}

// TestAWheelOnATinyScreen: the rows are those of the keys as soon as the groups are left, though there is no room to draw them.
func TestAWheelOnATinyScreen(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, tuitest.Crowd(24)...)
	s.Run(3 * time.Second)
	s.Press("f")
	s.App.View()
	s.Size(30, 6)
	s.Press("f")
	s.App.Update(tea.MouseWheelMsg{X: 10, Y: 3, Button: tea.MouseWheelDown})
}

// TestAFilterOpensTheGroups: what fits can be seen.
func TestAFilterOpensTheGroups(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, tuitest.Crowd(24)...)
	s.Run(3 * time.Second)
	s.Press("f", "/", "m", "a", "i", "l")
	s.See("mail", "000", "001", "002")
	s.Press("esc")
}

// BenchmarkGroups is a frame of ten thousand keys in groups.
func BenchmarkGroups(b *testing.B) {
	s := tuitest.NewStage(b, 160, 48, tui.Options{}, tuitest.Crowd(10_000)...)
	s.Run(3 * time.Second)
	s.Press("f")
	for b.Loop() {
		s.App.Update(tea.WindowSizeMsg{Width: 160, Height: 48}) // makes it stale
		s.App.View()
	}
}
