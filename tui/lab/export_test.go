package lab

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/tui/shell"
)

// Size returns the terminal's size as the lab knows it.
func Size(m tea.Model) (w, h int) {
	a := m.(*shell.App)
	return a.Buffer.W, a.Buffer.H
}
