package shell

import (
	"errors"
	"slices"

	tea "charm.land/bubbletea/v2"
)

// entry is a screen with the name and the sentence by which it is found.
type entry struct {
	name, what string
	screen     Screen
}

// stack is the screens of a program, which of them is shown, and those that esc leads back to.
type stack struct {
	screens []entry
	current int
	past    []int // screens that esc leads back to, oldest first
}

// Screen returns the name of the screen that is shown.
func (s *stack) Screen() string { return s.screens[s.current].name }

// at returns the screen that is shown.
func (s *stack) at() Screen { return s.screens[s.current].screen }

// index returns the number of the screen of that name, or -1.
func (s *stack) index(name string) int {
	return slices.IndexFunc(s.screens, func(e entry) bool { return e.name == name })
}

// First returns the screen that is shown at the start.
func First(a *App) Screen { return a.screens[0].screen }

// remember notes, before screen i is shown, where esc leads back to from it: nowhere from the first.
func (s *stack) remember(i int) {
	if i == 0 {
		s.past = s.past[:0]
	} else {
		s.past = append(s.past[max(0, len(s.past)-len(s.screens)):], s.current)
	}
}

// before returns the screen that esc leads back to, and forgets it; there is none on the first.
func (s *stack) before() (i int, there bool) {
	if n := len(s.past); n > 0 {
		i, s.past = s.past[n-1], s.past[:n-1]
		return i, true
	}
	return 0, s.current != 0
}

// everywhere gives a message to every screen: one that is hidden may wait for it.
func (s *stack) everywhere(msg tea.Msg) tea.Cmd {
	var list []tea.Cmd
	for i := range s.screens {
		if cmd := s.screens[i].screen.Update(msg); cmd != nil {
			list = append(list, cmd)
		}
	}
	return tea.Batch(list...)
}

// KeepAll asks the screens that remember something to keep it, at the end of the program.
func (s *stack) KeepAll() error {
	var errs []error
	for i := range s.screens {
		if k, ok := s.screens[i].screen.(interface{ Keep() error }); ok {
			errs = append(errs, k.Keep())
		}
	}
	return errors.Join(errs...)
}
