// Package fire is the only place in ratescope that writes to a user's server. An Injector fires
// requests at limiters and changes their keys. It has a client of its own, made only when it is
// armed. It checks the caps, never sends a request twice, and writes every request to an audit
// file before it is sent; without that file it does not fire.
package fire

import (
	"cmp"
	"context"
	"errors"
	"time"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/model"
)

// Options says whether and how requests may be fired.
type Options struct {
	// Armed allows firing. On the embedded Redis it is always set.
	Armed bool
	// Refused is the remedy that an error names if Armed is not set; "" names --allow-inject.
	Refused string
	// ByHand requires more than Armed: Arm has to be called first, the arming ends after a while,
	// and each order needs a ticket. It is for a screen, where keys are pressed by mistake.
	ByHand bool
	// Production is set if the configuration says production: true.
	Production bool
	// Now is this machine's clock; nil means time.Now.
	Now func() time.Time
	// AuditPath is the file that every fired request is appended to; "" means
	// ratescope/audit.jsonl in the XDG state folder.
	AuditPath string
	// Timeout bounds one request; 0 means two seconds. A request without an answer in that
	// time is Unanswered and never sent again.
	Timeout time.Duration
	// Denials records denied requests in a stream beside the key, as redisstore.WithDenials does.
	// On the embedded Redis it is always set.
	Denials bool
	// Reason is why requests are fired, for the audit file; "" if none was given.
	Reason string
	// Ready is called when an order has been checked and written to the audit file, before its
	// first request. It may be nil.
	Ready func()
	// Sent is called with the key of every request once its outcome is known. It may be nil.
	Sent func(key string)
}

// Injector fires requests at the limiters of one server, changes their keys, and takes both
// back. It is safe for concurrent use. The first Fire of an armed injector makes the client; an
// injector that is not armed never has one.
type Injector struct {
	*permission
	o     Options
	link  *link
	audit audit
}

// Limits of one order, in addition to model.MaxRequests and model.MaxRate.
const (
	InFlight = 16                   // requests on the wire at the same time, for an order with a rate
	GiveUp   = 5                    // consecutive errors after which an order stops
	paceTick = 5 * time.Millisecond // delay beyond which the rest of an order is postponed
)

// New returns an injector for a server; offset returns how far the server's clock is ahead of
// this machine's.
func New(e *connect.Endpoint, o Options, offset func() time.Duration) *Injector {
	if o.Timeout <= 0 {
		o.Timeout = connect.Timeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &link{endpoint: e, offset: offset, timeout: o.Timeout, denials: o.Denials, marked: o.Production}
	i := &Injector{o: o, link: l, audit: audit{path: o.AuditPath}}
	i.permission = &permission{o: o, link: i.link, audit: &i.audit}
	return i
}

// Fire sends the requests of s, and calls report with the outcome of each as it becomes known,
// from one goroutine at a time. With Rate 0 each request waits for the answer to the previous
// one. With a Rate, up to InFlight requests are on the wire at the same time, and after a stall
// the rest is sent later, not faster. N 0 with a Rate goes on until ctx ends or MaxRequests are
// sent.
//
// It returns when all requests are answered or ctx has ended, which is no error. The error is
// one sentence that says why nothing, or nothing more, was fired: the injector is not armed, the
// order exceeds the caps, the audit file cannot be written, or too many requests failed in a
// row.
func (i *Injector) Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error) {
	if s.Change.Kind != model.NoChange {
		return model.Outcomes{}, errors.New("an order that changes its key fires no requests")
	}
	if err := i.admit(ctx, &s, s.Check); err != nil {
		return model.Outcomes{}, err
	}
	of := s
	s = aimed(s)    // an order with Scratch goes to the copy from here on
	i.link.client() // from here on it is known whether the server is a cluster
	tr := i.link.newTrace(s)
	decide, err := i.link.decider(of, s, sender{i.link, tr.send})
	if err != nil {
		return model.Outcomes{}, err
	}
	if err := i.audit.open(); err != nil {
		return model.Outcomes{}, err
	}
	f := &firing{audit: &i.audit, order: s, report: report, use: i.use, giveUp: GiveUp}
	f.send = func(ctx context.Context) answered {
		fired := i.ask(ctx, s, decide)
		if s.Target.Described && fired.Err == "" { // what is left, and the wait, are not known
			fired.Answer = &model.Answer{}
		}
		return fired
	}
	if s.N == 0 || s.Lasts() > followEvery {
		f.follow = i.link.follow
	}
	if f.action, err = i.begin(ctx, s, tr); err != nil {
		return model.Outcomes{}, err
	}
	if i.o.Ready != nil {
		i.o.Ready()
	}
	if of.Scratch {
		err := i.link.copyScratch(ctx, of, s, f.action.begun)
		if err = cmp.Or(err, i.mark(ctx, s, tr)); err != nil {
			return model.Outcomes{}, errors.Join(err, i.end(f.action, model.Outcomes{}))
		}
	}
	return f.carryOut(ctx, func(t model.Outcomes) error { return i.end(f.action, t) })
}

// decider returns what sends one request of the order s over by: the user's own script, the commands of another
// library, or the limiter's script. of is the order before it was aimed at a scratch copy.
func (l *link) decider(of, s model.Order, by sender) (func(context.Context) (limiter.Decision, error), error) {
	own, err := l.ownScriptOf(of)
	if own != nil || err != nil {
		return func(ctx context.Context) (limiter.Decision, error) { return own.call(ctx, by) }, err
	}
	w, err := writerOf(s)
	if w != nil || err != nil {
		return func(ctx context.Context) (limiter.Decision, error) { return l.work(ctx, by, w, s, w.Write) }, err
	}
	store, err := l.storeOn(by, s.Target)
	return func(ctx context.Context) (limiter.Decision, error) {
		return store.AllowN(ctx, s.Key, s.Target.Limit, s.Cost)
	}, err
}

// admit returns nil if an order may be carried out now: the injector is armed, the amounts are within bounds by
// check, and it is known how the key is limited. It completes the limit.
func (i *Injector) admit(ctx context.Context, s *model.Order, check func() error) error {
	if err := i.Armed(); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	if err := i.permit(ctx, *s); err != nil {
		return err
	}
	s.Target.Limit.Window = max(s.Target.Limit.Window, s.Target.Window)
	switch t := &s.Target; {
	case !t.LimitKnown:
		return errors.New("its limit is not known: give --limit, as in --limit 100/1m")
	case t.Algorithm == limiter.Unknown:
		return errors.New("its algorithm is not known: give --algorithm, as in --algorithm sliding-log")
	}
	return nil
}

// Close closes the connections and the audit file. No Fire may be running.
func (i *Injector) Close() error {
	return errors.Join(i.link.close(), i.audit.close())
}

// Close closes all injectors of a list.
func Close(list []*Injector) (err error) {
	for _, i := range list {
		err = errors.Join(err, i.Close())
	}
	return err
}
