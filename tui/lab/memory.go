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
	scores  map[string]lab.Score // of predictions, by algorithm
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

// predicted counts a prediction of what becomes of a request, and returns all those about its algorithm.
func (r *results) predicted(c lab.Candidate, right bool) lab.Score {
	now := r.scores[c.String()]
	if now.Asked++; right {
		now.Right++
	}
	r.scores[c.String()] = now
	return now
}

// predictedSlot counts a prediction of when the next slot frees.
func (r *results) predictedSlot(c lab.Candidate, right bool) {
	now := r.scores[c.String()]
	if now.SlotsAsked++; right {
		now.SlotsRight++
	}
	r.scores[c.String()] = now
}

// total returns the predictions about all algorithms.
func (r *results) total() (t lab.Score) {
	for _, s := range r.scores {
		t = t.Plus(s)
	}
	return t
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
	m := Memory{Scores: maps.Clone(s.results.scores), Named: s.results.named, Reached: slices.Sorted(maps.Keys(s.results.reached))}
	if line, err := s.moment().Line(); err == nil && s.run.Decided() > 0 {
		m.Moment = line
	}
	return m
}
