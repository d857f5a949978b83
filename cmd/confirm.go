package cmd

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

// concernsOf asks the server why it counts as one of production, a clause each; the embedded one
// does not.
func concernsOf(ctx context.Context, i *fire.Injector, batch model.Batch) []string {
	if batch.Server.Embedded {
		return nil
	}
	return i.Production(ctx)
}

// asks reports whether a person has to answer before the order.
func (o *orderOptions) asks(why []string) bool { return o.Ask != nil && len(why) > 0 }

// confirmUndo asks what confirm asks, before an action at a key is taken back. The command names no
// key, so that a script has to give it, too.
func (o *orderOptions) confirmUndo(why []string, key string) error {
	const nothing = "nothing is taken back"
	if o.Key != "" && !arming.Named(key, o.Key) {
		return usagef("%s: %q is not the name of what was fired at, nor its last part", nothing, o.Key)
	}
	if len(why) > 0 && o.Ask == nil && o.Key == "" {
		return usagef("%s: the server counts as production because %s, so give --key, what was fired at, and --reason", nothing, why[0])
	}
	s := model.Order{Key: key}
	err := o.confirm(why, "the server", &s, nothing)
	o.Reason = s.Reason
	return err
}

// confirm asks for what a server of production needs before an order, by why a clause each: at a
// terminal for the key's name, and for the reason where none was given. A script has named the key,
// and needs --reason. nothing begins the sentence that refuses.
func (o *orderOptions) confirm(why []string, server string, s *model.Order, nothing string) error {
	s.Reason = strings.TrimSpace(o.Reason)
	switch {
	case len(why) == 0:
		return nil
	case o.Ask == nil && s.Reason == "":
		return usagef("%s: %s counts as production because %s, so give --reason", nothing, server, why[0])
	case o.Ask == nil:
		return nil
	}
	name := safetext.Clean(s.Key)
	var err error
	if s.Named, err = o.Ask(fmt.Sprintf("%s counts as production because %s.\nThe key's name, or its last part, to go on at %s: ", server,
		strings.Join(why, "; "), name)); err != nil {
		return usagef("%s: no name was typed (%w)", nothing, err)
	}
	if !arming.Named(s.Key, s.Named) {
		return usagef("%s: %q is not the name of %s, nor its last part", nothing, s.Named, name)
	}
	if s.Reason == "" {
		if s.Reason, err = o.Ask("Why, for the audit file: "); err != nil || s.Reason == "" {
			return usagef("%s: no reason was given", nothing)
		}
	}
	if s.Ticket != nil && s.Ticket.Expired(time.Now()) {
		return fmt.Errorf("%s: the ticket has expired after %v, what it said may be wrong by now: begin anew", nothing, model.TicketLasts)
	}
	return nil
}
