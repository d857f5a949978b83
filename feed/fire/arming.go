package fire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"ratescope/feed/connect"
	"ratescope/model"
	"ratescope/model/arming"
)

// permission decides whether requests may be fired now: the program's flags must allow it and,
// if firing is armed by hand, the arming must not have ended. It is safe for concurrent use.
type permission struct {
	o     Options
	link  *link
	audit *audit

	mu         sync.Mutex
	state      arming.State
	production []string // why the server counted as production at the last Arm; nil if it did not
}

// Allowed returns nil if the program's flags allow firing, and else an error that wraps
// connect.ErrReadOnly and names the remedy.
func (p *permission) Allowed() error {
	if p.o.Armed {
		return nil
	}
	remedy := "start ratescope with --allow-inject to allow it"
	if p.o.Refused != "" {
		remedy = p.o.Refused
	}
	return fmt.Errorf("%s is %w, so nothing is fired at it: %s", p.link.endpoint.Shown, connect.ErrReadOnly, remedy)
}

// ByHand reports whether firing has to be armed first and each order needs a ticket.
func (p *permission) ByHand() bool { return p.o.ByHand }

// Armed returns nil if firing is permitted now, and else an error that says why not.
func (p *permission) Armed() error {
	if err := p.Allowed(); err != nil || !p.o.ByHand {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.Err(p.o.Now())
}

// Arming returns the present state of the arming.
func (p *permission) Arming() arming.Status {
	refused := p.Allowed()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state.Status(p.o.Now())
	s.Refused, s.Production = refused, p.production
	return s
}

// Arm permits firing until it is unused for arming.Lasts. It asks the server for its identity
// over the client that will write. The error is one sentence.
func (p *permission) Arm(ctx context.Context) error {
	if err := p.Allowed(); err != nil {
		return err
	}
	server, traits, err := p.link.identify(ctx)
	if err != nil {
		return fmt.Errorf("firing cannot be armed: %s", connect.Explain(err, p.link.endpoint.Shown))
	}
	if err := p.audit.open(); err != nil {
		return err
	}
	p.mu.Lock()
	p.state.Arm(p.o.Now(), server)
	p.production = traits.Production()
	p.mu.Unlock()
	return p.note(armed, server.RunID)
}

// Disarm ends the arming.
func (p *permission) Disarm() {
	p.mu.Lock()
	was := p.o.ByHand && p.state.Err(p.o.Now()) == nil
	p.state.Disarm()
	p.mu.Unlock()
	if was {
		_ = p.note(disarmed, "") // the arming has ended even if the audit file cannot be written
	}
}

// note writes a change of the arming to the audit file; run is the server's run ID.
func (p *permission) note(outcome, run string) error {
	return p.audit.append(entry{Action: outcome, Server: p.link.endpoint.Shown, Database: p.link.endpoint.DB(), Outcome: outcome, RunID: run,
		person: whoRuns()})
}

// Meet takes the present state of the server: the arming ends if the connection was lost and a
// different server answers afterwards.
func (p *permission) Meet(s model.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s.Link {
	case model.Down:
		p.state.Lose()
	case model.Live:
		if s.RunID != "" && !p.link.clustered() {
			p.state.Meet(arming.Server{Name: p.link.endpoint.Shown, RunID: s.RunID})
		}
	}
}

// permit returns nil if the order s may be carried out now, and counts it as use of the arming.
func (p *permission) permit(ctx context.Context, s model.Order) error {
	if err := p.Armed(); err != nil || !p.o.ByHand {
		return err
	}
	server, _, err := p.link.identify(ctx)
	if err != nil {
		return fmt.Errorf("%s: %s", s.Nothing(), connect.Explain(err, p.link.endpoint.Shown))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Meet(server)
	now := p.o.Now()
	switch err := p.state.Err(now); {
	case err != nil:
		return err
	case s.Ticket == nil || !s.Ticket.Covers(s):
		return errors.New(s.Nothing() + " without a ticket that says what the order does")
	case s.Ticket.Expired(now):
		return fmt.Errorf("the ticket has expired after %v: what it said may be wrong by now, ask for a new one", model.TicketLasts)
	}
	if err := p.assured(p.production, s.Key, s.Named, s.Reason, s.Nothing()); err != nil {
		return err
	}
	return p.state.Use(now)
}

// assured returns nil if the user has typed what a production server requires: the name of the
// key and a reason. production says why the server counts as production, and is nil if it does
// not; nothing is the start of the error's sentence.
func (p *permission) assured(production []string, key, named, reason, nothing string) error {
	switch {
	case len(production) == 0:
		return nil
	case !arming.Named(key, named):
		return fmt.Errorf("%s: %s counts as production because %s, and the key's name was not typed", nothing, p.link.endpoint.Shown,
			production[0])
	case strings.TrimSpace(reason) == "":
		return fmt.Errorf("%s: %s counts as production because %s, and no reason was given", nothing, p.link.endpoint.Shown, production[0])
	}
	return nil
}

// permitBack returns nil if an action on a key may be taken back now, and counts it as use of
// the arming. On a production server it requires the key's name and a reason, as permit does.
func (p *permission) permitBack(key, named, reason string) error {
	if !p.o.ByHand {
		return nil
	}
	p.mu.Lock()
	production := p.production
	p.mu.Unlock()
	if err := p.assured(production, key, named, reason, "nothing is taken back"); err != nil {
		return err
	}
	return p.use()
}

// use counts a request as use of the arming, and fails if the arming has ended.
func (p *permission) use() error {
	if !p.o.ByHand {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.Use(p.o.Now())
}

// Production returns the reasons, a clause each, why the server counts as production; nil if it
// does not, or does not answer.
func (p *permission) Production(ctx context.Context) (why []string) {
	if _, traits, err := p.link.identify(ctx); err == nil {
		return traits.Production()
	}
	return nil
}
