package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratescope/feed/cli"
	"ratescope/feed/replay"
	"ratescope/tui"
)

func (p *program) replay() *cobra.Command {
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Show a recording again in the same screens",
		Long: "Show what \"ratescope record\" kept, in the screens of the dashboard and on the recording's own clock: pause, " +
			"go back and on, change the speed. No server is needed, and nothing can be fired. With --plain it is told in lines of text, from beginning to end.",
		Example: "ratescope replay incident.jsonl.gz --speed 2",
	}
	speed := c.Flags().Float64("speed", 1, "how many times as fast as it was, 0.1 to 1000")
	return p.command(c, func(c *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return cli.Usagef("replay needs one file and was given %d: name a recording", len(args))
		}
		file, under, err := replay.Open(c.Context(), args[0])
		if err != nil {
			return cli.UsageError{Err: err}
		}
		defer under.Close()
		if file.LeftOut > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "ratescope: %d lines of the recording cannot be read: what was seen from each of them to the next half minute is left out\n", file.LeftOut)
		}
		player, err := replay.New(file, *speed, p.lines())
		if err != nil {
			return cli.UsageError{Err: err}
		}
		return p.show(c.Context(), c, tui.Options{Take: player.Take, Focus: player.Focus, Injector: player, Player: player})
	}, serverFlags, keyFlags, []string{"allow-inject"})
}
