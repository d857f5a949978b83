// Package handoff passes values between goroutines without a queue. A Latest holds one
// value and merges what is put before the taker comes, so that a slow taker costs
// freshness and never memory, and nothing that was put is lost. A Signal wakes a waiter
// that finds the news elsewhere.
package handoff

import (
	"context"
	"sync"
)

// Latest holds at most one value between producers and takers. It is made by New and safe
// for concurrent use.
type Latest[T any] struct {
	merge func(held *T, newer T)
	ready Signal

	mu   sync.Mutex
	held T
	full bool // held waits to be taken
}

// New returns an empty Latest. merge brings a held value forward by a newer one that is
// put before the held one is taken; it is called with a lock held and must not block.
func New[T any](merge func(held *T, newer T)) *Latest[T] {
	return &Latest[T]{merge: merge, ready: NewSignal()}
}

// Put leaves v for the next Take, merged into what still waits. It never blocks.
func (l *Latest[T]) Put(v T) {
	l.mu.Lock()
	if l.full {
		l.merge(&l.held, v)
	} else {
		l.held, l.full = v, true
	}
	l.mu.Unlock()
	l.ready.Send()
}

// TryTake removes and returns the value that waits; ok is false when none does.
func (l *Latest[T]) TryTake() (v T, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok = l.held, l.full
	var zero T
	l.held, l.full = zero, false
	return v, ok
}

// Take waits for a value and removes it. It returns ctx.Err() when ctx ends first; a value
// that was put before that is returned all the same, so that calling Take until it fails
// drains l.
func (l *Latest[T]) Take(ctx context.Context) (T, error) {
	for {
		ended := ctx.Err() // asked first, since a value may come at the same moment
		switch v, ok := l.TryTake(); {
		case ok:
			return v, nil
		case ended != nil:
			return v, ended
		}
		select {
		case <-ctx.Done():
		case <-l.ready:
		}
	}
}

// Ready returns a channel that can be received from after a Put, for a select among other
// channels. The value may have been taken meanwhile: follow it with TryTake.
func (l *Latest[T]) Ready() <-chan struct{} { return l.ready }

// Signal wakes one waiter. Sends that come before it is received count as one. It is made
// by NewSignal; receive from it to wait.
type Signal chan struct{}

// NewSignal returns a Signal that was not sent yet.
func NewSignal() Signal { return make(Signal, 1) }

// Send makes the next receive return at once. It never blocks.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
