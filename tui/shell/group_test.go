package shell_test

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// own is a message of a program's command.
type own struct{}

// counter is a screen that counts the messages that it gets.
type counter struct{ owned, pressed int }

func (c *counter) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case own:
		c.owned++
	case tea.KeyPressMsg:
		c.pressed++
		return tea.Batch(func() tea.Msg { return own{} }, tea.Quit)
	}
	return nil
}
func (c *counter) Paint(*widget.Canvas, cell.Rect) {}
func (c *counter) Keys() shell.Actions             { return nil }

// TestAGroupKeepsProgramsApart: a key is of the program that is shown, and what comes of it is that program's,
// but for what Bubble Tea itself does.
func TestAGroupKeepsProgramsApart(t *testing.T) {
	var apps []*shell.App
	var screens []*counter
	for range 2 {
		app, err := shell.New(t.Context(), shell.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := &counter{}
		app.Register("first", "", s)
		apps, screens = append(apps, app), append(screens, s)
	}
	g := shell.NewGroup(apps...)
	for i := range screens {
		g.Front(apps[i])
		g.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
		_, cmd := g.Update(tea.KeyPressMsg{Code: 'k', Text: "k"})
		quits := false
		for _, msg := range all(cmd) {
			_, q := msg.(tea.QuitMsg)
			quits = quits || q
			g.Update(msg)
		}
		if !quits {
			t.Error("a command that quits does not reach Bubble Tea")
		}
	}
	for i, s := range screens {
		if s.owned != 1 || s.pressed != 1 {
			t.Errorf("program %d got %d keys and %d messages of its own, want one each", i, s.pressed, s.owned)
		}
	}
}

// all runs a command, and those that it starts, and returns their messages.
func all(cmd tea.Cmd) (msgs []tea.Msg) {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, c := range batch {
			msgs = append(msgs, all(c)...)
		}
		return msgs
	}
	return append(msgs, msg)
}
