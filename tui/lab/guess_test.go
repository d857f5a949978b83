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

// TestPredictBeforeYouFire: with J each request by hand waits for a prediction, is fired with the
// answer, and the score is remembered.
func TestPredictBeforeYouFire(t *testing.T) {
	var kept lab.Memory
	app, err := lab.New(context.Background(), lab.Options{Remember: func(m lab.Memory) error { kept = m; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	app.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
	press := func(keys ...string) string {
		for _, k := range keys {
			app.Update(tuitest.Key(k))
		}
		return ansi.Strip(app.View().Content)
	}
	see := func(text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Fatalf("%q is not on screen:\n%s", want, text)
			}
		}
	}
	see(press("enter", "J", "space"), "What will become of it at fixed window?", "0 admitted 0 denied")
	if text := press("D"); !strings.Contains(text, "one more request now") || strings.Contains(text, "there is room for") {
		t.Errorf("what is to be predicted is told:\n%s", text)
	}
	press("C")
	see(press("d"), "Wrong: fixed window has it admitted, 0 + 1 = 1 <= 10. 0 of 1 right.", "1 admitted 0 denied")
	for range 9 {
		press("space", "a")
	}
	see(press("space", "d"), "Right: fixed window has it denied, 10 + 1 = 11 > 10. 10 of 11 right.", "10 admitted 1 denied")
	see(press("space", "n"), "read this")
	see(press("enter", "J", "space"), "1 admitted 0 denied")
	if err := app.KeepAll(); err != nil {
		t.Fatal(err)
	}
	if s := kept.Scores["fixed-window"]; s.Asked != 11 || s.Right != 10 {
		t.Errorf("remembered: %+v", kept.Scores)
	}
}
