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
	t.Parallel()
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		app, err := lab.New(context.Background(), lab.Options{})
		if err != nil {
			t.Fatal(err)
		}
		app.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		now := time.Unix(2_000_000_000, 0)
		var began []tea.Cmd // what runs beside the screen
		update := func(msg tea.Msg) {
			_, cmd := app.Update(msg)
			began = append(began, cmd)
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
				cmd := began[0]
				began = began[1:]
				finish(cmd, update)
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
		searches := len(began)
		sees(0, "C tab tab tab tab tab tab tab tab tab tab tab", "admitted 0 denied") // no view leads out of the story
		began = began[:searches]                                                      // what the views measure is not awaited
		sees(0, "v w down + esc", "solver searches, and answers in 90 s")             // about other terms: one search at a time
		found()
		sees(0, "", "solver answers in 90 s")
	}
}

// finish runs what a message began, and hands on what the solver found.
func finish(cmd tea.Cmd, update func(tea.Msg)) {
	if cmd == nil {
		return
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, one := range batch {
			finish(one, update)
		}
	} else if lab.IsSolved(msg) {
		update(msg)
	}
}
