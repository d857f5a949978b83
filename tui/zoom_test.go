package tui_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// Dragging over a part of the timeline pauses on that part, drawn larger.
func TestDraggingZooms(t *testing.T) {
	told(t, 140, 42, tui.Options{}, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
		x.Press("j")
		column, line, found := x.Find("window 1")
		if !found {
			t.Fatalf("there is no bracket:\n%s", x.Screen())
		}
		line += 3
		x.Send(tea.MouseClickMsg{X: column, Y: line, Button: tea.MouseLeft})
		x.Send(tea.MouseMotionMsg{X: column + 8, Y: line, Button: tea.MouseLeft})
		x.See("denied, used") // the column under the cursor is read out
		x.Send(tea.MouseReleaseMsg{X: column + 8, Y: line, Button: tea.MouseLeft})
		x.See("PAUSED")
		axis := ""
		for line := range strings.Lines(x.Screen()) {
			if strings.Contains(line, "s ") && strings.Count(line, " -") > 1 && !strings.Contains(line, "used/limit") {
				axis = line // that of the timeline is the last
			}
		}
		if labels := regexp.MustCompile(`-[0-9.]+m?s`).FindAllString(axis, -1); len(labels) < 2 || strings.Contains(axis, "-20s") ||
			regexp.MustCompile(`-[0-9]+m[^s]`).MatchString(axis) {
			t.Errorf("eight columns were dragged over, and the axis is %q:\n%s", axis, x.Screen())
		}
		x.Press("esc")
		x.See("LIVE")
	})
}

// Without animation the picture changes with the seconds of the clock alone.
func TestStillScreenChangesOnceASecond(t *testing.T) {
	told(t, 140, 42, tui.Options{Look: shell.Options{Still: true}}, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
		seen := map[string]bool{}
		for range 100 { // ten seconds
			seen[x.Screen()] = true
			x.Wait(100 * time.Millisecond)
		}
		if n := len(seen); n < 8 || n > 12 {
			t.Errorf("%d pictures in ten seconds, want about ten", n)
		}
	})
}
