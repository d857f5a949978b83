package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/feed/replay"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// fireAt fires at an application. If a key is named, it is read after the last request.
func fireAt(p *program, c *cobra.Command, args []string, web webCall, order model.Order, options orderOptions) error {
	if order.Cost != 1 {
		return usagef("--cost %d is not for --url: the application says what a request costs", order.Cost)
	}
	if err := misplaced(c, "--%s is for requests at a key: leave it out with --url", "create", "scratch", "shape", "phase", "from",
		"report"); err != nil {
		return err
	}
	if _, err := p.Loaded(); err != nil {
		return err
	}
	o := p.firing()
	o.Reason = options.Reason
	if len(args) == 0 {
		return fireURL(c.Context(), nil, web, order, o, p.output(c))
	}
	return p.key(c, args, func(src server, name string) error {
		order.Key = name
		return fireURL(c.Context(), src, web, order, o, p.output(c))
	})
}

// misplaced returns the error of text about the first of the flags that was given.
func misplaced(c *cobra.Command, text string, flags ...string) error {
	for _, name := range flags {
		if c.Flags().Changed(name) {
			return usagef(text, name)
		}
	}
	return nil
}

func newFire(p *program) *cobra.Command {
	c := helped("fire [KEY]")
	n := c.Flags().IntP("number", "n", 1, fmt.Sprintf("how many requests, 1 to %d", model.MaxRequests))
	cost := c.Flags().Int64("cost", 1, "cost of each request")
	var order orderOptions
	var web webCall
	c.Flags().BoolVar(&order.Create, "create", false, "create the key where it does not exist")
	c.Flags().BoolVar(&order.Scratch, "scratch", false,
		"fire at a copy of the key, KEY:scratch in its slot, which expires by itself: no user's request meets it")
	c.Flags().StringVar(&order.Reason, "reason", "", "why, for the audit file")
	c.Flags().StringVar(&web.URL, "url", "", "fire at an application instead of a key: http:// or https://")
	c.Flags().StringVarP(&web.Method, "request", "X", "", "method of the request to --url (default: GET, or POST with --body)")
	c.Flags().StringArrayVarP(&web.Headers, "header", "H", nil,
		"header of the request to --url, 'Name: value', may be repeated; @FILE has one a line")
	c.Flags().StringVar(&web.Body, "body", "", "file with the body of the request to --url; 1 MiB at most")
	c.Flags().StringVar(&order.Shape.Text, "shape", "even",
		"how the requests are spread over time: even, poisson, poisson:SEED, ramp:50/s:30s or on-off:2s:8s")
	c.Flags().StringVar(&order.Shape.Phase, "phase", "", "begin at this phase of the clock-aligned window, 0 to below 1")
	c.Flags().StringVar(&order.Shape.From, "from", "", "send the requests at the key that this recording holds, as they came")
	c.Flags().StringVar(&order.Report, "report", "", "file for a report of the forecast, what happened and what is left: .md or .json")
	rate := c.Flags().String("rate", "", "rate at which to fire, 5/s (default: as fast as the answers come)")
	p.jsonFlag(c)
	p.keyFlag(c)
	return p.command(c, several, func(c *cobra.Command, args []string) error {
		request, err := readOrder(*n, *cost, *rate, order.Shape)
		if order.Shape.From != "" {
			err = cmp.Or(misplaced(c, "--%s is what the recording says itself: leave it out with --from", "number", "rate", "shape"), err)
		}
		if err != nil {
			return err
		}
		if web.URL != "" {
			return fireAt(p, c, args, web, request, order)
		}
		if err := misplaced(c, "--%s is for requests to an application: give --url, too", "request", "header", "body"); err != nil {
			return err
		}
		return p.key(c, args, func(src server, name string) error {
			request.Key = name
			if p.allow && p.target.NoInject {
				return usagef("the target %s is not fired at: its configuration says inject: false", p.Target)
			}
			order.Guard, order.Ask = p.firing(), question(os.Stderr)
			return fireKey(c.Context(), src, request, order, p.output(c))
		})
	}, fireFlags)
}

// shapeFlags is how requests are spread over time, as its flags say it.
type shapeFlags struct {
	Text  string // as model.ParseShape reads it
	Phase string // of the window, "0" to below "1"; "" at once
	From  string // a recording whose requests at the key are sent again
}

// readOrder reads an order to fire n requests of a cost, at a rate such as 5/s or, with
// "", as fast as the answers come. The error is an error of usage.
func readOrder(n int, cost int64, rate string, shape shapeFlags) (s model.Order, err error) {
	s = model.Order{N: n, Cost: cost}
	if n == 0 { // with a rate that would be until stopped, which is for the screen
		return s, usagef("0 requests are out of range: give 1 to %d", model.MaxRequests)
	}
	if rate != "" {
		if s.Rate, err = model.ParseRate(rate); err != nil {
			return s, usage(err)
		}
	}
	if s.Shape, err = model.ParseShape(shape.Text); err != nil {
		return s, usage(err)
	}
	if p, err := strconv.ParseFloat(shape.Phase, 64); shape.Phase != "" && (err != nil || !(p >= 0 && p < 1)) {
		return s, usagef("--phase %q is out of range: give 0, the beginning of the window, to below 1", shape.Phase)
	}
	return s, usage(s.Check())
}

// orderOptions says how requests are fired beside what they are.
type orderOptions struct {
	Guard    fire.Options // whether firing at a server that is not embedded is allowed
	Withdraw bool         // of an undo: what was fired is taken off what the key holds
	Scratch  bool         // a copy of the key is fired at, which expires by itself
	Create   bool         // a key that does not exist may be created
	Key      string       // of an undo: what was fired at, where no person can be asked for it
	Reason   string       // why, for the audit file
	Shape    shapeFlags
	Report   string // a file for the report, .md or .json; "" none

	// Ask asks a question of the person at the terminal; nil where there is none.
	Ask func(question string) (string, error)
}

// fireKey fires s at its key, aimed by one reading of it, and prints the answers. src
// watches that key alone.
func fireKey(ctx context.Context, src server, s model.Order, order orderOptions, o output) error {
	if name := order.Report; name != "" && !strings.HasSuffix(name, ".md") && !strings.HasSuffix(name, ".json") {
		return usagef("--report %s has no form: name a file that ends in .md or .json", safetext.Clean(name))
	} else if name != "" { // before anything is sent
		if err := checkNew(name, false, "give another name"); err != nil {
			return err
		}
	}
	a := &attempt{orderOptions: &order, out: o}
	if err := a.begin(ctx, src, &s); err != nil {
		return err
	}
	if err := a.aim(&s); err != nil {
		return err
	}
	if err := a.shape(ctx, &s); err != nil {
		return err
	}
	if err := a.issue(ctx, &s); err != nil {
		return usagef("%s cannot be fired at: %w", safetext.Clean(s.Key), err)
	}
	account := newFireAccount(s.Key, o.Names)
	account.Issue(*s.Ticket, a.concerns, a.told, o.Names)
	if err := a.agree(&s); err != nil {
		return err
	}
	_, err := a.injector.Fire(ctx, s, func(f model.Fired) {
		if line := account.Add(f); !o.JSON {
			fmt.Fprintln(o.Out, line)
		}
	})
	return cmp.Or(ctx.Err(), account.conclude(err, nil, order.Report, o))
}

// aim fills in how the key of an order is limited, and whether a copy is fired at.
func (a *attempt) aim(s *model.Order) (err error) {
	r, name, where := &a.reading, safetext.Clean(s.Key), a.batch.Server
	switch s.Target, err = r.Aim(); {
	case r.Type == "none" && !a.Create && !where.Embedded:
		return usagef("there is no key %s at %s, and a request would create one: check the name, which has to be that of a Redis key and "+
			"not of a row with several, or give --create", name, where.Target)
	case err != nil:
		return usagef("%s cannot be fired at: %w", name, err)
	case r.Target.Algorithm == limiter.Unknown && !r.Target.Ruled && !where.Embedded: // Aim has chosen one
		return usagef("%s cannot be created: neither --algorithm nor a rule of the configuration says how it is limited: give "+
			"--algorithm, as in --algorithm sliding-log", name)
	case a.Scratch && r.Type == "none":
		return usagef("there is no key %s at %s, so that there is nothing to copy: check the name", name, where.Target)
	}
	s.Scratch = a.Scratch
	return nil
}

// shape fills in what of an order depends on a recording or on the instant.
func (a *attempt) shape(ctx context.Context, s *model.Order) (err error) {
	if a.Shape.From != "" {
		if s.Shape.At, err = recordedRequests(ctx, a.Shape.From, s.Key); err != nil {
			return err
		}
		s.Shape.Kind, s.N = model.Recorded, len(s.Shape.At)
	}
	if phase, err := strconv.ParseFloat(a.Shape.Phase, 64); err == nil {
		s.Shape.Wait = model.Lead(a.now(), s.Target.Window, phase)
	}
	return usage(s.Check())
}

// recordedRequests returns when requests came at a key in a recording, counted from its first one.
func recordedRequests(ctx context.Context, name, key string) ([]time.Duration, error) {
	rec, under, err := replay.Open(ctx, name)
	if err != nil {
		return nil, usage(err)
	}
	defer under.Close()
	at, err := replay.Requests(rec, key, model.MaxRequests)
	switch {
	case err != nil:
		return nil, usage(err)
	case len(at) == 0:
		return nil, usagef("%s has no request at %s: name a key that was recorded", safetext.Clean(name), safetext.Clean(key))
	}
	return at, nil
}

// webCall is a request to an application as its flags say it.
type webCall struct {
	URL, Method string
	Headers     []string // "Name: value", or "@FILE" with one of these a line
	Body        string   // a file
}

// read reads the files that the flags name. The error is an error of usage.
func (c *webCall) read() (fire.Call, error) {
	call := fire.Call{URL: c.URL, Method: c.Method}
	var fields []string
	for _, h := range c.Headers {
		name, isFile := strings.CutPrefix(h, "@")
		if !isFile {
			fields = append(fields, h)
			continue
		}
		text, err := file.Read(name)
		if err != nil {
			return call, usage(err)
		}
		lines := collect.Map(strings.Split(string(text), "\n"), strings.TrimSpace)
		fields = append(fields, collect.Only(lines, func(line string) bool { return line != "" })...)
	}
	var err error
	if call.Header, err = fire.ReadHeader(fields); err == nil && c.Body != "" {
		call.Body, err = file.Read(c.Body)
	}
	return call, usage(err)
}

// fireURL fires at an application and prints its answers and what they did not say as it was.
// Where src is not nil, it watches s.Key, which is read after the last request.
func fireURL(ctx context.Context, src server, c webCall, s model.Order, fo fire.Options, o output) error {
	call, err := c.read()
	if err != nil {
		return err
	}
	app, err := fire.NewApplication(fo, call)
	if err != nil {
		return usage(err)
	}
	defer app.Close()
	if err := app.Armed(); err != nil {
		return err
	}
	account := newFireAccount(cmp.Or(s.Key, app.Shown()), o.Names)
	account.URL, account.Method, account.Findings = report.Text(app.Shown()), report.Text(app.Method()), []headerFinding{}
	var list []model.Fired
	_, err = app.Fire(ctx, s, func(f model.Fired) {
		list = append(list, f)
		if line := account.Add(f); !o.JSON {
			fmt.Fprintln(o.Out, line)
		}
	})
	found := model.Findings(list)
	if src != nil && err == nil && ctx.Err() == nil {
		beside, readErr := compareReading(ctx, src, s.Key, list)
		found, err = append(found, beside...), readErr
	}
	return cmp.Or(ctx.Err(), account.conclude(err, account.Found(found), "", o))
}

// compareReading reads the key and compares it with the wait that the last answer announced.
func compareReading(ctx context.Context, src server, key string, list []model.Fired) ([]model.Finding, error) {
	batch, r, err := feed.ReadKey(ctx, src, key)
	if err != nil {
		return nil, err
	}
	g := r.Gauge(batch.At)
	if len(list) == 0 || !g.NextKnown || g.Next == limiter.Never {
		return nil, nil
	}
	last := slices.MaxFunc(list, func(a, b model.Fired) int { return a.Received.Compare(b.Received) })
	if last.Outcome != model.Denied || last.Answer == nil {
		return nil, nil
	}
	next := batch.Local.Sub(last.Received) + g.Next
	if g.Next == 0 && next < last.Answer.RetryAfter.D { // it admits already, since when is not known
		next = max(next, 0)
	}
	if f, differs := model.CompareNext(last.Answer.RetryAfter, next); differs {
		return []model.Finding{f}, nil
	}
	return nil, nil
}
