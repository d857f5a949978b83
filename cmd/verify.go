package cmd

import (
	"github.com/spf13/cobra"

	"ratescope/feed/cli"
)

func newVerify(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Run scenario files through the limiters",
		Long: "Run scenario files through the limiters and print what became of each, until the first mismatch, which makes the exit code 1. " +
			"What a store or this program cannot do is listed as such and never counted as passed.\n\n" +
			"On Redis every scenario writes keys of its own, under a prefix of this run alone, and removes them, which needs --allow-inject.",
		Example: "ratescope verify vectors.json --on memory,redis --redis redis://localhost:6379 --allow-inject",
	}
	on := c.Flags().StringSlice("on", []string{"memory"}, "stores to run on: memory, redis, or both as memory,redis")
	return p.command(c, func(c *cobra.Command, files []string) error {
		if err := p.ask(); err != nil {
			return err
		}
		o, err := p.Options()
		if err != nil {
			return err
		}
		return cli.Verify(c.Context(), files, *on, o, p.armed(), p.output(c))
	}, screenFlags, keyFlags, []string{"ascii", "mask"})
}
