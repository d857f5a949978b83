package lab_test

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/tui/lab"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// TestTheDuel: a person breaks the fixed window before the solver's time is up, and the solver's traffic is played in all lanes.
func TestTheDuel(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		app, err := lab.New(context.Background(), lab.Options{})
		if err != nil {
			t.Fatal(err)
		}
		app.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		now := time.Unix(2_000_000_000, 0)
		began := make(chan tea.Cmd, 1000) // what runs beside the screen
		update := func(msg tea.Msg) {
			_, cmd := app.Update(msg)
			began <- cmd
		}
		sees := func(after time.Duration, keys string, want ...string) {
			t.Helper()
			for key := range strings.FieldsSeq(keys) {
				update(tuitest.Key(key))
			}
			now = now.Add(after)
			app.Update(shell.TickAt(now))
			text := ansi.Strip(app.View().Content)
			flat := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "\n", " ").Replace(text)), " ")
			for _, w := range want {
				if !strings.Contains(flat, w) {
					t.Errorf("%v, %s: %q is not on screen:\n%s", size, keys, w, text)
				}
			}
		}
		found := func() {
			t.Helper()
			for len(began) > 0 {
				finish(<-began, update)
			}
		}
		sees(0, "v", "Attack: get more than", "searches, and answers in 90 s")
		found()
		sees(30*time.Second, "b", "solver answers in 60 s", "it holds")
		sees(0, "enter", "solver", "in a window")
		sees(0, "R g 5 enter b g 1 0 enter b", "you broke it: 20 in a window, by 20 requests", "solver 20 in a window")
		sees(0, "R enter")
		sees(0, "C", "20 admitted 0 denied ▲10 most")
		sees(0, "v g 5 enter b g 1 0 enter b enter", "before the solver", "solver searches…") // another game
		sees(0, "w down + down + esc", "solver searches")                                     // about other terms: one search at a time
		found()
		sees(0, "", "answers in 90 s")
		sees(0, "C tab tab tab tab tab tab tab", "admitted 0 denied") // no view leads out of the story
	}
}

// finish runs what a message began to its end, and hands on what that brings.
func finish(cmd tea.Cmd, update func(tea.Msg)) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, one := range msg {
			finish(one, update)
		}
	default:
		update(msg)
	}
}
