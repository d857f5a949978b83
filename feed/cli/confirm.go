package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ratescope/feed/fire"
	"ratescope/model"
	"ratescope/model/arming"
	"ratescope/model/safetext"
)

// concerns are why a server counts as one of production, a clause each; sure says that it does so
// by more than its number of clients.
type concerns struct {
	why  []string
	sure bool
}

// concernsOf asks the server; the embedded one has none.
func concernsOf(ctx context.Context, i *fire.Injector, batch model.Batch) (c concerns) {
	if !batch.Server.Embedded {
		c.why, c.sure = i.Production(ctx)
	}
	return c
}

// asks reports whether a person has to answer before the order.
func (o *FireOptions) asks(c concerns) bool { return o.Ask != nil && len(c.why) > 0 }

// confirm asks for what a server of production needs before an order: at a terminal for the key's
// name, and for the reason where none was given; elsewhere --reason has to be there, unless the
// number of clients alone makes it one of production. nothing begins the sentence that refuses.
func (o *FireOptions) confirm(c concerns, server string, s *model.Order, nothing string) error {
	s.Reason = strings.TrimSpace(o.Reason)
	switch {
	case len(c.why) == 0:
		return nil
	case o.Ask == nil && c.sure && s.Reason == "":
		return Usagef("%s: %s counts as production because %s, so give --reason", nothing, server, c.why[0])
	case o.Ask == nil:
		return nil
	}
	name := safetext.Clean(s.Key)
	var err error
	if s.Named, err = o.Ask(fmt.Sprintf("%s counts as production because %s.\nThe key's name, or its last part, to go on at %s: ", server, strings.Join(c.why, "; "), name)); err != nil {
		return Usagef("%s: no name was typed (%w)", nothing, err)
	}
	if !arming.Named(s.Key, s.Named) {
		return Usagef("%s: %q is not the name of %s, nor its last part", nothing, s.Named, name)
	}
	if s.Reason == "" {
		if s.Reason, err = o.Ask("Why, for the audit file: "); err != nil || s.Reason == "" {
			return Usagef("%s: no reason was given", nothing)
		}
	}
	if s.Ticket != nil && s.Ticket.Expired(time.Now()) {
		return fmt.Errorf("%s: the ticket has expired after %v, what it said may be wrong by now: begin anew", nothing, model.TicketLasts)
	}
	return nil
}
