package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/model"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// ReadShot reads an order to fire n requests of a cost, at a rate such as 5/s or, with
// "", as fast as the answers come. The error is a UsageError.
func ReadShot(n int, cost int64, rate string) (s model.Shot, err error) {
	s = model.Shot{N: n, Cost: cost}
	if n == 0 { // with a rate that would be until stopped, which is for the screen
		return s, Usagef("0 requests are out of range: give 1 to %d", model.MaxRequests)
	}
	if rate != "" {
		if s.Rate, err = model.ParseRate(rate); err != nil {
			return s, UsageError{Err: err}
		}
	}
	if err = s.Check(); err != nil {
		return s, UsageError{Err: err}
	}
	return s, nil
}

// Order says how requests are fired beside what they are.
type Order struct {
	Armed  bool   // firing at a server that is not embedded is allowed
	Create bool   // a key that does not exist may be created
	Reason string // why, for the audit file
}

// Fire fires s at its key, aimed by one reading of it, and prints the answers. src
// watches that key alone.
func Fire(ctx context.Context, src Server, s model.Shot, order Order, o Output) error {
	injector := src.Injector(fire.Options{Armed: order.Armed, Reason: order.Reason})
	if err := injector.Armed(); err != nil {
		return err
	}
	batch, r, err := feed.Glance(ctx, src, s.Key)
	if err != nil {
		return err
	}
	o.lacks(batch)
	if r.Type == "none" && !order.Create && !batch.Server.Embedded {
		return Usagef("there is no key %s at %s, and a request would create one: check the name, or give --create", safetext.Clean(s.Key), batch.Server.Target)
	}
	if s.Target, err = r.Aim(); err != nil {
		return Usagef("%s cannot be fired at: %w", safetext.Clean(s.Key), err)
	}
	account := report.NewFire(s.Key, o.Names)
	_, err = injector.Fire(ctx, s, func(f model.Fired) {
		if line := account.Add(f); !o.JSON {
			fmt.Fprintln(o.Out, line)
		}
	})
	if o.JSON {
		err = cmp.Or(err, account.JSON(o.Out))
	} else {
		fmt.Fprintln(o.Out, account.Total())
	}
	if trouble := account.Trouble(); err == nil && trouble != "" {
		err = errors.New(trouble)
	}
	return cmp.Or(ctx.Err(), err)
}

// Undo takes back what one order wrote, by its id, and prints what was done.
func Undo(ctx context.Context, src Server, id string, order Order, o Output) error {
	u, err := src.Injector(fire.Options{Armed: order.Armed, Reason: order.Reason}).Undo(ctx, id)
	if err != nil {
		return err
	}
	return o.print(report.UndoneOf(u.Action, u.Key, u.Requests, u.Restored, u.Removed, u.Expired, o.Names))
}
