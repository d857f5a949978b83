package cmd

import (
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed/cli"
)

func newSnapshot(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Read every watched key once and print it",
		Long: "Read every watched key once and print it: an aligned table, or one JSON object with --json.\n\n" +
			"What is not known is – in the table and null in the JSON. Nothing is written.\n\n" +
			"The exit code is 3 when a key is at or above --fail-over, and 4 when nothing could be read.",
		Example: "ratescope snapshot --json --redis redis://localhost:6379 --watch 'rl:*' --limit 100/1m",
	}
	p.jsonFlag(c)
	var s cli.Snapshot
	c.Flags().DurationVar(&s.For, "for", 0, "how long to look for keys at most, as in 30s (default: until all were seen)")
	c.Flags().Lookup("for").DefValue = "" // 0s would be shown as the default
	c.Flags().Float64Var(&s.FailOver, "fail-over", 0, "exit with code 3 when a key is at or above this part of its limit, as in 0.9")
	c.Flags().Lookup("fail-over").DefValue = ""
	likely := c.Flags().Bool("likely", false, "list keys, too, that are limiters by their value and behaviour but not by their name, marked ~")
	return p.command(c, func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.Usagef("snapshot takes no argument and was given %q: use --watch to say which keys", args[0])
		}
		s.Fails = c.Flags().Changed("fail-over")
		if err := s.Check(); err != nil {
			return err
		}
		src, err := p.open()
		if err != nil {
			return err
		}
		defer src.Close()
		s.Progress = term.IsTerminal(os.Stderr.Fd())
		o := p.output(c)
		o.Names.Likely = *likely
		return s.Print(c.Context(), src, o)
	}, screenFlags, []string{"ascii", "refresh", "allow-inject"})
}
