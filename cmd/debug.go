package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ratescope/feed/cli"
	"ratescope/tui/shell"
)

// debugged runs a command with the debug log that --debug names, and says on standard error
// where the log is not whole.
func (p *program) debugged(c *cobra.Command, run func() error) error {
	if !c.Flags().Changed("debug") {
		return run()
	}
	if p.debug == "" {
		return cli.UsageError{Err: errors.New("--debug is empty: name the file to write to")}
	}
	log, err := cli.OpenDebugLog(p.debug)
	if err != nil {
		return err
	}
	p.debugLog, p.Flags.Trace = log, log.RoundTrip
	defer func() {
		if what := log.Close(); what != "" {
			fmt.Fprintln(c.ErrOrStderr(), "ratescope: "+what)
		}
	}()
	return run()
}

// timed returns what receives the times of a screen's messages; nil without a debug log.
func (p *program) timed() func(shell.Timing) {
	if p.debugLog == nil {
		return nil
	}
	return func(t shell.Timing) { p.debugLog.Message(t.Message, t.Update, t.View) }
}
