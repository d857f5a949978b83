package cmd

import (
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/limiter"
	"ratescope/model/lab/accuracy"
)

func newAccuracy(p *program) *cobra.Command {
	c := helped("accuracy")
	trace := c.Flags().String("trace", "", "recording, or access log in Common Log Format; a source is a key, or a remote host")
	seed := c.Flags().Uint64("seed", accuracy.DefaultSeed, "the seed of the traffic that is made up")
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	return p.command(c, no("use --trace for a file"), func(c *cobra.Command, args []string) (err error) {
		o := accuracy.Options{Seed: *seed}
		if p.Override.Limit != "" {
			if o.Limit, err = limiter.ParseLimit(p.Override.Limit); err != nil {
				return usage(err)
			}
		}
		if o.Trace, err = traceOf(*trace); err != nil {
			return err
		}
		if term.IsTerminal(os.Stderr.Fd()) {
			o.Progress = accuracy.Bar(c.ErrOrStderr(), p.look.ascii)
		}
		measured, err := accuracy.Measure(c.Context(), o)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return accuracy.PrintJSON(c.OutOrStdout(), measured)
		}
		return accuracy.Print(c.OutOrStdout(), measured, p.look.ascii)
	}, []string{"limit", "ascii"})
}
