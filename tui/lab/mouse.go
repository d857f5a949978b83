package lab

import (
	tea "charm.land/bubbletea/v2"
)

// click does what stands under the mouse.
func (l *Lab) click(m tea.Mouse) tea.Cmd {
	if m.Button != tea.MouseLeft {
		return nil
	}
	l.stale, l.way = true, nil
	cmd, _ := l.Click(m.X, m.Y)
	return cmd
}

// drag goes through the story with the mouse held down on the seek bar.
func (l *Lab) drag(m tea.Mouse) tea.Cmd {
	if m.Button != tea.MouseLeft || m.Y != l.seekBar.Y || !l.seekBar.Holds(m.X, m.Y) {
		return nil
	}
	return l.click(m)
}
