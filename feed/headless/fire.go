package headless

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"ratescope/feed"
	"ratescope/feed/inject"
	"ratescope/feed/settings"
	"ratescope/model"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// ReadShot reads an order to fire n requests of a cost, at a rate such as 5/s or, with
// "", as fast as the answers come. The error is a settings.UsageError.
func ReadShot(n int, cost int64, rate string) (s model.Shot, err error) {
	s = model.Shot{N: n, Cost: cost}
	if n == 0 { // with a rate that would be until stopped, which is for the screen
		return s, settings.Usagef("0 requests are out of range: give 1 to %d", model.MaxRequests)
	}
	if rate != "" {
		if s.Rate, err = model.ParseRate(rate); err != nil {
			return s, settings.UsageError{Err: err}
		}
	}
	if err = s.Check(); err != nil {
		return s, settings.UsageError{Err: err}
	}
	return s, nil
}

// Fire fires s at its key, aimed by one reading of it, and prints the answers. src
// watches that key alone; armed allows firing at a server that is not embedded.
func Fire(ctx context.Context, src settings.Server, s model.Shot, armed bool, o Output) error {
	gun := src.Injector(inject.Options{Armed: armed})
	if err := gun.Armed(); err != nil {
		return err
	}
	_, r, err := feed.Glance(ctx, src, s.Key)
	if err != nil {
		return err
	}
	if s.Target, err = r.Aim(); err != nil {
		return settings.Usagef("%s cannot be fired at: %w", safetext.Clean(s.Key), err)
	}
	account := report.NewFire(s.Key, o.Names)
	_, err = gun.Fire(ctx, s, func(f model.Fired) {
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
