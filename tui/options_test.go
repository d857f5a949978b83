package tui_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
	"ratescope/tui/widget"
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

var opened = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// TestPlainLines: a server that has never answered has no clock, and one key is no several.
func TestPlainLines(t *testing.T) {
	away := model.Batch{Local: opened, Server: model.Server{Target: "redis://h", Link: model.Down, Err: "nothing listens at redis://h"}}
	there := model.Batch{At: limiter.InstantOf(opened), Local: opened, Server: model.Server{Target: "redis://h", Link: model.Live},
		Readings: []model.Reading{{Key: "k"}}}
	for want, batch := range map[string]model.Batch{"--:--:--  nothing listens at redis://h": away, "  1 key: ": there} {
		batches := []model.Batch{batch}
		var out bytes.Buffer
		err := tui.Plain(t.Context(), &out, session.Options{Source: session.Source{Take: func(context.Context) (model.Batch, error) {
			if len(batches) == 0 {
				return model.Batch{}, io.EOF
			}
			b := batches[0]
			batches = nil
			return b, nil
		}}})
		if err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, lines %q, want them to hold %q", err, &out, want)
		}
	}
}

// blank is a screen that only says its name.
type blank struct{ shown int }

func (b *blank) Update(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(shell.ShownMsg); ok {
		b.shown++
	}
	return nil
}

func (b *blank) Paint(p *widget.Canvas, r cell.Rect) {
	p.Buffer.Text(r.X, r.Y, r.X+r.W, "nothing to see", p.Look.Text)
}

func (b *blank) Keys() shell.Actions { return nil }

// TestAScreenIsRegisteredInOneLine: a made-up screen has a number, a line in the help and
// in the palette, and a way back.
func TestAScreenIsRegisteredInOneLine(t *testing.T) {
	app, _, err := tui.NewDashboard(context.Background(), tui.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := &blank{}
	app.Register("blank", "shows nothing", made)

	app.Update(tea.WindowSizeMsg{Width: 120, Height: 50})
	for key := '9'; key > '1' && app.Screen() != "blank"; key-- { // its number is the last
		app.Update(tea.KeyPressMsg{Code: key, Text: string(key)})
	}
	if text := app.View().Content; !strings.Contains(text, "nothing to see") || made.shown != 1 {
		t.Errorf("the screen was shown %d times:\n%s", made.shown, text)
	}
	for range 2 { // its second page
		app.Update(tea.KeyPressMsg{Code: '?', Text: "?"})
	}
	if text := app.View().Content; !strings.Contains(text, "shows nothing") {
		t.Errorf("the help does not know the screen:\n%s", text)
	}
	app.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	app.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	if got := app.Screen(); got != "dashboard" {
		t.Errorf("esc leads to %s", got)
	}
}
