package cmd

import (
	"github.com/spf13/cobra"
)

func newUndo(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "undo ID",
		Short: "Take back what was fired",
		Long: "Take back what one call of fire wrote, by the id at the end of its summary: every key is as it was before, with the " +
			"expiry that it had. It is refused where another program has written while it was fired or since, whose requests would be lost: --withdraw " +
			"leaves those, and takes off what was fired and still counts: members of a log by their instants, counts from their windows, and of streams, buckets and GCRA what must still be there. " +
			"Where no other program has written, that, too, leaves the keys and expiries as they were; else a log lives as long as its newest member lets it.\n\n" +
			"It needs --allow-inject, as firing does, and is in the audit file, too. A server that counts as production asks for the key's name and the reason; a script gives --key and --reason.",
		Example: "ratescope undo k3x9f2ab-1 --redis redis://localhost:6379 --allow-inject",
	}
	var reason string
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit file")
	key := c.Flags().String("key", "", "what was fired at, or its last part: a script has to say it where the server counts as production")
	withdraw := c.Flags().Bool("withdraw", false, "take what was fired off what the keys hold now, also where another program has written since")
	p.jsonFlag(c)
	return p.command(c, func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("undo needs one id and was given %d: fire prints it at the end of its summary", len(args))
		}
		src, err := p.open()
		if err != nil {
			return err
		}
		defer src.Close()
		return undoAction(c.Context(), src, args[0], orderOptions{Armed: p.armed(), Refused: p.refused(), Production: p.Named().Production, Withdraw: *withdraw, Key: *key, Reason: reason, Ask: question()}, p.output(c))
	}, screenFlags, keyFlags, []string{"ascii"})
}
