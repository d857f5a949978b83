package feed

import (
	"context"
	"sync"

	"ratescope/model"
)

// Mailbox holds at most one Batch between a source and a screen. When the screen is
// behind, what it has not seen is merged, so that nothing is lost and nothing piles up.
// It is safe for concurrent use.
type Mailbox struct {
	mu   sync.Mutex
	held model.Batch
	full chan struct{} // holds a token while held is worth taking
}

// NewMailbox returns an empty mailbox.
func NewMailbox() *Mailbox { return &Mailbox{full: make(chan struct{}, 1)} }

// Put leaves b for the next Take, merged into what is still there. It never blocks.
func (m *Mailbox) Put(b model.Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case m.full <- struct{}{}:
		m.held = b
	default:
		m.held.Merge(b)
	}
}

// Take waits for a batch and removes it. It returns ctx.Err() when ctx ends first.
func (m *Mailbox) Take(ctx context.Context) (model.Batch, error) {
	select {
	case <-ctx.Done():
		return model.Batch{}, ctx.Err()
	case <-m.full:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.held
	m.held = model.Batch{}
	return b, nil
}
