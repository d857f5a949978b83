package observe

import "sync"

// hints gathers the names of limiters of which somebody has heard that there is news,
// until they are read. It is safe for concurrent use.
type hints struct {
	mu    sync.Mutex
	names map[string]bool
	ready chan struct{} // holds a token while there are any
}

func newHints() *hints { return &hints{names: make(map[string]bool), ready: make(chan struct{}, 1)} }

func (h *hints) add(names ...string) {
	if len(names) == 0 {
		return
	}
	h.mu.Lock()
	for _, n := range names {
		h.names[n] = true
	}
	h.mu.Unlock()
	select {
	case h.ready <- struct{}{}:
	default:
	}
}

// take returns what has gathered.
func (h *hints) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, 0, len(h.names))
	for n := range h.names {
		names = append(names, n)
	}
	clear(h.names)
	return names
}
