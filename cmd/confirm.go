package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// attempt is an order at one key on its way to the server: a request, or a change of the key.
type attempt struct {
	*orderOptions
	out      output
	injector *fire.Injector
	batch    model.Batch // of one reading of the key
	reading  model.Reading
	concerns []string // why the server counts as one of production, a clause each
	told     []string // lines about the ticket that are not printed yet
}

// begin reads the key of an order at the server that src watches, if the order may be carried out.
func (a *attempt) begin(ctx context.Context, src server, s *model.Order) (err error) {
	o := a.Guard
	o.Reason, o.Ready = a.Reason, a.announce
	a.injector = src.Injector(o)
	if err := a.injector.Armed(); err != nil {
		return err
	}
	if a.Guard.Production && a.Ask == nil && strings.TrimSpace(a.Reason) == "" {
		return usagef("%s: the configuration says production: true, so give --reason", s.Nothing())
	}
	return a.read(ctx, src, s.Key)
}

func (a *attempt) read(ctx context.Context, src server, key string) (err error) {
	if a.batch, a.reading, err = feed.ReadKey(ctx, src, key); err == nil {
		a.out.lacks(a.batch)
	}
	return err
}

// now returns the present instant by the server's clock.
func (a *attempt) now() limiter.Instant { return a.batch.At.Add(time.Since(a.batch.Local)) }

// issue works out the ticket of an order from the reading of its key.
func (a *attempt) issue(ctx context.Context, s *model.Order) (err error) {
	var board model.Board
	board.Apply(a.batch)
	now := a.now()
	issue := board.Key(s.Key).Ticket
	if s.Change.Kind != model.NoChange {
		issue = board.Key(s.Key).ChangeTicket
	}
	t := issue(*s, now)
	t.Issued, t.Server, t.Path, t.Keys, t.InSlot = time.Now(), a.batch.Server.Target, a.injector.Path(*s), a.injector.Keys(*s, now), -1
	if t.Commands, err = a.injector.Preview(ctx, *s); err != nil {
		return err
	}
	s.Ticket = &t
	if !a.batch.Server.Embedded {
		a.concerns = a.injector.Production(ctx)
	}
	a.told = a.words(s)
	return nil
}

// words returns the ticket of an order as lines of text.
func (a *attempt) words(s *model.Order) []string {
	name := func(key string) string { return a.out.Names.Name(key).Clean() }
	lines := append([]string{s.Title() + " at " + name(s.Key)},
		collect.Map(s.Ticket.Words(name, ""), func(w [2]string) string { return fmt.Sprintf("%-8s %s", w[0], w[1]) })...)
	if len(a.concerns) > 0 {
		lines = append(lines, "note     it counts as production: "+strings.Join(a.concerns, "; "))
	}
	return lines
}

// announce prints the ticket once, before anything is sent.
func (a *attempt) announce() {
	for _, l := range a.told {
		if !a.out.JSON {
			fmt.Fprintln(a.out.Err, "ratescope: "+safetext.Clean(l))
		}
	}
	a.told = nil
}

// agree asks for what a server of production needs before the order.
func (a *attempt) agree(s *model.Order) error {
	if a.Ask != nil && len(a.concerns) > 0 { // what the answer is about
		a.announce()
	}
	return a.confirm(a.concerns, a.batch.Server.Target, s, s.Nothing())
}

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
