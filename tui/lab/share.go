package lab

import (
	"slices"

	"ratescope/model/lab"
)

// moment returns what is on screen, so that another lab can open it.
func (s *Screen) moment() lab.Shared {
	m := lab.MomentOf(s.run)
	m.Lesson, m.Traffic, m.Seed = *s.at(), s.traffic, s.seed
	m.View, m.Selected = s.front().name(), s.focus
	return m
}

// openShared shows a moment of another lab. Its lesson is added where there is none of that
// name.
func (s *Screen) openShared(m lab.Shared) error {
	i := slices.IndexFunc(s.lessons, func(l lab.Lesson) bool { return l.ID == m.Lesson.ID })
	if i < 0 {
		i, s.lessons = len(s.lessons), append(slices.Clone(s.lessons), m.Lesson)
	}
	s.lesson = i
	s.traffic, s.seed, s.key, s.recorded = m.Traffic, m.Seed, 0, false
	s.burst = int(min(max(m.Setup.Limit.Count, 1), maxBurst))
	if err := s.restart(m.Setup); err != nil {
		return err
	}
	m.Play(s.run)
	s.focus, s.zoom, s.past = m.Selected, 0, nil
	s.renew()
	s.view(m.View)
	if s.shows("quiz") {
		s.show("quiz")
	}
	return nil
}
