package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestChoicesSurviveTheProgram chooses a theme, an order and no mouse, and starts again.
func TestChoicesSurviveTheProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ratescope", "choices.json")
	start := func() *App {
		app, err := New(context.Background(), Options{Choices: path})
		if err != nil {
			t.Fatal(err)
		}
		app.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
		return app
	}
	press := func(app *App, keys ...tea.KeyPressMsg) {
		for _, k := range keys {
			if _, cmd := app.Update(k); cmd != nil {
				if batch, ok := cmd().(tea.BatchMsg); ok {
					for _, c := range batch {
						c()
					}
				}
			}
		}
	}
	letter := func(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }
	app := start()
	if !strings.Contains(app.View().Content, "Three things to try") {
		t.Error("the first start says nothing of what to try")
	}
	press(app, letter('m'), letter('s'), letter('t'), letter('n'), letter('o'), letter('r'), letter('d'), tea.KeyPressMsg{Code: tea.KeyEnter})
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "nord") {
		t.Fatalf("the choices are %s, %v", text, err)
	}
	again := start()
	if again.Look.Name != "nord" || again.session.SortText() != "by utilization" || again.View().MouseMode != tea.MouseModeNone {
		t.Errorf("theme %s, order %s, mouse %v", again.Look.Name, again.session.SortText(), again.View().MouseMode)
	}
	if strings.Contains(again.View().Content, "Three things to try") {
		t.Error("the second start says it again")
	}
	if err := os.WriteFile(path, []byte("not JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	start() // a file that cannot be read is no reason not to start
}
