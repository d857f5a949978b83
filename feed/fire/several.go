package fire

import (
	"errors"
	"sync"
)

// Injectors holds the injectors that a source has handed out. It is safe for concurrent use.
type Injectors struct {
	mu  sync.Mutex
	all []*Injector
}

// Add adds the injector of one more server.
func (s *Injectors) Add(i *Injector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, i)
}

// Close closes all injectors.
func (s *Injectors) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, i := range s.all {
		err = errors.Join(err, i.Close())
	}
	return err
}
