// Package backoff sleeps: until a context ends, and longer after every failure to reach a server.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

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

// Exponential doubles the wait at every failure up to lastWait, less up to a third of it at random,
// so that many observers do not come back at the same moment. The zero value begins with firstWait.
type Exponential struct{ wait time.Duration }

// Next returns how long to wait before the next attempt.
func (e *Exponential) Next() time.Duration {
	e.wait = min(max(2*e.wait, firstWait), lastWait)
	return e.wait - time.Duration(rand.Int64N(int64(e.wait)/3))
}
