package lab

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
)

// moment returns what is on screen, so that another lab can open it.
func (s *Screen) moment() lab.Shared {
	m := lab.Shared{
		Lesson: *s.at(), Setup: s.run.Setup(), Traffic: s.traffic, Key: s.key, Seed: s.seed,
		Now: s.run.Now(), View: s.views[s.current].name(), Selected: s.focus,
	}
	for i := range s.run.Decided() {
		if a, _ := s.run.Arrival(i); a.Fired {
			m.Fired = append(m.Fired, a)
		}
	}
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
	s.traffic, s.seed, s.key, s.recorded = m.Traffic, m.Seed, m.Key, false
	s.burst = int(min(max(m.Setup.Limit.Count, 1), maxBurst))
	if err := s.restart(m.Setup); err != nil {
		return err
	}
	for _, a := range m.Fired {
		s.run.AdvanceTo(a.At)
		s.run.Fire(a.Cost)
	}
	s.run.AdvanceTo(m.Now)
	s.focus, s.zoom, s.past = m.Selected, 0, nil
	s.renew()
	s.view(m.View)
	if s.shows("quiz") {
		s.show("quiz")
	}
	return nil
}

// copyMoment puts a line on the clipboard that opens the moment on screen.
func (s *Screen) copyMoment() tea.Cmd {
	line, err := s.moment().Line()
	if err != nil {
		s.fail(err)
		return nil
	}
	s.Say("Copied. Open it with: ratescope lab '" + line[:min(len(line), 12)] + "…'")
	return tea.SetClipboard("ratescope lab '" + line + "'")
}
