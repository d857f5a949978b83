package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratescope/feed/cli"
	"ratescope/feed/fire"
	"ratescope/model"
)

// fireAt fires at an application. If a key is named, it is read after the last request.
func fireAt(p *program, c *cobra.Command, args []string, web cli.Call, order model.Order, options cli.FireOptions) error {
	if order.Cost != 1 {
		return cli.Usagef("--cost %d is not for --url: the application says what a request costs", order.Cost)
	}
	for _, name := range []string{"create", "scratch", "shape", "phase", "from", "report"} {
		if c.Flags().Changed(name) {
			return cli.Usagef("--%s is for requests at a key: leave it out with --url", name)
		}
	}
	if _, err := p.Loaded(); err != nil {
		return err
	}
	o := fire.Options{Armed: p.armed(), Refused: p.refused(), Production: p.Named().Production, Reason: options.Reason}
	if len(args) == 0 {
		return cli.FireAt(c.Context(), nil, web, order, o, p.output(c))
	}
	return p.key(c, args, func(src cli.Server, name string) error {
		order.Key = name
		return cli.FireAt(c.Context(), src, web, order, o, p.output(c))
	})
}

func newFire(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "fire [KEY]",
		Short: "Fire synthetic requests at a key or an application",
		Long: "Fire synthetic requests at a key and print the fate of each. Without --redis the embedded demo is hit; " +
			"any other server needs --allow-inject. Every request is in an audit file before it is sent, and again with its outcome; where that cannot be written nothing is fired.\n\n" +
			"What is fired at has to be a limiter: one whose library is known and written exactly, or one that a rule or --algorithm with --limit speaks of. " +
			"A key that does not exist needs --create and --limit, and becomes a sliding log unless --algorithm says otherwise. The summary ends with the id that undo takes.\n\n" +
			"With --url an application is fired at over HTTP: 2xx is admitted, 429 and a 503 with Retry-After are denied, and anything else is an error; " +
			"redirects are not followed. What its Retry-After and RateLimit fields said is compared with what then happened, and, where a key is named, with the reading of that key. " +
			"An application that is not on this machine needs --reason. Values of headers and of the URL's query are in no output and in no audit line.\n\n" +
			"Errors and requests without an answer are counted apart, and make the exit code 1.",
		Example: "ratescope fire rl:alice -n 200 --limit 100/10m --redis redis://localhost:6379 --allow-inject",
	}
	n := c.Flags().IntP("number", "n", 1, fmt.Sprintf("how many requests, 1 to %d", model.MaxRequests))
	cost := c.Flags().Int64("cost", 1, "cost of each request")
	var order cli.FireOptions
	var web cli.Call
	c.Flags().BoolVar(&order.Create, "create", false, "create the key where it does not exist")
	c.Flags().BoolVar(&order.Scratch, "scratch", false, "fire at a copy of the key, KEY:scratch in its slot, which expires by itself: no user's request meets it")
	c.Flags().StringVar(&order.Reason, "reason", "", "why, for the audit file")
	c.Flags().StringVar(&web.URL, "url", "", "fire at an application instead of a key: http:// or https://")
	c.Flags().StringVarP(&web.Method, "request", "X", "", "method of the request to --url (default: GET, or POST with --body)")
	c.Flags().StringArrayVarP(&web.Headers, "header", "H", nil, "header of the request to --url, 'Name: value', may be repeated; @FILE has one a line")
	c.Flags().StringVar(&web.Body, "body", "", "file with the body of the request to --url; 1 MiB at most")
	c.Flags().StringVar(&order.Shape.Text, "shape", "even", "how the requests are spread over time: even, poisson, poisson:SEED, ramp:50/s:30s or on-off:2s:8s")
	c.Flags().StringVar(&order.Shape.Phase, "phase", "", "begin at this phase of the clock-aligned window, 0 to below 1")
	c.Flags().StringVar(&order.Shape.From, "from", "", "send the requests at the key that this recording holds, as they came")
	c.Flags().StringVar(&order.Report, "report", "", "file for a report of the forecast, what happened and what is left: .md or .json")
	rate := c.Flags().String("rate", "", "rate at which to fire, 5/s (default: as fast as the answers come)")
	p.jsonFlag(c)
	p.keyFlag(c)
	return p.command(c, func(c *cobra.Command, args []string) error {
		request, err := cli.ReadOrder(*n, *cost, *rate, order.Shape)
		if err != nil {
			return err
		}
		if web.URL != "" {
			return fireAt(p, c, args, web, request, order)
		}
		if err := web.Unused(); err != nil {
			return err
		}
		return p.key(c, args, func(src cli.Server, name string) error {
			request.Key = name
			if p.allow && !p.armed() {
				return cli.Usagef("the target %s is not fired at: its configuration says inject: false", p.Target)
			}
			order.Armed, order.Refused, order.Production, order.Ask = p.armed(), p.refused(), p.Named().Production, question()
			return cli.Fire(c.Context(), src, request, order, p.output(c))
		})
	}, screenFlags, []string{"ascii", "watch", "refresh"})
}
