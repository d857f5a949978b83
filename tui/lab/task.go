package lab

import (
	"strings"

	"ratescope/limiter"
	"ratescope/model/lab"
)

// task is how far the goal of a lesson is, worked out once for each change of the run.
type task struct {
	lab.Progress
	run              *lab.Run
	version, decided int
	now              limiter.Instant
	limit            limiter.Limit
	terms            limiter.Convention
}

// update works out how far the goal of the lesson on screen is, if it has one. What was reached stays
// reached until the restart, or until the terms are others.
func (t *task) update(s *Screen) {
	g := s.at().Goal
	if g == nil || s.showsUntil != 0 { // what is shown is not the user's
		return
	}
	if setup := s.run.Setup(); t.run != s.run || t.limit != setup.Limit || t.terms != setup.Convention {
		*t = task{run: s.run, version: -1, limit: setup.Limit, terms: setup.Convention}
	}
	s.run.Select(s.focus)
	changed := t.version != s.run.Version() || t.decided != s.run.Decided()
	if changed || g.Kind == lab.GoalReadings && t.now != s.run.Now() {
		before := t.Progress
		t.version, t.decided, t.now = s.run.Version(), s.run.Decided(), s.run.Now()
		t.Progress = g.Progress(s.run)
		if s.app.Options().ASCII {
			t.Text = strings.NewReplacer("✓", s.app.Canvas.Look.YesMark, "✖", s.app.Canvas.Look.OverMark).Replace(t.Text)
		}
		switch {
		case before.Reached:
			t.Reached, t.At, t.Then = true, before.At, before.Then
		case t.Reached:
			s.results.reached[s.at().ID] = true
		}
	}
}
