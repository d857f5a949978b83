package limiter

import (
	"slices"
	"sync"
)

// windowSet remembers the window lengths that were asked about, the latest sixteen.
// The zero value is empty and ready.
type windowSet struct {
	mu      sync.Mutex
	lengths []int64
}

func (s *windowSet) add(w int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.lengths, w) {
		return
	}
	if len(s.lengths) == 16 {
		s.lengths = slices.Delete(s.lengths, 0, 1)
	}
	s.lengths = append(s.lengths, w)
}

func (s *windowSet) all() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lengths)
}
