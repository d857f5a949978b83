// Package panics turns a panic of a goroutine into an error. A panic that nothing recovers
// ends the program at once, with a stack trace on a terminal that is still in raw mode; as
// an error it ends in a sentence after the screen was closed.
package panics

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// Error is a panic that was recovered.
type Error struct {
	Value any
	Stack []byte
}

func (e *Error) Error() string {
	return fmt.Sprintf("ratescope has a fault and stopped (%v): start it again, and report this text", e.Value)
}

// Call calls f and returns its error, or its panic as an *Error.
func Call(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{v, debug.Stack()}
		}
	}()
	return f()
}

// Group is goroutines that end together: the first panic cancels the context of all. Make
// one with NewGroup. It is safe for concurrent use.
type Group struct{ all *errgroup.Group }

// NewGroup returns a group and the context of its goroutines. Wait must be called.
func NewGroup(ctx context.Context) (*Group, context.Context) {
	all, ctx := errgroup.WithContext(ctx)
	return &Group{all}, ctx
}

// Go calls f in a goroutine of its own.
func (g *Group) Go(f func()) {
	g.all.Go(func() error { return Call(func() error { f(); return nil }) })
}

// Wait waits for all goroutines and returns the first panic as an *Error, or nil.
func (g *Group) Wait() error { return g.all.Wait() }
