package lab

import tea "charm.land/bubbletea/v2"

// Size returns the terminal's size as the lab knows it.
func Size(m tea.Model) (w, h int) {
	l := m.(*Lab)
	return l.w, l.h
}
