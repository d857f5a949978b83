// Package fire is the one place that writes to the servers of others. An Injector has a
// client of its own, made only when it is armed; it checks the caps, asks the limiter,
// never sends a request twice, and accounts for every request in an audit file without
// which it does not fire.
package fire

import (
	"context"
	"errors"
	"time"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
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
	*permission
	link   *link
	audit  audit
	reason string           // why requests are fired; "" where an order may say so itself
	ready  func()           // called before the first request of an order; nil: nothing is
	sent   func(key string) // called when the fate of a request is known; nil: nothing is
}

// Limits of one order beside model.MaxRequests and model.MaxRate.
const (
	InFlight = 16 // requests on the wire at once, at a rate
	GiveUp   = 5  // requests in a row that the server refused with an error
	paceTick = 5 * time.Millisecond
)

// New returns an injector of a server; offset is how far its clock is ahead of this machine's.
func New(e *connect.Endpoint, o Options, offset func() time.Duration) *Injector {
	if o.Timeout <= 0 {
		o.Timeout = connect.Timeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	i := &Injector{
		link:   &link{endpoint: e, offset: offset, timeout: o.Timeout, denials: o.Denials, limiters: make(map[spec]*redisstore.Store)},
		audit:  audit{path: o.AuditPath},
		reason: o.Reason, ready: o.Ready, sent: o.Sent,
	}
	i.permission = &permission{
		link: i.link, audit: &i.audit,
		allowed: o.Armed, refused: o.Refused, byHand: o.ByHand, marked: o.Production, now: o.Now,
	}
	return i
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
		if l, err = i.link.limiter(s.Target); err != nil {
			return model.Outcomes{}, err
		}
	}
	if err := i.audit.open(); err != nil {
		return model.Outcomes{}, err
	}
	f := &firing{audit: &i.audit, order: s, report: report, use: i.use, giveUp: GiveUp}
	decide := func(ctx context.Context) (limiter.Decision, error) {
		return l.AllowN(ctx, s.Key, s.Target.Limit, s.Cost)
	}
	if w != nil {
		decide = func(ctx context.Context) (limiter.Decision, error) { return i.link.write(ctx, w, s) }
	}
	f.send = func(ctx context.Context) answered { return i.ask(ctx, s, decide) }
	if s.N == 0 || s.Lasts() > followEvery {
		f.follow = i.link.follow
	}
	if f.action, err = i.begin(ctx, s); err != nil {
		return model.Outcomes{}, err
	}
	if i.ready != nil {
		i.ready()
	}
	if of.Scratch {
		if err := i.link.copyScratch(ctx, of, s, f.action.begun); err != nil {
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

// Close ends the connections and the audit file. No Fire may be running.
func (i *Injector) Close() error {
	return errors.Join(i.link.close(), i.audit.close())
}
