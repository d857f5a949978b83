// Package backoff sleeps: until a context ends, and longer after every failure to reach a server.
package backoff

import (
	"context"
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
