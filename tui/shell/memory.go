package shell

import tea "charm.land/bubbletea/v2"

// memory is what a person chose, from one start of the program to the next.
type memory struct {
	keep func(key, value string) tea.Cmd // nil: it is forgotten
	kept func(key string) string         // nil: nothing was kept
}

// Remember keeps a choice for the next start.
func (m *memory) Remember(key, value string) tea.Cmd {
	if m.keep == nil {
		return nil
	}
	return m.keep(key, value)
}

// Recall returns what was kept of an earlier start under a key, or "".
func (m *memory) Recall(key string) string {
	if m.kept == nil {
		return ""
	}
	return m.kept(key)
}
