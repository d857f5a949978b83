package feed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// watch runs an observer: it asks for a round at every refresh and emits what came, also
// when nothing came. Reading goes on beside, so that a server that hangs does not stop
// the batches that say so.
type watch struct {
	*observer
	server  model.Server // what does not change
	refresh time.Duration
	live    atomic.Bool // the last round was answered

	offset atomic.Int64 // of the clock, for discovery
}

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

// Bounds of the wait between two attempts to reach a server that is away.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = time.Second
)

// backoff doubles the wait at every failure, with up to a third of it at random so that
// many observers do not come back at the same moment.
type backoff struct{ wait time.Duration }

func (b *backoff) next() time.Duration {
	b.wait = min(max(2*b.wait, firstWait), lastWait)
	return b.wait - time.Duration(rand.Int64N(int64(b.wait)/3))
}

// slowAfter is how long a round may take before the server counts as away: a frozen
// server must be said to be so before the read times out.
const slowAfter = time.Second

func (w *watch) run(ctx context.Context, emit func(model.Batch)) error {
	ctx, cancel := context.WithCancel(ctx)
	orders, outcomes := make(chan []string), make(chan outcome)
	var beside sync.WaitGroup
	beside.Go(func() { w.scout.run(ctx) })
	beside.Go(func() { w.listener.run(ctx) })
	beside.Go(func() { w.read(ctx, orders, outcomes) })
	defer beside.Wait()
	defer w.guard.hangUp() // a server that hangs must not keep anybody waiting
	defer cancel()

	e := emitter{watch: w, emit: emit, begun: time.Now()}
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
		case <-w.scout.notify: // discovery found something: read it now
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
func (w *watch) read(ctx context.Context, orders <-chan []string, outcomes chan<- outcome) {
	for {
		var only []string
		select {
		case <-ctx.Done():
			return
		case only = <-orders:
		}
		before := w.guard.commands.Load()
		var o outcome
		o.readings, o.gone, o.err = w.round(ctx, only)
		o.commands = w.guard.commands.Load() - before
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

// emitter keeps the state of the link and builds batches.
type emitter struct {
	*watch
	emit func(model.Batch)

	begun   time.Time
	link    model.Link
	err     string
	since   time.Time // of the last answer
	retry   time.Time // no attempt before
	backoff backoff
	sent    time.Time
	cost    model.Cost
	at      limiter.Instant
	last    outcome // of the last round that was answered
}

// take takes the outcome of a round and emits what it brought.
func (e *emitter) take(o outcome) {
	e.cost.Commands += o.commands
	e.cost.Server += o.cost
	if o.err == nil || len(o.readings) > 0 {
		e.link, e.err, e.since = model.Live, "", time.Now()
		e.last = o
		e.live.Store(true)
		e.send(o.readings, o.gone)
	}
	if o.err != nil {
		was := e.link
		e.lost(o.err)
		e.retry = time.Now().Add(e.backoff.next())
		if was == model.Live || e.sent.IsZero() {
			e.send(nil, nil)
		}
		return
	}
	e.retry, e.backoff = time.Time{}, backoff{}
}

// lost notes that the server is away.
func (e *emitter) lost(err error) {
	if e.link == model.Live {
		e.link = model.Down
	}
	e.live.Store(false)
	if err == errSlow && e.err != "" {
		return
	}
	e.err = explain(err, e.server.Target)
}

// send emits a batch.
func (e *emitter) send(readings []model.Reading, gone []string) {
	now := time.Now()
	b := model.Batch{Local: now, Readings: readings, Gone: gone, Server: e.server}
	s := &b.Server
	s.Link, s.Err = e.link, e.err
	s.RTT, s.Offset, s.Role, s.Version = e.last.rtt, e.last.offset, e.last.role, e.last.version
	if s.Embedded {
		s.Role = "embedded"
	}
	switch e.link {
	case model.Live:
		b.At = limiter.InstantOf(now.Add(s.Offset))
		if len(readings) > 0 {
			b.At = 0
			for i := range readings {
				b.At = max(b.At, readings[i].At)
			}
		}
		b.At = max(b.At, e.at)
		e.at = b.At
	case model.Down:
		b.At = e.at
		s.Down = now.Sub(e.since)
	default:
		s.Down = now.Sub(e.begun)
	}
	s.Lacks = e.last.lacks
	b.Health, e.last.health = e.last.health, nil
	if b.Sweep = e.last.sweep; b.Sweep.Patterns == nil {
		b.Sweep.Patterns = e.scout.patterns
	}
	if !e.sent.IsZero() {
		e.cost.Over = now.Sub(e.sent)
	}
	e.sent = now
	b.Cost, e.cost = e.cost, model.Cost{}
	e.emit(b)
}
