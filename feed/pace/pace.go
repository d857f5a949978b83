// Package pace spaces things out: waits that end with their context, calls a pause apart,
// and longer and longer waits for a server that is away.
package pace

import (
	"context"
	"time"
)

// Pacer spaces calls out.
type Pacer struct {
	Free  int
	Pause time.Duration
	last  time.Time
}

func (p *Pacer) Wait(ctx context.Context) error {
	if p.Free > 0 {
		p.Free--
		p.last = time.Now()
		return ctx.Err()
	}
	err := Sleep(ctx, p.Pause-time.Since(p.last))
	p.last = time.Now()
	return err
}

// Sleep waits or returns the reason of ctx.
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
