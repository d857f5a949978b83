package lab

import (
	"encoding/json"
	"maps"
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

// results are what a person reached in the lab.
type results struct {
	reached map[string]bool      // lessons whose goal was reached
	scores  map[string]lab.Score // of predictions, by algorithm; those of a quiz once it is over
	named   Named                // boxes
	before  string               // what was remembered at the start
	keep    func(Memory) error   // nil: what was done is forgotten
}

// recall takes over what was remembered. A moment that cannot be opened any more is
// forgotten.
func (r *results) recall(m Memory) {
	for _, id := range m.Reached {
		r.reached[id] = true
	}
	r.scores, r.named = m.Scores, m.Named
}

// score adds to the predictions of an algorithm, and returns all of them.
func (r *results) score(c lab.Candidate, now lab.Score) lab.Score {
	if r.scores == nil {
		r.scores = map[string]lab.Score{}
	}
	r.scores[c.String()] = r.scores[c.String()].Plus(now)
	return r.scores[c.String()]
}

// memory is what of them is to be remembered.
func (r *results) memory() Memory {
	m := Memory{Scores: maps.Clone(r.scores), Named: r.named}
	for id := range r.reached {
		m.Reached = append(m.Reached, id)
	}
	slices.Sort(m.Reached)
	return m
}

// keepChanged hands what was done to the one that remembers it, where it has changed.
func (r *results) keepChanged(now Memory) error {
	if r.keep == nil || now.text() == r.before {
		return nil
	}
	return r.keep(now)
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

// Keep has what was done remembered, at the end of the program.
func (s *Screen) Keep() error { return s.results.keepChanged(s.memory()) }

// memory is what is to be remembered: what was reached, and where the story stands.
func (s *Screen) memory() Memory {
	for _, v := range s.views.list {
		if q, ok := v.(*quizView); ok && q.quiz != nil {
			q.keepScores(s)
		}
	}
	m := s.results.memory()
	if line, err := s.moment().Line(); err == nil && s.run.Decided() > 0 {
		m.Moment = line
	}
	return m
}
