package cmd

import (
	"github.com/spf13/cobra"

	"ratescope/feed/config"
)

func newAlert(p *program) *cobra.Command {
	c := &cobra.Command{Use: "alert", Short: "Test where alerts go"}
	c.AddCommand(newAlertTest(p))
	return p.command(c, several, func(c *cobra.Command, args []string) error {
		return usagef("alert needs a command: use \"ratescope alert test\"")
	})
}

func newAlertTest(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "test [NAME]",
		Short: "Deliver a made-up beginning and end of an alert",
		Long: "Deliver a made-up beginning and end of the alert of that name, or of all, to their webhooks, Alertmanagers and commands, and say " +
			"what became of each. No server is needed. The exit code is 1 when one was not delivered.",
		Example: "ratescope alert test throttled",
	}
	return p.command(c, arity{max: 1, what: "name"}, func(c *cobra.Command, args []string) error {
		loaded, _, err := p.configuration()
		if err != nil {
			return err
		}
		return tryAlerts(c.Context(), loaded, append(args, "")[0], p.output(c))
	}, []string{"config", "mask"})
}

// configuration returns the configuration of --config or of the XDG folders, whether a
// server is named or not, and its path.
func (p *program) configuration() (*config.Config, string, error) {
	path := p.Config
	if path == "" {
		path = defaultConfigPath()
	}
	if path == "" {
		return nil, "", usagef("there is no configuration file: write one with \"ratescope config init\", or name one with --config")
	}
	loaded, err := config.Load(path)
	if err != nil {
		return nil, "", usageError{Err: err}
	}
	return loaded, path, nil
}
