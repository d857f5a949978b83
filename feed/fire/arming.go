package fire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
	"ratescope/model/collect"
)

// Allowed returns nil if the program's flags allow firing, and else an error that wraps
// connect.ErrReadOnly and names the remedy.
func (i *Injector) Allowed() error {
	if i.o.Armed {
		return nil
	}
	return fmt.Errorf("%s is %w, so nothing is fired at it: %s", i.link.endpoint.Shown, connect.ErrReadOnly, cmp.Or(i.o.Refused, withFlag))
}

// withFlag is the remedy where firing is not allowed, if no other is given.
const withFlag = "start ratescope with --allow-inject to allow it"

// ByHand reports whether firing has to be armed first and each order needs a ticket.
func (i *Injector) ByHand() bool { return i.o.ByHand }

// Armed returns nil if firing is permitted now, and else an error that says why not.
func (i *Injector) Armed() error {
	if err := i.Allowed(); err != nil || !i.o.ByHand {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.state.Err(i.o.Now())
}

// Arming returns the present state of the arming.
func (i *Injector) Arming() arming.Status {
	refused := i.Allowed()
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.state.Status(i.o.Now())
	s.Refused, s.Production = refused, i.production
	return s
}

// Arm permits firing until it is unused for arming.Lasts. It asks the server for its identity
// over the client that will write. The error is one sentence.
func (i *Injector) Arm(ctx context.Context) error {
	if err := i.Allowed(); err != nil {
		return err
	}
	server, traits, err := i.link.identify(ctx)
	if err != nil {
		return fmt.Errorf("firing cannot be armed: %s", connect.Explain(err, i.link.endpoint.Shown))
	}
	if err := i.audit.open(); err != nil {
		return err
	}
	i.mu.Lock()
	i.state.Arm(i.o.Now(), server)
	i.production = traits.Production()
	i.mu.Unlock()
	return i.note(armed, server.RunID)
}

// Disarm ends the arming.
func (i *Injector) Disarm() {
	i.mu.Lock()
	was := i.o.ByHand && i.state.Err(i.o.Now()) == nil
	i.state.Disarm()
	i.mu.Unlock()
	if was {
		_ = i.note(disarmed, "") // the arming has ended even if the audit file cannot be written
	}
}

// note writes a change of the arming to the audit file; run is the server's run ID.
func (i *Injector) note(outcome, run string) error {
	return i.audit.append(entry{Action: outcome, Server: i.link.endpoint.Shown, Database: i.link.endpoint.DB(), Outcome: outcome,
		RunID: run, person: whoRuns()})
}

// Meet takes the present state of the server: the arming ends if the connection was lost and a
// different server answers afterwards.
func (i *Injector) Meet(s model.Server) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch s.Link {
	case model.Down:
		i.state.Lose()
	case model.Live:
		if s.RunID != "" && !i.link.clustered() {
			i.state.Meet(arming.Server{Name: i.link.endpoint.Shown, RunID: s.RunID})
		}
	}
}

// permit returns nil if the order s may be carried out now, and counts it as use of the arming.
func (i *Injector) permit(ctx context.Context, s model.Order) error {
	if err := i.Armed(); err != nil || !i.o.ByHand {
		return err
	}
	server, _, err := i.link.identify(ctx)
	if err != nil {
		return fmt.Errorf("%s: %s", s.Nothing(), connect.Explain(err, i.link.endpoint.Shown))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.state.Meet(server)
	now := i.o.Now()
	switch err := i.state.Err(now); {
	case err != nil:
		return err
	case s.Ticket == nil || !s.Ticket.Covers(s):
		return errors.New(s.Nothing() + " without a ticket that says what the order does")
	case s.Ticket.Expired(now):
		return fmt.Errorf("the ticket has expired after %v: what it said may be wrong by now, ask for a new one", model.TicketLasts)
	}
	if err := i.assured(i.production, s.Key, s.Named, s.Reason, s.Nothing()); err != nil {
		return err
	}
	return i.state.Use(now)
}

// assured returns nil if the user has typed what a production server requires: the name of the
// key and a reason. production says why the server counts as production, and is nil if it does
// not; nothing is the start of the error's sentence.
func (i *Injector) assured(production []string, key, named, reason, nothing string) error {
	typed := arming.Named(key, named)
	if len(production) == 0 || typed && strings.TrimSpace(reason) != "" {
		return nil
	}
	return fmt.Errorf("%s: %s counts as production because %s, and %s", nothing, i.link.endpoint.Shown, production[0],
		collect.If(typed, "no reason was given", "the key's name was not typed"))
}

// permitBack returns nil if an action on a key may be taken back now, and counts it as use of
// the arming. On a production server it requires the key's name and a reason, as permit does.
func (i *Injector) permitBack(key, named, reason string) error {
	if !i.o.ByHand {
		return nil
	}
	if err := i.assured(i.Arming().Production, key, named, reason, "nothing is taken back"); err != nil {
		return err
	}
	return i.use()
}

// use counts a request as use of the arming, and fails if the arming has ended.
func (i *Injector) use() error {
	if !i.o.ByHand {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.state.Use(i.o.Now())
}

// Production returns the reasons, a clause each, why the server counts as production; nil if it
// does not, or does not answer.
func (i *Injector) Production(ctx context.Context) (why []string) {
	if _, traits, err := i.link.identify(ctx); err == nil {
		return traits.Production()
	}
	return nil
}

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
	// first request; nil is not called.
	Ready func()
	// Sent is called with the key of every request once its outcome is known; nil is not called.
	Sent func(key string)
}

// Injector fires requests at the limiters of one server, changes their keys, and takes both
// back. It is safe for concurrent use. The first Fire of an armed injector makes the client; an
// injector that is not armed never has one.
type Injector struct {
	o     Options
	link  *link
	audit audit

	mu         sync.Mutex
	state      arming.State // of an injector that is armed by hand
	production []string     // why the server counted as production at the last Arm; nil if it did not
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
	if o.Ready == nil {
		o.Ready = func() {}
	}
	if o.Sent == nil {
		o.Sent = func(string) {}
	}
	l := &link{endpoint: e, offset: offset, timeout: o.Timeout, denials: o.Denials, marked: o.Production}
	return &Injector{o: o, link: l, audit: audit{path: o.AuditPath}}
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
	f := &firing{audit: &i.audit, order: s, report: report, use: i.use, giveUp: GiveUp}
	f.send = func(ctx context.Context) answered {
		fired := i.link.ask(ctx, decide)
		i.o.Sent(s.Key)
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
	i.o.Ready()
	if of.Scratch {
		err := i.link.copyScratch(ctx, of, s, f.action.begun)
		if err = cmp.Or(err, tr.begin(ctx, s.Nothing())); err != nil {
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
