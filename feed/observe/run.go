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
	kind          orderKind
	readings      []model.Reading
	gone, leftOut []string
	hot           *model.Hot
	err           error
	at            limiter.Instant
	commands      int64
	cost          time.Duration
	rtt, offset   time.Duration
	offsetBy      time.Duration
	role, version string
	sweep         model.Sweep
	health        *model.Health
	lacks         []string
	still         bool // nothing is written
	kept          bool // and the first write is told
}

// slowAfter is how long a round may take before the server counts as away: a frozen
// server must be said to be so before the read times out.
const slowAfter = time.Second

// order is what a round is to do.
type order struct {
	kind  orderKind
	names []string // of limiters
}

type orderKind uint8

const (
	full   orderKind = iota // all that is due
	hinted                  // those of which there is news
	quick                   // what is on screen
	none
)

// Run implements feed.Source.
func (w *Watch) Run(ctx context.Context, emit func(model.Batch)) error {
	ctx, cancel := context.WithCancel(ctx)
	orders, outcomes := make(chan order), make(chan outcome)
	var beside sync.WaitGroup
	beside.Go(func() { w.scout.Run(ctx) })
	beside.Go(func() { w.listener.run(ctx) })
	beside.Go(func() { w.subscriber.run(ctx) })
	beside.Go(func() { w.vigil.run(ctx) })
	beside.Go(func() { w.heat.run(ctx, w.live.Load) })
	beside.Go(func() { w.read(ctx, orders, outcomes) })
	defer beside.Wait()
	defer w.guard.HangUp() // a server that hangs must not keep anybody waiting
	defer cancel()

	d := director{emitter: emitter{Watch: w, emit: emit, begun: time.Now()}, orders: orders, wanted: full}
	ticker := time.NewTicker(w.refresh)
	defer ticker.Stop()
	d.between = time.NewTimer(time.Hour)
	defer d.between.Stop()
	for {
		if !d.order(ctx) {
			return nil
		}
		heard := w.hints.ready
		if d.busy || d.link != model.Live || d.wanted != none || d.later != nil {
			heard = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case o := <-outcomes:
			d.took(o)
		case <-heard:
			if wait := time.Until(d.heard.Add(d.hintGap())); wait > 0 {
				d.later = time.After(wait)
			} else {
				d.want(hinted)
			}
		case <-d.later:
			d.later = nil
			d.want(hinted)
		case <-w.scout.Notify: // discovery found something: read it now
			if d.link == model.Live && d.soon == nil {
				d.soon = time.After(max(0, w.refresh/4-time.Since(d.asked)))
			}
		case <-d.soon:
			d.soon, d.wanted = nil, full
		case <-w.vigil.stirred:
			d.want(quick)
		case <-d.between.C:
			d.want(quick)
		case <-ticker.C:
			d.wanted = full
			if d.busy && time.Since(d.asked) > slowAfter {
				d.lost(errSlow)
			}
			if d.busy || d.link != model.Live {
				d.send(nil, nil)
			}
		}
	}
}

// director decides what is read when.
type director struct {
	emitter
	orders chan<- order

	wanted  orderKind        // what is to be ordered as soon as the reader is free
	busy    bool             // the reader reads
	asked   time.Time        // the last order
	heard   time.Time        // the last order for a hint
	soon    <-chan time.Time // for what discovery found
	later   <-chan time.Time // for hints that came too soon after others
	closely time.Time        // the last order to look at what is on screen
	whole   time.Time        // the last order of a full round
	between *time.Timer      // to the next of these
}

// hintGap is the least time between two rounds for hints. The embedded server tells of every
// request, and nobody sees more than ten pictures a second.
func (d *director) hintGap() time.Duration {
	if d.embedded {
		return hintGapDemo
	}
	return hintGap
}

// want asks for a round between two refreshes. One that looks at all on screen is wanted
// more than one for hints, for it answers these too.
func (d *director) want(k orderKind) {
	if d.link == model.Live && d.wanted != full && (k == quick || d.wanted == none) {
		d.wanted = k
	}
}

// order gives the reader what is wanted, when it is free. It returns false when ctx has
// ended.
func (d *director) order(ctx context.Context) bool {
	if d.wanted == none || d.busy || time.Now().Before(d.retry) {
		return true
	}
	o := order{kind: d.wanted}
	if o.kind != full {
		o.names = d.hints.take()
	}
	select {
	case d.orders <- o:
	case <-ctx.Done():
		return false
	}
	d.busy, d.wanted, d.asked = true, none, time.Now()
	if len(o.names) > 0 {
		d.heard = d.asked
	}
	if o.kind != hinted {
		d.closely = d.asked
	}
	if o.kind == full {
		d.whole = d.asked
	}
	return true
}

// took takes the outcome of a round, and thinks of the next.
func (d *director) took(o outcome) {
	d.busy = false
	d.take(o)
	if d.link != model.Live || d.refresh <= quickEvery {
		return
	}
	next := d.closely.Add(quickEvery)
	if o.kept || o.still && next.After(d.whole.Add(d.refresh-quickEvery/2)) {
		return // the next refresh comes about as soon
	}
	d.between.Reset(time.Until(next))
}

// errSlow stands for an answer that does not come.
var errSlow = fmt.Errorf("no answer yet: %w", context.DeadlineExceeded)

// read answers orders with rounds until ctx ends.
func (w *Watch) read(ctx context.Context, orders <-chan order, outcomes chan<- outcome) {
	for {
		var what order
		select {
		case <-ctx.Done():
			return
		case what = <-orders:
		}
		before := w.guard.Commands.Load()
		o := outcome{kind: what.kind}
		o.readings, o.gone, o.err = w.round(ctx, what)
		o.commands = w.guard.Commands.Load() - before
		o.cost, w.spent = w.spent, 0
		o.at = w.clock.at(time.Now())
		o.rtt, o.offset, o.role, o.version = w.clock.rtt, w.clock.offset, w.role, w.version
		o.offsetBy = w.clock.uncertainty()
		o.health, o.lacks = w.health, w.shortcomings()
		o.still, o.kept = w.calm.still, w.calm.kept || w.embedded
		o.sweep = w.sweep
		o.sweep.Matched, o.sweep.Dropped = len(w.looks), len(w.dropped)
		if o.err == nil || len(o.readings) > 0 {
			o.hot, o.leftOut = w.heat.tell()
		}
		w.offset.Store(int64(w.clock.offset))
		select {
		case <-ctx.Done():
			return
		case outcomes <- o:
		}
	}
}
