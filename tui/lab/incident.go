package lab

import (
	"slices"
	"strings"

	"ratescope/model/lab"
)

// OpenMsg opens recorded requests as lessons: those of the incident go before all others.
type OpenMsg struct{ Trace *lab.Trace }

// study makes lessons of recorded requests and begins the first of them. Those of an incident
// before go.
func (s *Screen) study(t *lab.Trace) error {
	lessons, err := lab.Incident(t)
	if err != nil {
		return err
	}
	old := slices.DeleteFunc(slices.Clone(s.lessons), func(l lab.Lesson) bool { return strings.HasPrefix(l.ID, lab.IncidentID) })
	s.lessons, s.trace = append(lessons, old...), t
	for _, l := range lessons {
		delete(s.results.reached, l.ID)
	}
	s.begin(0)
	s.app.Say("These are the requests of the key. E keeps the lesson as a file that ratescope lab opens.")
	return nil
}
