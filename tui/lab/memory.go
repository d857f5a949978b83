package lab

import (
	"encoding/json"
	"slices"

	"ratescope/model/lab"
)

// Memory is what a person did in the lab, for the next time.
type Memory struct {
	Reached []string             `json:"reached,omitempty"` // lessons whose goal was reached, by their names
	Scores  map[string]lab.Score `json:"scores,omitempty"`  // predictions, by algorithm
	Named   Named                `json:"named,omitzero"`    // boxes whose limiter was to be named
	Moment  string               `json:"moment,omitempty"`  // where it was left, as lab.Shared.Line writes it
}

// recall takes over what was remembered. A moment that cannot be opened any more is
// forgotten.
func (s *Screen) recall(m Memory) {
	for _, id := range m.Reached {
		s.reached[id] = true
	}
	s.scores, s.named = m.Scores, m.Named
}

// resume goes on where it was left, and reports whether that was possible.
func (s *Screen) resume(m Memory) bool {
	if m.Moment == "" {
		return false
	}
	left, err := lab.ReadShared(m.Moment)
	return err == nil && s.openShared(left) == nil
}

// text is what is remembered in a form that can be compared.
func (m Memory) text() string {
	text, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(text)
}

// Keep hands what was done to who remembers it, at the end of the program.
func (s *Screen) Keep() error {
	now := s.memory()
	if s.keep == nil || now.text() == s.before {
		return nil
	}
	return s.keep(now)
}

// memory is what is to be remembered.
func (s *Screen) memory() Memory {
	m := Memory{Scores: map[string]lab.Score{}, Named: s.named}
	for id := range s.reached {
		m.Reached = append(m.Reached, id)
	}
	slices.Sort(m.Reached)
	for name, score := range s.scores {
		m.Scores[name] = score
	}
	for _, v := range s.views {
		if q, ok := v.(*quizView); ok && q.quiz != nil {
			q.keepScores(s)
			for name, score := range s.scores {
				m.Scores[name] = score
			}
		}
	}
	if line, err := s.moment().Line(); err == nil && s.run.Decided() > 0 {
		m.Moment = line
	}
	return m
}
