package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed/connect"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

func newFree(p *program) *cobra.Command {
	return changeCommand(p, helped("free KEY"), 1, func([]string) (model.Change, error) { return model.Change{Kind: model.Free}, nil })
}

func newGive(p *program) *cobra.Command {
	return changeCommand(p, helped("give KEY [N]"), 2, func(rest []string) (model.Change, error) {
		c := model.Change{Kind: model.Give, Units: model.UsualGift}
		if len(rest) > 0 {
			n, err := strconv.ParseInt(rest[0], 10, 64)
			if err != nil {
				return c, usagef("give does not take %q: name a key and how many units, as in give rl:alice 20", rest[0])
			}
			c.Units = n
		}
		return c, nil
	})
}

func newBlock(p *program) *cobra.Command {
	c := helped("block KEY")
	lasts := c.Flags().Duration("for", 10*time.Minute, "how long, 1ms to 24h")
	return changeCommand(p, c, 1, func([]string) (model.Change, error) { return model.Change{Kind: model.Block, For: *lasts}, nil })
}

func newUnblock(p *program) *cobra.Command {
	end := model.Change{Kind: model.Unblock}
	return changeCommand(p, helped("unblock KEY"), 1, func([]string) (model.Change, error) { return end, nil })
}

// changeCommand completes a command that changes a key; read makes the change of the arguments after the
// key, of which there are at most so many with it.
func changeCommand(p *program, c *cobra.Command, most int, read func(rest []string) (model.Change, error)) *cobra.Command {
	var order orderOptions
	c.Long += "\n\n" + helped("free, give, block, unblock").Long
	c.Flags().StringVar(&order.Reason, "reason", "", "why, for the audit file")
	lines := c.Flags().Bool("lines", false, "write nothing, and print the lines of redis-cli")
	p.jsonFlag(c)
	p.keyFlag(c)
	return p.command(c, several, func(c *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) > most {
			return p.key(c, args, nil) // says what is wrong
		}
		change, err := read(args[1:])
		if err != nil {
			return err
		}
		return p.key(c, args[:1], func(src server, name string) error {
			order.Guard, order.Ask = p.firing(), question(os.Stderr)
			return changeKey(c.Context(), src, model.Order{Key: name, Change: change}, order, *lines, p.output(c))
		})
	}, fireFlags)
}

// changeKey makes a change to one key, with the ticket before it and the account after it. With lines
// it writes nothing, and prints the lines of redis-cli that make the change by hand. src watches
// that key alone.
func changeKey(ctx context.Context, src server, s model.Order, order orderOptions, lines bool, o output) error {
	if err := s.Change.Check(); err != nil {
		return usage(err)
	}
	a := &attempt{orderOptions: &order, out: o}
	begin := a.begin
	if lines {
		begin = func(ctx context.Context, src server, s *model.Order) error { return a.read(ctx, src, s.Key) }
	}
	if err := begin(ctx, src, &s); errors.Is(err, connect.ErrReadOnly) {
		return fmt.Errorf("%w; --lines prints the lines of redis-cli instead", err)
	} else if err != nil {
		return err
	}
	r, name := &a.reading, safetext.Clean(s.Key)
	if r.Type == "none" && r.State.BlockedUntil == 0 && s.Change.Kind != model.Block {
		return usagef("there is no key %s at %s, so that there is nothing to change: check the name", name, a.batch.Server.Target)
	}
	var err error
	s.Target, err = r.AimChange(s.Change)
	kind := s.Change.Kind
	if foreign := r.Target.Foreign(); err != nil && lines &&
		(foreign && kind == model.Give || (foreign || r.Target.Described) && kind == model.Free) {
		s.Target, err = r.Target, nil // what is printed is in the terms of its own program
	}
	if err == nil && lines {
		r.Target = s.Target
		_, err := fmt.Fprint(o.Out, report.ChangeLines(r, a.batch.Server, s.Change, a.now()))
		return err
	}
	if err == nil {
		err = a.issue(ctx, &s)
	}
	if err != nil {
		return usagef("%s cannot be changed: %w", name, err)
	}
	account := changeOf(*s.Ticket, a.concerns, o.Names)
	if err := a.agree(&s); err != nil {
		return err
	}
	done, err := a.injector.Change(ctx, s)
	account.Done(done)
	if done.Action == "" {
		return err
	}
	return cmp.Or(ctx.Err(), err, o.print(account))
}

// changeAccount is what was done to one key instead of firing requests at it.
type changeAccount struct {
	ID       string        `json:"id"` // of the action in the audit file, which undo takes; "" where nothing was written
	Key      report.Text   `json:"key"`
	Change   string        `json:"change"`
	At       int64         `json:"at_ms"` // of the server's clock, of the forecast
	Before   *keyStanding  `json:"before"`
	Forecast *keyStanding  `json:"forecast"` // how it stands afterwards, if no other client sends a request
	Commands []report.Text `json:"commands"`
	Notes    []string      `json:"notes"`
	Units    *int64        `json:"units,omitempty"` // given
	Limit    string        `json:"limit,omitempty"` // what is changed of a limit that its library keeps in Redis
	Removed  []report.Text `json:"removed"`
	Written  []report.Text `json:"written"`

	names report.Options
}

// keyStanding is how a key stands at one instant. Waits are in milliseconds, -1 is never.
type keyStanding struct {
	Used      int64  `json:"used"`
	Remaining int64  `json:"remaining"`
	Next      *int64 `json:"next_admission_ms"`
	AsNew     *int64 `json:"as_new_ms"`
	Blocked   int64  `json:"blocked_ms"`
}

// changeOf is the account of a change that is about to be made, by its ticket; concerns are why the server
// counts as one of production.
func changeOf(t model.Ticket, concerns []string, o report.Options) *changeAccount {
	c := &changeAccount{
		Key: o.Name(t.Order.Key), Change: t.Order.Change.String(), At: t.At.Millis(), Before: standing(&t.Was), Forecast: standing(&t.Will),
		Commands: commandsOf(&t, o), Notes: []string{}, names: o,
	}
	if t.Raise != nil {
		c.Limit = t.Raise.String()
	}
	if t.Unheeded {
		c.Notes = append(c.Notes, "only a limiter that was made with a Block looks for this, and this key was never seen blocked: see "+
			"whether its application denies, and else fire at it until it is full")
	}
	if len(concerns) > 0 {
		c.Notes = append(c.Notes, "it counts as production: "+strings.Join(concerns, "; "))
	}
	return c
}

func standing(g *model.Gauge) *keyStanding {
	if !g.Whole() {
		return nil
	}
	return &keyStanding{g.Used.N, g.Remaining.N, new(report.Millis(g.Next)), new(report.Millis(g.AsNew())), g.BlockedFor.Milliseconds()}
}

// Done enters what came of the change.
func (c *changeAccount) Done(d model.Changed) {
	c.ID = d.Action
	c.Removed, c.Written = c.names.List(d.Removed), c.names.List(d.Written)
	if strings.HasPrefix(c.Change, "give") {
		c.Units = &d.Units
	}
	c.Notes = append(c.Notes, collect.Map(d.Unsaved, func(why string) string {
		return "this cannot be undone, what it removed was not saved: " + why
	})...)
}

func (c *changeAccount) String() string {
	what := format.Plural(len(c.Removed), "key") + " removed"
	switch {
	case c.Limit != "":
		what = c.Limit
	case c.Units != nil:
		what = format.Plural(int(*c.Units), "unit") + " given"
	case len(c.Written) > 0:
		what = "blocked"
		if c.Forecast != nil {
			what += " until " + report.Instant(c.At+c.Forecast.Blocked)
		}
	case len(c.Removed) == 0:
		what = "there was nothing to remove"
	}
	return fmt.Sprintf("%s: %s, %s · id %s\n", c.Key.Clean(), c.Change, strings.Join(append([]string{what}, c.Notes...), "; "), c.ID)
}
