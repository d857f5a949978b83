package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratescope/feed/cli"
	"ratescope/model"
)

func (p *program) fire() *cobra.Command {
	c := &cobra.Command{
		Use:   "fire KEY",
		Short: "Fire synthetic requests at a key",
		Long: "Fire synthetic requests at a key and print the fate of each. Without --redis the embedded demo is hit; " +
			"any other server needs --allow-inject. Every request is in an audit file before it is sent, and again with its outcome; where that cannot be written nothing is fired.\n\n" +
			"What is fired at has to be a limiter: one whose library is known and written exactly, or one that a rule or --algorithm with --limit speaks of. " +
			"A key that does not exist needs --create and --limit, and becomes a sliding log unless --algorithm says otherwise. The summary ends with the id that undo takes.\n\n" +
			"Errors and requests without an answer are counted apart, and make the exit code 1.",
		Example: "ratescope fire rl:alice -n 200 --limit 100/10m --redis redis://localhost:6379 --allow-inject",
	}
	n := c.Flags().IntP("number", "n", 1, fmt.Sprintf("how many requests, 1 to %d", model.MaxRequests))
	cost := c.Flags().Int64("cost", 1, "cost of each request")
	var order cli.Order
	c.Flags().BoolVar(&order.Create, "create", false, "create the key where it does not exist")
	c.Flags().StringVar(&order.Reason, "reason", "", "why, for the audit file")
	rate := c.Flags().String("rate", "", "rate at which to fire, 5/s (default: as fast as the answers come)")
	p.jsonFlag(c)
	p.keyFlag(c)
	return p.command(c, func(c *cobra.Command, args []string) error {
		shot, err := cli.ReadShot(*n, *cost, *rate)
		if err != nil {
			return err
		}
		return p.key(c, args, func(src cli.Server, name string) error {
			shot.Key = name
			if p.allow && !p.armed() {
				return cli.Usagef("the target %s is not fired at: its configuration says inject: false", p.Target)
			}
			order.Armed = p.armed()
			return cli.Fire(c.Context(), src, shot, order, p.output(c))
		})
	}, screenFlags, []string{"ascii", "watch", "refresh"})
}
