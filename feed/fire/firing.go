package fire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model"
)

// firing is an order that is being carried out.
type firing struct {
	audit  *audit
	send   func(ctx context.Context) answered // sends one request; the caller fills in which it was
	follow func(ctx context.Context) error    // watches the server, and returns why firing has to stop; may be nil
	use    func() error                       // fails if firing is no longer permitted; may be nil
	giveUp int                                // consecutive failures after which firing stops
	action *action
	order  model.Order
	report func(model.Fired) // may be nil
	stop   context.CancelCauseFunc

	mu       sync.Mutex
	outcomes model.Outcomes
	failed   int       // consecutive failed requests
	slow     int       // stalls in a row: slow answers, of which each was asked for after the one before
	stalled  time.Time // when the latest of them came
	err      error
}

// carryOut sends the requests of the order, and calls end with their outcomes.
func (f *firing) carryOut(ctx context.Context, end func(model.Outcomes) error) (model.Outcomes, error) {
	ctx, f.stop = context.WithCancelCause(ctx)
	defer f.stop(nil)
	beside, around := goroutine.NewGroup(ctx)
	if f.follow != nil {
		beside.Go(func() {
			if err := f.follow(around); err != nil {
				f.halt(err)
			}
		})
	}
	f.fail(goroutine.Call(func() error { f.run(ctx); return nil }))
	f.stop(nil)
	f.fail(beside.Wait())
	f.fail(end(f.outcomes))
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outcomes, f.err
}

// run sends the requests: one after the other if the order has no rate and no shape.
func (f *firing) run(ctx context.Context) {
	n := cmp.Or(f.order.N, model.MaxRequests)
	if f.order.Rate == 0 && f.order.Shape.Kind == model.Even {
		if goroutine.Sleep(ctx, f.order.Shape.Wait) != nil {
			return
		}
		next := time.Now()
		for range n {
			if f.hold(ctx) != nil {
				return
			}
			f.one(ctx)
			if next = next.Add(time.Second / model.MaxRate); time.Since(next) > time.Millisecond {
				next = time.Now().Add(-time.Millisecond)
			}
			if goroutine.Sleep(ctx, time.Until(next)) != nil {
				return
			}
		}
		return
	}
	f.paced(ctx)
}

// paced fires requests when they are due by the order's shape. A delay of more than paceTick
// postpones the rest, which is not sent faster to catch up.
func (f *firing) paced(ctx context.Context) {
	flying, ctx := goroutine.NewGroup(ctx)
	defer func() { f.fail(flying.Wait()) }()
	slots := make(chan struct{}, InFlight)
	begun := time.Now()
	for at := range f.order.Due() {
		if late := time.Since(begun.Add(at)); late > paceTick {
			begun = begun.Add(late - paceTick)
		}
		due := begun.Add(at)
		if goroutine.Sleep(ctx, time.Until(due)) != nil || f.hold(ctx) != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		flying.Go(func() {
			defer func() { <-slots }()
			f.one(ctx)
		})
	}
}

func (f *firing) hold(ctx context.Context) error {
	if f.order.Hold == nil {
		return ctx.Err()
	}
	return f.order.Hold(ctx)
}

// one writes one request to the audit file, sends it, and accounts for its outcome.
func (f *firing) one(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if f.use != nil {
		if err := f.use(); err != nil {
			f.halt(err)
			return
		}
	}
	line := f.action.request()
	if err := f.audit.append(line); err != nil {
		f.halt(err)
		return
	}
	fired := f.send(ctx)
	fired.Order, fired.Key, fired.Cost, fired.Audit = f.order.ID, f.order.Key, f.order.Cost, line.Request
	f.account(fired, line)
}

// answered is a request with its outcome.
type answered struct {
	model.Fired
	gone bool // the connection is lost
}

// halt stops firing; the first reason is kept.
func (f *firing) halt(err error) {
	f.fail(err)
	f.stop(err)
}

// ask sends one request by calling decide, and returns its outcome.
func (l *link) ask(ctx context.Context, decide func(context.Context) (limiter.Decision, error)) answered {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	sent := time.Now()
	d, err := decide(ctx)
	fired := answered{Fired: model.Fired{Decision: d, At: d.At, Latency: time.Since(sent)}}
	switch {
	case err == nil && d.Allowed:
		fired.Outcome = model.Admitted
	case err == nil:
		fired.Outcome = model.Denied
	default:
		fired.Decision = limiter.Decision{}
		fired.At = limiter.InstantOf(sent.Add(l.offset()))
		fired.Outcome, fired.Err = l.fate(err)
		fired.gone = errors.As(err, new(*net.OpError))
	}
	return fired
}

// fate returns the outcome of a request that failed with err, and a sentence about it: Failed
// if the server refused it or was not reached, Unanswered if the request may have been counted.
func (l *link) fate(err error) (model.Outcome, string) {
	if errors.Is(err, limiter.ErrUnknownOutcome) {
		return model.Unanswered, err.Error()
	}
	if errors.Is(err, context.Canceled) {
		return model.Failed, "not sent: firing was ended"
	}
	explained := []string{"READONLY", "OOM", "MISCONF", "NOREPLICAS", "BUSY", "LOADING", "CLUSTERDOWN", "MASTERDOWN"}
	switch code := connect.Code(err); {
	case code == "NOPERM":
		return model.Failed, "this user must not fire: " + connect.Remedy(err)
	case code == "" && errors.As(err, new(*net.OpError)), slices.Contains(explained, code):
		return model.Failed, connect.Explain(err, l.endpoint.Shown)
	}
	return model.Failed, err.Error()
}

// account adds the outcome of a request to the audit file and the totals, reports it, and stops firing if the server is in trouble.
func (f *firing) account(fired answered, line entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcomes.Add(fired.Outcome)
	var why error
	switch {
	case fired.Outcome == model.Admitted || fired.Outcome == model.Denied:
		f.failed = 0
		now := time.Now()
		switch asked := now.Add(-fired.Latency); {
		case fired.Latency < slowAnswer:
			f.slow = 0
		case !asked.Before(f.stalled): // the others on the wire are slow by the same stall
			f.slow, f.stalled = f.slow+1, now
		}
		if f.slow >= slowInARow {
			why = fmt.Errorf("firing stopped after %d answers in a row that took longer than %v: the server is in trouble",
				f.slow, slowAnswer)
		}
	case fired.Outcome == model.Unanswered: // nothing more is sent to a server that stalls: the request may have been counted
		why = fmt.Errorf("firing stopped after a request whose outcome is unknown: %s", fired.Err)
	case fired.gone:
		why = fmt.Errorf("firing stopped after the connection was lost: %s", fired.Err)
	default:
		if f.failed++; f.failed >= f.giveUp {
			why = fmt.Errorf("firing stopped after %d requests in a row came to nothing: %s", f.failed, fired.Err)
		}
	}
	if f.order.N == f.outcomes.Total() {
		why = nil // there is nothing more to send
	}
	if err := f.audit.fired(line, fired.Fired); err != nil {
		why = err
	}
	if why != nil && f.err == nil {
		f.err = why
		f.stop(why)
	}
	if f.report != nil {
		f.report(fired.Fired)
	}
}

// fail keeps the first error of a firing; nil changes nothing.
func (f *firing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = cmp.Or(f.err, err)
}

// Conditions that stop firing, in addition to failed requests.
const (
	slowAnswer  = time.Second // an answer that takes longer is slow
	slowInARow  = 5           // consecutive slow answers
	followEvery = time.Second // interval at which the server is checked while an order lasts
)

// follow checks the server while an order is carried out. It returns an error if the rest must not be sent, because a different server
// answers or keys are being evicted, and nil once ctx ends.
func (l *link) follow(ctx context.Context) error {
	first, evicted, known := l.glance(ctx)
	for known {
		if goroutine.Sleep(ctx, followEvery) != nil {
			return nil
		}
		now, more, ok := l.glance(ctx)
		switch {
		case !ok: // the requests themselves report what is wrong
		case now != first:
			return errors.New("firing stopped because the server was started anew, or another one took its place")
		case more > evicted:
			return fmt.Errorf("firing stopped because the server began to evict keys, %d since the order began: its memory is full",
				more-evicted)
		}
	}
	return nil
}

// glance returns the server's run ID and how many keys it has evicted; ok is false if it does not say, and for a cluster.
func (l *link) glance(ctx context.Context) (run string, evicted int, ok bool) {
	c, single := l.client().(*redis.Client)
	if !single {
		return "", 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	pipe := c.Pipeline() // one section for each command, because Redis before 7 takes no more
	server, stats := pipe.Info(ctx, "server"), pipe.Info(ctx, "stats")
	if _, err := pipe.Exec(ctx); err != nil {
		return "", 0, false
	}
	run = connect.ParseInfo(server.Val())["run_id"]
	return run, max(number(connect.ParseInfo(stats.Val())["evicted_keys"]), 0), run != ""
}
