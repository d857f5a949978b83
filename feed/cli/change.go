package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"ratescope/feed"
	"ratescope/model"
	"ratescope/model/rediscli"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// Change makes a change to one key, with the ticket before it and the account after it. With lines
// it writes nothing, and prints the lines of redis-cli that make the change by hand. src watches
// that key alone.
func Change(ctx context.Context, src Server, s model.Order, order FireOptions, lines bool, o Output) error {
	if err := s.Change.Check(); err != nil {
		return UsageError{Err: err}
	}
	var account *report.Change
	told := false
	fo := order.options()
	fo.Ready = func() {
		if !o.JSON && !told {
			o.announce(account)
		}
	}
	injector := src.Injector(fo)
	if err := injector.Armed(); err != nil && !lines {
		return fmt.Errorf("%w; --lines prints the lines of redis-cli instead", err)
	}
	if order.Production && order.Ask == nil && strings.TrimSpace(order.Reason) == "" && !lines {
		return Usagef("nothing is changed: the configuration says production: true, so give --reason")
	}
	batch, r, err := feed.ReadKey(ctx, src, s.Key)
	if err != nil {
		return err
	}
	o.lacks(batch)
	if r.Type == "none" && r.State.BlockedUntil == 0 && s.Change.Kind != model.Block {
		return Usagef("there is no key %s at %s, so that there is nothing to change: check the name", safetext.Clean(s.Key), batch.Server.Target)
	}
	s.Target, err = r.AimChange(s.Change)
	if err != nil && lines && r.Target.Foreign() && (s.Change.Kind == model.Give || s.Change.Kind == model.Free) {
		s.Target, err = r.Target, nil // what is printed is in that library's own terms
	}
	if err != nil {
		return Usagef("%s cannot be changed: %w", safetext.Clean(s.Key), err)
	}
	now := batch.At.Add(time.Since(batch.Local))
	if lines {
		r.Target = s.Target
		_, err := fmt.Fprint(o.Out, rediscli.For(&r, batch.Server, s.Change, now))
		return err
	}
	var board model.Board
	board.Apply(batch)
	t := board.Key(s.Key).ChangeTicket(s, now)
	t.Issued, t.Server, t.Path, t.Keys = time.Now(), batch.Server.Target, injector.Path(s), injector.Keys(s, now)
	if t.Commands, err = injector.Preview(ctx, s); err != nil {
		return Usagef("%s cannot be changed: %w", safetext.Clean(s.Key), err)
	}
	s.Ticket = &t
	found := concernsOf(ctx, injector, batch)
	account = report.ChangeOf(t, changeNotes(found, &r, s), o.Names)
	if order.asks(found) { // what the answer is about
		o.announce(account)
		told = true
	}
	if err := order.confirm(found, batch.Server.Target, &s, "nothing is changed"); err != nil {
		return err
	}
	done, err := injector.Change(ctx, s)
	account.Done(done)
	if done.Action == "" {
		return err
	}
	return cmp.Or(ctx.Err(), err, o.print(account))
}

// announce prints a ticket before its change is made.
func (o Output) announce(account *report.Change) {
	for _, l := range account.Lines() {
		fmt.Fprintln(o.Err, "ratescope: "+safetext.Clean(l))
	}
}

// changeNotes are what a person has to know beside the figures of a ticket.
func changeNotes(concerns []string, r *model.Reading, s model.Order) (notes []string) {
	if s.Change.Kind == model.Block && !r.ObeysBlock() {
		notes = append(notes, "only a limiter that was made with a Block looks for this, and this key was never seen blocked: see whether its application denies, and else fire at it until it is full")
	}
	if len(concerns) > 0 {
		notes = append(notes, "it counts as production: "+strings.Join(concerns, "; "))
	}
	return notes
}
