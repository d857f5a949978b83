package tui

import (
	"errors"

	"ratescope/tui/events"
	"ratescope/tui/grid"
	"ratescope/tui/health"
	"ratescope/tui/heat"
	"ratescope/tui/keys"
	"ratescope/tui/lab"
	"ratescope/tui/session"
	"ratescope/tui/shell"
)

// screens are the screens of the dashboard. The number of each is its key; adding one is a
// package and a line here.
var screens = []struct {
	name, what string
	make       func(*session.Session, Options) (shell.Screen, error)
}{
	{"dashboard", "shows the dashboard", func(s *session.Session, _ Options) (shell.Screen, error) { return keys.New(s), nil }},
	{"grid", "shows the grid of all keys", func(s *session.Session, _ Options) (shell.Screen, error) { return grid.New(s), nil }},
	{"lab", "opens the lab", newLab},
	{"health", "shows the health of the Redis behind it",
		func(s *session.Session, _ Options) (shell.Screen, error) { return health.New(s), nil }},
	{"events", "shows the events", func(s *session.Session, _ Options) (shell.Screen, error) { return events.New(s), nil }},
	{"heat", "shows every key over time", func(s *session.Session, _ Options) (shell.Screen, error) { return heat.New(s), nil }},
}

// newLab returns the lab, which keeps its place while another screen is shown.
func newLab(s *session.Session, o Options) (shell.Screen, error) {
	if o.Lab.Save == nil {
		o.Lab.Save = func(string, []byte) error { return errors.New("this screen keeps no files") }
	}
	return lab.NewScreen(s.Shell, o.Lab)
}
