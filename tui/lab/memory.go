package lab

import (
	"maps"
	"reflect"
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
	before  Memory               // what was remembered at the start
	keep    func(Memory) error   // nil: what was done is forgotten
}

// resultsOf takes over what was remembered.
func resultsOf(m Memory, keep func(Memory) error) results {
	r := results{reached: map[string]bool{}, scores: map[string]lab.Score{}, named: m.Named, keep: keep}
	for _, id := range m.Reached {
		r.reached[id] = true
	}
	maps.Copy(r.scores, m.Scores)
	return r
}

// score adds to the predictions of an algorithm, and returns all of them.
func (r *results) score(c lab.Candidate, now lab.Score) lab.Score {
	r.scores[c.String()] = r.scores[c.String()].Plus(now)
	return r.scores[c.String()]
}

// resume goes on where it was left, and reports whether that was possible.
func (s *Screen) resume(m Memory) bool {
	left, err := lab.ReadShared(m.Moment)
	return err == nil && s.openShared(left) == nil
}

// Keep has what was done remembered, at the end of the program, where it has changed.
func (s *Screen) Keep() error {
	if now := s.memory(); s.results.keep != nil && !reflect.DeepEqual(now, s.results.before) {
		return s.results.keep(now)
	}
	return nil
}

// memory is what is to be remembered: what was reached, and where the story stands.
func (s *Screen) memory() Memory {
	for _, v := range s.views.list {
		if q, ok := v.(*quizView); ok && q.quiz != nil {
			q.keepScores(s)
		}
	}
	m := Memory{Scores: maps.Clone(s.results.scores), Named: s.results.named, Reached: slices.Sorted(maps.Keys(s.results.reached))}
	if line, err := s.moment().Line(); err == nil && s.run.Decided() > 0 {
		m.Moment = line
	}
	return m
}
