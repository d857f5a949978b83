package limiter

import (
	"context"
	"sync"
)

// Memory decides within this process.
type Memory struct {
	settings
	algorithm Algorithm
	mu        sync.Mutex
	states    map[string]*State
}

// NewMemory returns a limiter that keeps its keys in this process.
func NewMemory(a Algorithm, opts ...Option) (*Memory, error) {
	s := settingsOf(opts)
	if err := s.validate(a); err != nil {
		return nil, err
	}
	m := &Memory{settings: s, algorithm: a, states: map[string]*State{}}
	if m.clock == nil {
		m.clock = systemClock()
	}
	return m, nil
}

// AllowAt is AllowN at an explicit instant.
func (m *Memory) AllowAt(now Instant, key string, limit Limit, n int64) Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.states[key]
	if s == nil {
		s = &State{Algorithm: m.algorithm}
		m.states[key] = s
	}
	return s.Take(now, limit, m.convention, n)
}

// AllowN implements Limiter.
func (m *Memory) AllowN(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	if err := checkKey(key); err != nil {
		return Decision{}, err
	}
	return m.AllowAt(m.clock(), key, limit, n), nil
}

// Peek implements Limiter.
func (m *Memory) Peek(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	if err := checkKey(key); err != nil {
		return Decision{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.states[key]
	if s == nil {
		s = &State{Algorithm: m.algorithm}
	}
	return s.Peek(m.clock(), limit, m.convention, n), nil
}

// Reset implements Limiter.
func (m *Memory) Reset(ctx context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, key)
	return nil
}
