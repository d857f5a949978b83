package shell

import (
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// slow is a program that takes 3 ms for a message and 2 ms for a picture.
type slow struct{}

func (s slow) Init() tea.Cmd { return nil }

func (s slow) Update(tea.Msg) (tea.Model, tea.Cmd) {
	time.Sleep(3 * time.Millisecond)
	return s, tea.Quit
}

func (s slow) View() (v tea.View) {
	time.Sleep(2 * time.Millisecond)
	return v
}

// TestEveryMessageIsTimed: by its type, with its Update and its View, and the first picture,
// which belongs to no message, is not.
func TestEveryMessageIsTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Timing
		var m tea.Model = &timed{Model: slow{}, report: func(one Timing) { told = append(told, one) }}
		m.View()
		for _, msg := range []tea.Msg{tea.WindowSizeMsg{Width: 80}, tea.KeyPressMsg{Text: "s3cr3t"}} {
			var cmd tea.Cmd
			if m, cmd = m.Update(msg); cmd == nil {
				t.Fatal("a command was lost")
			}
			m.View()
		}
		want := []Timing{{"tea.WindowSizeMsg", 3 * time.Millisecond, 2 * time.Millisecond},
			{"tea.KeyPressMsg", 3 * time.Millisecond, 2 * time.Millisecond}}
		if len(told) != 2 || told[0] != want[0] || told[1] != want[1] {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}
