// Command bare is the least that a program on Bubble Tea is: the floor under the time to the first
// frame.
package main

import (
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
)

type bare struct{}

func (bare) Init() tea.Cmd { return nil }

func (b bare) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(tea.KeyPressMsg); ok {
		return b, tea.Quit
	}
	return b, nil
}

func (bare) View() tea.View {
	v := tea.NewView("bare")
	v.AltScreen = true
	return v
}

func main() {
	if _, err := tea.NewProgram(bare{}).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
