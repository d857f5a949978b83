package feed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// InjectorOptions says whether and how requests may be fired.
type InjectorOptions struct {
	// Armed allows firing. On the embedded Redis it is always set.
	Armed bool
	// AuditPath is the file that every fired request is appended to; "" means
	// ratescope/audit.jsonl in the XDG state folder.
	AuditPath string
	// Timeout bounds one request; 0 means two seconds. A request without an answer in that
	// time is Unanswered and never sent again.
	Timeout time.Duration
	// Denials records denied requests beside the key, as limiter.WithDenials does. On the
	// embedded Redis it is always set.
	Denials bool
}

// Injector is the one place from which ratescope writes to a Redis. It is safe for
// concurrent use. The client that writes is made by the first Fire of an armed injector;
// one that is not armed never has any.
type Injector struct {
	o        InjectorOptions
	endpoint *endpoint
	audit    audit
	offset   func() time.Duration // of the server's clock

	mu       sync.Mutex
	client   redis.UniversalClient
	limiters map[manner]*limiter.Redis
}

// manner is all that two shots must share to be decided by the same limiter.
type manner struct {
	algorithm  limiter.Algorithm
	convention limiter.Convention
	layout     limiter.Layout
}

// Limits of one shot beside model.MaxRequests and model.MaxRate.
const (
	inFlight  = 16 // requests on the wire at once, at a rate
	giveUp    = 5  // requests in a row that came to nothing
	paceTick  = 5 * time.Millisecond
	firePool  = inFlight
	writeName = "ratescope-fire"
)

func newInjector(e *endpoint, o InjectorOptions, offset func() time.Duration) *Injector {
	if o.Timeout <= 0 {
		o.Timeout = ioTimeout
	}
	return &Injector{o: o, endpoint: e, audit: audit{path: o.AuditPath}, offset: offset, limiters: make(map[manner]*limiter.Redis)}
}

// Armed returns nil when firing is allowed, else an error that wraps ErrReadOnly and
// says how to allow it.
func (i *Injector) Armed() error {
	if i.o.Armed {
		return nil
	}
	return fmt.Errorf("%s is %w, so nothing is fired at it: start ratescope with --allow-inject to allow it", i.endpoint.shown, ErrReadOnly)
}

// Fire sends the requests of s, and calls report, from one goroutine at a time, with the
// fate of each as it becomes known. With Rate 0 each waits for the answer to the one
// before; with a Rate up to 16 are on the way at once, and a stall is not made up for.
// N 0 with a Rate goes on until ctx ends or MaxRequests are sent.
//
// It returns when all is answered or ctx has ended, which is no error. An error says in
// one sentence why nothing, or nothing more, was fired: it is not armed, the order is
// over the caps, the audit file cannot be written, or too many requests in a row came to
// nothing.
func (i *Injector) Fire(ctx context.Context, s model.Shot, report func(model.Fired)) (model.Tally, error) {
	if err := i.Armed(); err != nil {
		return model.Tally{}, err
	}
	if err := s.Check(); err != nil {
		return model.Tally{}, err
	}
	s.Target.Limit.Window = max(s.Target.Limit.Window, s.Target.Window)
	if !s.Target.LimitKnown {
		return model.Tally{}, errors.New("its limit is not known: give --limit, as in --limit 100/1m")
	}
	l, err := i.limiter(s.Target)
	if err != nil {
		return model.Tally{}, err
	}
	if err := i.audit.open(); err != nil {
		return model.Tally{}, err
	}
	f := &firing{Injector: i, limiter: l, shot: s, report: report}
	ctx, f.stop = context.WithCancelCause(ctx)
	defer f.stop(nil)
	f.run(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tally, f.err
}

// limiter returns what decides in the manner of t.
func (i *Injector) limiter(t model.Target) (*limiter.Redis, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	m := manner{t.Algorithm, t.Convention, t.Layout}
	if l := i.limiters[m]; l != nil {
		return l, nil
	}
	if i.client == nil {
		i.client = i.endpoint.open(writeName, firePool, nil)
	}
	opts := []limiter.Option{limiter.WithConvention(t.Convention), limiter.WithLayout(t.Layout)}
	if i.o.Denials {
		opts = append(opts, limiter.WithDenials())
	}
	l, err := limiter.NewRedis(i.client, t.Algorithm, opts...)
	if err != nil {
		return nil, fmt.Errorf("it cannot be fired at: %w", err)
	}
	i.limiters[m] = l
	return l, nil
}

// Close ends the connections and the audit file. No Fire may be running.
func (i *Injector) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	var err error
	if i.client != nil {
		err = i.client.Close()
		i.client, i.limiters = nil, make(map[manner]*limiter.Redis)
	}
	return errors.Join(err, i.audit.close())
}

// firing is one shot on its way.
type firing struct {
	*Injector
	limiter *limiter.Redis
	shot    model.Shot
	report  func(model.Fired)
	stop    context.CancelCauseFunc

	mu     sync.Mutex
	tally  model.Tally
	failed int // in a row
	err    error
}

func (f *firing) run(ctx context.Context) {
	n := f.shot.N
	if n == 0 {
		n = model.MaxRequests
	}
	if f.shot.Rate == 0 {
		next := time.Now()
		for range n {
			f.one(ctx)
			next = later(next.Add(time.Second/model.MaxRate), time.Now().Add(-time.Millisecond))
			if sleep(ctx, time.Until(next)) != nil {
				return
			}
		}
		return
	}
	f.paced(ctx, n)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// paced fires n requests at the shot's rate: request k is due k/rate after the first. A
// wait that took too long moves the rest back instead of bunching it.
func (f *firing) paced(ctx context.Context, n int) {
	var flying sync.WaitGroup
	defer flying.Wait()
	slots := make(chan struct{}, inFlight)
	gap := time.Duration(float64(time.Second) / f.shot.Rate)
	due := time.Now()
	for range n {
		if sleep(ctx, time.Until(due)) != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		flying.Go(func() {
			f.one(ctx)
			<-slots
		})
		due = later(due, time.Now().Add(-paceTick)).Add(gap)
	}
}

// one sends one request and accounts for it.
func (f *firing) one(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	sent := time.Now()
	d, err := f.limiter.AllowN(within, f.shot.Key, f.shot.Target.Limit, f.shot.Cost)
	fired := model.Fired{
		Shot: f.shot.ID, Key: f.shot.Key, Cost: f.shot.Cost, Decision: d,
		At: d.At, Latency: time.Since(sent),
	}
	switch {
	case err == nil && d.Allowed:
		fired.Outcome = model.Admitted
	case err == nil:
		fired.Outcome = model.Denied
	default:
		fired.Decision = limiter.Decision{}
		fired.At = limiter.InstantOf(sent.Add(f.offset()))
		fired.Outcome, fired.Err = f.fate(err)
	}
	f.account(fired, sent)
}

// fate tells a request that was refused from one whose answer is missing.
func (f *firing) fate(err error) (model.Outcome, string) {
	if errors.Is(err, limiter.ErrUnknownOutcome) {
		return model.Unanswered, err.Error()
	}
	switch code(err) {
	case "NOPERM":
		return model.Failed, "this user must not fire: " + remedy(err)
	case "READONLY":
		return model.Failed, "this is a replica, which takes no writes: fire at its master"
	case "OOM":
		return model.Failed, "the server is out of memory and takes no writes"
	case "":
		var dial *net.OpError
		if errors.As(err, &dial) {
			return model.Failed, explain(err, f.endpoint.shown)
		}
	}
	return model.Failed, err.Error()
}

func (f *firing) account(fired model.Fired, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tally.Add(fired.Outcome)
	if err := f.audit.write(f.endpoint.shown, f.shot.Target, fired, at); err != nil && f.err == nil {
		f.err = fmt.Errorf("firing stopped because the audit file %q cannot be written: %w", f.audit.path, err)
		f.stop(f.err)
	}
	if fired.Outcome == model.Admitted || fired.Outcome == model.Denied {
		f.failed = 0
	} else if f.failed++; f.failed >= giveUp && f.err == nil && f.shot.N != f.tally.Total() {
		f.err = fmt.Errorf("firing stopped after %d requests in a row came to nothing: %s", f.failed, fired.Err)
		f.stop(f.err)
	}
	if f.report != nil {
		f.report(fired)
	}
}
