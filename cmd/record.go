package cmd

import (
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed/cli"
	"ratescope/model/record"
	"ratescope/model/report"
)

// recording returns what all recordings of this run have in common.
func (p *program) recording(name string) cli.Recording {
	return cli.Recording{File: name, Header: record.Header{By: "ratescope " + report.Build(p.version), Watch: p.Flags.Watch, Rules: p.RuleTexts(), Mask: p.mask}}
}

func newRecord(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "record FILE",
		Short: "Keep what is seen in a file, without a screen",
		Long: "Watch as the dashboard does, at the same cost, and keep what is seen in a file for \"ratescope replay\". " +
			"A FILE that ends in .gz is compressed. It ends after --for, at --max-mb or with ctrl+c, and is readable as far as it " +
			"goes even when the machine goes down.\n\nIt holds the names of the keys, without their middle with --mask.",
		Example: "ratescope record incident.jsonl.gz --for 10m --redis redis://localhost:6379 --limit 100/1m",
	}
	for10 := c.Flags().Duration("for", 0, "how long to record, as in 10m (default: until ctrl+c)")
	c.Flags().Lookup("for").DefValue = "" // 0s would be told as the default
	mb := c.Flags().Int64("max-mb", cli.DefaultMaxBytes/1_000_000, "end when the file has so many million bytes")
	force := c.Flags().Bool("force", false, "write over a file that is there")
	return p.command(c, func(c *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return cli.Usagef("record needs one file and was given %d: name the file to write, as in incident.jsonl.gz", len(args))
		}
		r := p.recording(args[0])
		r.For, r.MaxBytes, r.Force, r.Progress = *for10, *mb*1_000_000, *force, term.IsTerminal(os.Stderr.Fd())
		if err := r.Check(); err != nil {
			return err
		}
		p.service = true
		src, err := p.open()
		if err != nil {
			return err
		}
		defer src.Close()
		return cli.Record(c.Context(), src, r, p.output(c))
	}, screenFlags, []string{"ascii", "allow-inject"})
}
