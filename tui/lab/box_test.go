package lab_test

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/tui/lab"
	"ratescope/tui/tuitest"
)

// TestTheBoxIsNamed fires at a box, names it wrongly or rightly, and sees the score; it is remembered, and the next box is another.
func TestTheBoxIsNamed(t *testing.T) {
	var kept lab.Memory
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		app, err := lab.New(context.Background(), lab.Options{Remember: func(m lab.Memory) error { kept = m; return nil }})
		if err != nil {
			t.Fatal(err)
		}
		app.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		press := func(keys ...string) string {
			for _, k := range keys {
				app.Update(tuitest.Key(k))
			}
			return ansi.Strip(app.View().Content)
		}
		text := press("X", "space", "space", "space", "space", "+", "right", "space")
		for _, want := range []string{"which limiter is this?", "5 requests so far", "1  ", "admitted"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: %q is not on screen:\n%s", size, want, text)
			}
		}
		text = strings.Join(strings.Fields(press("enter", "enter")), " ")
		for _, want := range []string{" It is the ", "1 boxes"} {
			if want == "1 boxes" && size[0] < 140 {
				continue
			}
			if !strings.Contains(text, want) {
				t.Errorf("%v: %q is not on screen:\n%s", size, want, press())
			}
		}
		if text = press("space", "space"); strings.Contains(text, "7 requests") {
			t.Errorf("a box that was named is fired at:\n%s", text)
		}
		if text = press("n"); !strings.Contains(text, "0 requests so far") {
			t.Errorf("n brings no other box:\n%s", text)
		}
		if err := app.KeepAll(); err != nil || kept.Named.Boxes != 1 {
			t.Errorf("remembered: %+v (%v)", kept.Named, err)
		}
	}
}
