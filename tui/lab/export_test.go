package lab

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/tui/shell"
)

// NewStory returns a program that shows the lab alone, and what has arrived in it: the input of
// the algorithms, none of their answers.
func NewStory(ctx context.Context, o Options) (*shell.App, func() []lab.Arrival, error) {
	app, s, err := program(ctx, o)
	return app, func() (list []lab.Arrival) {
		for i := range s.run.Decided() {
			a, _ := s.run.Arrival(i)
			list = append(list, a)
		}
		return list
	}, err
}

// Size returns the terminal's size as the lab knows it.
func Size(m tea.Model) (w, h int) {
	a := m.(*shell.App)
	return a.Canvas.Buffer.W, a.Canvas.Buffer.H
}

// IsSolved reports whether a message brings what the solver of a duel found.
func IsSolved(msg tea.Msg) bool { _, ok := msg.(doneMsg); return ok }
