// Package fire is the one place that writes to the servers of others. An Injector has a
// client of its own, made only when it is armed; it checks the caps, asks the limiter,
// never sends a request twice, and accounts for every request in an audit file without
// which it does not fire.
package fire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
	"ratescope/model"
	"ratescope/model/arming"
)

// Options says whether and how requests may be fired.
type Options struct {
	// Armed allows firing. On the embedded Redis it is always set.
	Armed bool
	// Refused is the remedy where Armed is not set; "" names --allow-inject.
	Refused string
	// ByHand asks for more than Armed: Arm has to be called first, what is armed ends, and each
	// order needs a ticket. It is for a screen, where a key is soon pressed by mistake.
	ByHand bool
	// Production says that the configuration calls the server one of production.
	Production bool
	// Now is this machine's clock; nil means time.Now.
	Now func() time.Time
	// AuditPath is the file that every fired request is appended to; "" means
	// ratescope/audit.jsonl in the XDG state folder.
	AuditPath string
	// Timeout bounds one request; 0 means two seconds. A request without an answer in that
	// time is Unanswered and never sent again.
	Timeout time.Duration
	// Denials records denied requests beside the key, as redisstore.WithDenials does. On the
	// embedded Redis it is always set.
	Denials bool
	// Reason is why requests are fired, for the audit file; "" where none was given.
	Reason string
	// Ready, when not nil, is called when an order has been checked and written down, before its
	// first request.
	Ready func()
	// Sent, when not nil, is called with the key of every request as soon as its fate is known.
	Sent func(key string)
}

// Injector is the one place from which ratescope writes to a Redis. It is safe for
// concurrent use. The client that writes is made by the first Fire of an armed injector;
// one that is not armed never has any.
type Injector struct {
	o        Options
	endpoint *connect.Endpoint
	audit    audit
	offset   func() time.Duration // of the server's clock

	mu       sync.Mutex
	client   redis.UniversalClient
	scripts  *scriptClient // over client
	limiters map[spec]*redisstore.Store

	sent sync.Map // digests of scripts that were sent with their text

	state      arming.State
	production []string // why the server counts as one of production, as of the last Arm
}

// spec is all that two orders must share to be decided by the same limiter.
type spec struct {
	algorithm  limiter.Algorithm
	convention limiter.Convention
	layout     layout.Layout
}

// Limits of one order beside model.MaxRequests and model.MaxRate.
const (
	InFlight  = 16 // requests on the wire at once, at a rate
	GiveUp    = 5  // requests in a row that the server refused with an error
	paceTick  = 5 * time.Millisecond
	firePool  = InFlight
	ownNames  = "ratescope" // what the names of all our connections begin with
	writeName = ownNames + "-fire"
)

// New returns an injector of a server; offset is how far its clock is ahead of this machine's.
func New(e *connect.Endpoint, o Options, offset func() time.Duration) *Injector {
	if o.Timeout <= 0 {
		o.Timeout = connect.Timeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Injector{o: o, endpoint: e, audit: audit{path: o.AuditPath}, offset: offset, limiters: make(map[spec]*redisstore.Store)}
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
func (i *Injector) Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error) {
	if err := i.Armed(); err != nil {
		return model.Outcomes{}, err
	}
	if err := s.Check(); err != nil {
		return model.Outcomes{}, err
	}
	if err := i.permit(ctx, s); err != nil {
		return model.Outcomes{}, err
	}
	if s.Change.Kind != model.NoChange {
		return model.Outcomes{}, errors.New("an order that changes its key fires no requests")
	}
	s.Target.Limit.Window = max(s.Target.Limit.Window, s.Target.Window)
	if err := limited(s.Target); err != nil {
		return model.Outcomes{}, err
	}
	of := s
	s = aimed(s) // from here on the copy is the key
	w, err := writerOf(s)
	if err != nil {
		return model.Outcomes{}, err
	}
	var l *redisstore.Store
	if w == nil {
		if l, err = i.limiter(s.Target); err != nil {
			return model.Outcomes{}, err
		}
	}
	if err := i.audit.open(); err != nil {
		return model.Outcomes{}, err
	}
	f := &firing{audit: &i.audit, order: s, report: report, use: i.use, giveUp: GiveUp}
	f.send = func(ctx context.Context) answered { return i.ask(ctx, l, s) }
	if w != nil {
		f.send = func(ctx context.Context) answered { return i.askLibrary(ctx, w, s) }
	}
	if s.N == 0 || s.Lasts() > followEvery {
		f.follow = i.follow
	}
	if f.action, err = i.begin(ctx, s); err != nil {
		return model.Outcomes{}, err
	}
	if i.o.Ready != nil {
		i.o.Ready()
	}
	if of.Scratch {
		if err := i.scratch(ctx, of, s, f.action.begun); err != nil {
			return model.Outcomes{}, errors.Join(err, i.end(f.action, s, model.Outcomes{}))
		}
	}
	return f.carryOut(ctx, func(t model.Outcomes) error { return i.end(f.action, s, t) })
}

// limited says what is not known of how a key is limited, or returns nil.
func limited(t model.Target) error {
	if !t.LimitKnown {
		return errors.New("its limit is not known: give --limit, as in --limit 100/1m")
	}
	if t.Algorithm == limiter.Unknown {
		return errors.New("its algorithm is not known: give --algorithm, as in --algorithm sliding-log")
	}
	return nil
}

// limiter returns what decides about requests at t.
func (i *Injector) limiter(t model.Target) (*redisstore.Store, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	m := spec{t.Algorithm, t.Convention, t.Layout}
	if l := i.limiters[m]; l != nil {
		return l, nil
	}
	if i.scripts == nil {
		i.scripts = &scriptClient{UniversalClient: i.writer()}
	}
	l, err := i.storeOn(i.scripts, t)
	if err == nil {
		i.limiters[m] = l
	}
	return l, err
}

// storeOn returns what decides about requests at t over a client.
func (i *Injector) storeOn(c redisstore.Client, t model.Target) (*redisstore.Store, error) {
	opts := []redisstore.Option{redisstore.WithConvention(t.Convention), redisstore.WithLayout(t.Layout), redisstore.WithPrefix(""), redisstore.WithBatches(0)}
	if i.o.Denials {
		opts = append(opts, redisstore.WithDenials())
	}
	l, err := redisstore.New(c, t.Algorithm, opts...)
	if err != nil {
		return nil, fmt.Errorf("it cannot be fired at: %w", err)
	}
	return l, nil
}

// writer returns the client that may write, made when it is first asked for. i.mu is held.
func (i *Injector) writer() redis.UniversalClient {
	if i.client == nil {
		i.client = i.endpoint.Open(writeName, firePool, nil)
	}
	return i.client
}

// Close ends the connections and the audit file. No Fire may be running.
func (i *Injector) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	var err error
	if i.client != nil {
		err = errors.Join(err, i.client.Close())
		i.client, i.scripts, i.limiters = nil, nil, make(map[spec]*redisstore.Store)
	}
	return errors.Join(err, i.audit.close())
}
