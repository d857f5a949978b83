package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

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
	app, _, err := NewDashboard(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := &blank{}
	app.Register("blank", "shows nothing", made)

	app.Update(tea.WindowSizeMsg{Width: 120, Height: 50})
	key := rune('1' + len(screens))
	app.Update(tea.KeyPressMsg{Code: key, Text: string(key)})
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
