package observe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// outcome is what one round brought, and what the reader knew after it: the reader's own
// state may not be looked at while it reads.
type outcome struct {
	readings      []model.Reading
	gone          []string
	err           error
	at            limiter.Instant
	commands      int64
	cost          time.Duration
	rtt, offset   time.Duration
	role, version string
	sweep         model.Sweep
	health        *model.Health
	lacks         []string
}

// slowAfter is how long a round may take before the server counts as away: a frozen
// server must be said to be so before the read times out.
const slowAfter = time.Second

func (w *Watch) Run(ctx context.Context, emit func(model.Batch)) error {
	ctx, cancel := context.WithCancel(ctx)
	orders, outcomes := make(chan []string), make(chan outcome)
	var beside sync.WaitGroup
	beside.Go(func() { w.scout.Run(ctx) })
	beside.Go(func() { w.listener.run(ctx) })
	beside.Go(func() { w.read(ctx, orders, outcomes) })
	defer beside.Wait()
	defer w.guard.HangUp() // a server that hangs must not keep anybody waiting
	defer cancel()

	e := emitter{Watch: w, emit: emit, begun: time.Now()}
	ticker := time.NewTicker(w.refresh)
	defer ticker.Stop()
	var asked time.Time
	var soon <-chan time.Time
	busy, wanted := false, true
	for {
		if wanted && !busy && !time.Now().Before(e.retry) {
			select {
			case orders <- nil:
				busy, wanted, asked = true, false, time.Now()
			case <-ctx.Done():
				return nil
			}
		}
		heard := w.listener.heard
		if busy || e.link != model.Live {
			heard = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case o := <-outcomes:
			busy = false
			e.take(o)
		case keys := <-heard:
			select {
			case orders <- keys:
				busy, asked = true, time.Now()
			case <-ctx.Done():
				return nil
			}
		case <-w.scout.Notify: // discovery found something: read it now
			if e.link == model.Live && soon == nil {
				soon = time.After(max(0, w.refresh/4-time.Since(asked)))
			}
		case <-soon:
			soon, wanted = nil, true
		case <-ticker.C:
			wanted = true
			if busy && time.Since(asked) > slowAfter {
				e.lost(errSlow)
			}
			if busy || e.link != model.Live {
				e.send(nil, nil)
			}
		}
	}
}

// errSlow stands for an answer that does not come.
var errSlow = fmt.Errorf("no answer yet: %w", context.DeadlineExceeded)

// read answers orders with rounds until ctx ends.
func (w *Watch) read(ctx context.Context, orders <-chan []string, outcomes chan<- outcome) {
	for {
		var only []string
		select {
		case <-ctx.Done():
			return
		case only = <-orders:
		}
		before := w.guard.Commands.Load()
		var o outcome
		o.readings, o.gone, o.err = w.round(ctx, only)
		o.commands = w.guard.Commands.Load() - before
		o.cost, w.spent = w.spent, 0
		o.at = w.clock.at(time.Now())
		o.rtt, o.offset, o.role, o.version = w.clock.rtt, w.clock.offset, w.role, w.version
		o.health, o.lacks = w.health, w.shortcomings()
		o.sweep = w.sweep
		o.sweep.Matched, o.sweep.Dropped = len(w.looks), len(w.dropped)
		w.offset.Store(int64(w.clock.offset))
		select {
		case <-ctx.Done():
			return
		case outcomes <- o:
		}
	}
}
