package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/feed/replay"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// Shape is how requests are spread over time, as its flags say it.
type Shape struct {
	Text  string // as model.ParseShape reads it
	Phase string // of the window, "0" to below "1"; "" at once
	From  string // a recording whose requests at the key are sent again
}

// ReadOrder reads an order to fire n requests of a cost, at a rate such as 5/s or, with
// "", as fast as the answers come. The error is a UsageError.
func ReadOrder(n int, cost int64, rate string, shape Shape) (s model.Order, err error) {
	s = model.Order{N: n, Cost: cost}
	if n == 0 { // with a rate that would be until stopped, which is for the screen
		return s, Usagef("0 requests are out of range: give 1 to %d", model.MaxRequests)
	}
	if rate != "" {
		if s.Rate, err = model.ParseRate(rate); err != nil {
			return s, UsageError{Err: err}
		}
	}
	if s.Shape, err = model.ParseShape(shape.Text); err != nil {
		return s, UsageError{Err: err}
	}
	if p, err := strconv.ParseFloat(shape.Phase, 64); shape.Phase != "" && (err != nil || !(p >= 0 && p < 1)) {
		return s, Usagef("--phase %q is out of range: give 0, the beginning of the window, to below 1", shape.Phase)
	}
	if err = s.Check(); err != nil {
		return s, UsageError{Err: err}
	}
	return s, nil
}

// FireOptions says how requests are fired beside what they are.
type FireOptions struct {
	Armed      bool   // firing at a server that is not embedded is allowed
	Refused    string // the remedy where it is not; "" names the flag
	Production bool   // the configuration calls the server one of production
	Withdraw   bool   // of an undo: what was fired is taken off what the key holds
	Scratch    bool   // a copy of the key is fired at, which expires by itself
	Create     bool   // a key that does not exist may be created
	Key        string // of an undo: what was fired at, where no person can be asked for it
	Reason     string // why, for the audit file
	Shape      Shape
	Report     string // a file for the report, .md or .json; "" none

	// Ask asks a question of the person at the terminal; nil where there is none.
	Ask func(question string) (string, error)
}

// options returns what an injector needs of the order.
func (o *FireOptions) options() fire.Options {
	return fire.Options{Armed: o.Armed, Refused: o.Refused, Production: o.Production, Reason: o.Reason}
}

// Fire fires s at its key, aimed by one reading of it, and prints the answers. src
// watches that key alone.
func Fire(ctx context.Context, src Server, s model.Order, order FireOptions, o Output) error {
	account := report.NewFire(s.Key, o.Names)
	var foretold []string
	fo := order.options()
	fo.Ready = func() {
		for _, l := range foretold {
			if !o.JSON {
				fmt.Fprintln(o.Err, "ratescope: "+safetext.Clean(l))
			}
		}
	}
	injector := src.Injector(fo)
	if err := injector.Armed(); err != nil {
		return err
	}
	if order.Production && order.Ask == nil && strings.TrimSpace(order.Reason) == "" {
		return Usagef("nothing is fired: the configuration says production: true, so give --reason")
	}
	if err := reportable(order.Report); err != nil {
		return err
	}
	batch, r, err := feed.ReadKey(ctx, src, s.Key)
	if err != nil {
		return err
	}
	o.lacks(batch)
	if r.Type == "none" && !order.Create && !batch.Server.Embedded {
		return Usagef("there is no key %s at %s, and a request would create one: check the name, which has to be that of a Redis key and not of a row with several, or give --create", safetext.Clean(s.Key), batch.Server.Target)
	}
	if s.Target, err = r.Aim(); err != nil {
		return Usagef("%s cannot be fired at: %w", safetext.Clean(s.Key), err)
	}
	if r.Target.Algorithm == limiter.Unknown && !r.Target.Ruled && !batch.Server.Embedded { // Aim has chosen one
		return Usagef("%s cannot be created: neither --algorithm nor a rule of the configuration says how it is limited: give --algorithm, as in --algorithm sliding-log", safetext.Clean(s.Key))
	}
	if s.Scratch = order.Scratch; s.Scratch && r.Type == "none" {
		return Usagef("there is no key %s at %s, so that there is nothing to copy: check the name", safetext.Clean(s.Key), batch.Server.Target)
	}
	ticket, err := issue(ctx, injector, batch, &s, order.Shape)
	if err != nil {
		return err
	}
	s.Ticket = &ticket
	found := concernsOf(ctx, injector, batch)
	foretold = account.Issue(ticket, found, o.Names)
	if order.asks(found) { // what the answer is about
		fo.Ready()
		foretold = nil
	}
	if err := order.confirm(found, batch.Server.Target, &s, "nothing is fired"); err != nil {
		return err
	}
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
	if order.Report != "" {
		err = cmp.Or(err, writeReport(account, order.Report))
	}
	if trouble := account.Trouble(); err == nil && trouble != "" {
		err = errors.New(trouble)
	}
	return cmp.Or(ctx.Err(), err)
}

// issue works out the ticket of an order from one reading of its key, and fills in what of the
// order depends on the instant.
func issue(ctx context.Context, i *fire.Injector, batch model.Batch, s *model.Order, shape Shape) (model.Ticket, error) {
	now := batch.At.Add(time.Since(batch.Local))
	if shape.From != "" {
		var err error
		if s.Shape.At, err = Recorded(ctx, shape.From, s.Key); err != nil {
			return model.Ticket{}, err
		}
		s.Shape.Kind, s.N, s.Rate = model.Recorded, len(s.Shape.At), 0
	}
	if phase, err := strconv.ParseFloat(shape.Phase, 64); err == nil {
		s.Shape.Wait = model.Lead(now, s.Target.Window, phase)
	}
	if err := s.Check(); err != nil {
		return model.Ticket{}, UsageError{Err: err}
	}
	var board model.Board
	board.Apply(batch)
	t := board.Key(s.Key).Ticket(*s, now)
	t.Issued, t.Server, t.Path = time.Now(), batch.Server.Target, i.Path(*s)
	t.Keys = i.Keys(*s, now)
	var err error
	if t.Commands, err = i.Preview(ctx, *s); err != nil {
		return t, Usagef("%s cannot be fired at: %w", safetext.Clean(s.Key), err)
	}
	return t, nil
}

// Recorded returns when requests came at a key in a recording, counted from its first one.
func Recorded(ctx context.Context, name, key string) ([]time.Duration, error) {
	rec, under, err := replay.Open(ctx, name)
	if err != nil {
		return nil, UsageError{Err: err}
	}
	defer under.Close()
	at, err := replay.Requests(rec, key, model.MaxRequests)
	switch {
	case err != nil:
		return nil, UsageError{Err: err}
	case len(at) == 0:
		return nil, Usagef("%s has no request at %s: name a key that was recorded", safetext.Clean(name), safetext.Clean(key))
	}
	return at, nil
}

// reportable says what is wrong with the name of a report.
func reportable(name string) error {
	if name == "" || strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".json") {
		return nil
	}
	return Usagef("--report %s has no form: name a file that ends in .md or .json", safetext.Clean(name))
}

// writeReport writes the report of an order into a new file.
func writeReport(account *report.Fire, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("the report is not written: %w", file.Unwritable(name, err))
	}
	print := account.Markdown
	if strings.HasSuffix(name, ".json") {
		print = account.JSON
	}
	return cmp.Or(print(f), f.Close())
}

// Undo takes back what one order wrote, by its id, and prints what was done.
func Undo(ctx context.Context, src Server, id string, order FireOptions, o Output) error {
	injector := src.Injector(order.options())
	key, err := injector.KeyOf(id)
	if err != nil {
		return err
	}
	if err := order.confirmUndo(injector.Production(ctx), key); err != nil {
		return err
	}
	injector = src.Injector(order.options()) // with the reason that was typed
	undo := injector.Undo
	if order.Withdraw {
		undo = injector.Withdraw
	}
	u, err := undo(ctx, id)
	if err != nil {
		return err
	}
	r := report.UndoneOf(u.Action, u.Key, u.Requests, u.Restored, u.Removed, u.Expired, o.Names)
	r.Change = u.Change
	if u.Lowered != nil {
		r.Lowered = u.Lowered.String()
	}
	if u.Withdrawn {
		r.Withdrawn = &u.Units
	}
	return o.print(r)
}
