// Package goroutine has goroutines that end together, that sleep until a context ends, and whose panics are errors. A panic
// that nothing recovers ends the program at once, with a stack trace on a terminal that is still in raw mode; as
// an error it ends in a sentence after the screen was closed.
package goroutine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

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

// Sleep waits for d, which may be negative, and returns the error of ctx where that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Bounds of the wait between two attempts to reach a server that is away.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = time.Second
)

// Backoff doubles the wait at every failure up to lastWait, less up to a third of it at random,
// so that many observers do not come back at the same moment. The zero value begins with firstWait.
type Backoff struct{ wait time.Duration }

// Next returns how long to wait before the next attempt.
func (e *Backoff) Next() time.Duration {
	e.wait = min(max(2*e.wait, firstWait), lastWait)
	return e.wait - time.Duration(rand.Int64N(int64(e.wait)/3))
}

// AtOnce calls f for every number from 0 to n-1, each in its own goroutine, and waits for all
// of them. It panics in the caller's goroutine if one of them panics.
func AtOnce(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	all, _ := NewGroup(context.Background())
	for i := range n {
		all.Go(func() { f(i) })
	}
	if err := all.Wait(); err != nil {
		panic(err)
	}
}
