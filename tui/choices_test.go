package tui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ratescope/tui"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"

	tea "charm.land/bubbletea/v2"
)

// TestChoicesSurviveTheProgram chooses a theme, an order and no mouse, and starts again.
func TestChoicesSurviveTheProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ratescope", "choices.json")
	start := func() *tuitest.Stage { return tuitest.NewStage(t, 120, 40, tui.Options{Choices: path}) }
	press := func(app *shell.App, keys ...tea.KeyPressMsg) {
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
	app := start().App
	if !strings.Contains(app.View().Content, "Three things to try") {
		t.Error("the first start says nothing of what to try")
	}
	press(app, letter('m'), letter('m'), letter('s'), letter('f'), letter(']'), letter('t'), letter('n'), letter('o'), letter('r'),
		letter('d'), tea.KeyPressMsg{Code: tea.KeyEnter})
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "nord") {
		t.Fatalf("the choices are %s, %v", text, err)
	}
	second := start()
	again := second.App
	if again.Canvas.Look.Name != "nord" || second.Session.Rows.SortText() != "trouble first" || again.View().MouseMode != tea.MouseModeNone {
		t.Errorf("theme %s, order %s, mouse %v", again.Canvas.Look.Name, second.Session.Rows.SortText(), again.View().MouseMode)
	}
	for _, key := range []string{"groups", "sort", "zoom"} { // which belong to what was looked at then
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), key) {
			t.Errorf("%s of the first start is kept: %s, %v", key, text, err)
		}
	}
	if strings.Contains(again.View().Content, "Three things to try") {
		t.Error("the second start says it again")
	}
	if err := os.WriteFile(path, []byte("not JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	start() // a file that cannot be read is no reason not to start
}

// TestChoicesWithoutAHome: a folder that cannot be written is no reason for a word on screen.
func TestChoicesWithoutAHome(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", filepath.Join(file, "ratescope", "choices.json")} {
		app := tuitest.NewStage(t, 120, 40, tui.Options{Choices: path}).App
		if _, cmd := app.Update(tea.KeyPressMsg{Code: 's', Text: "s"}); cmd != nil {
			app.Update(cmd())
		}
		if text := app.View().Content; strings.Contains(text, "file") {
			t.Errorf("%q: the screen speaks of a file:\n%s", path, text)
		}
	}
}
