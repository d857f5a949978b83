package cmd

import (
	"github.com/spf13/cobra"

	"ratescope/feed/cli"
)

func (p *program) identify() *cobra.Command {
	var yaml bool
	c := &cobra.Command{
		Use:   "identify",
		Short: "Say which rate limiters live on a Redis",
		Long: "Look at every key once and say which rate limiters live there: by the pattern of their names, the library " +
			"whose layout they have, on what evidence, with which window and limit, where the limit was read, what the " +
			"library does not record, and the rule to add.\n\n" +
			"Nothing is written to Redis. --yaml prints the rules as a configuration file.",
		Example: "ratescope identify --redis redis://localhost:6379\n" +
			"ratescope identify --yaml --redis redis://localhost:6379 > config.yaml",
	}
	p.jsonFlag(c)
	c.Flags().BoolVar(&yaml, "yaml", false, "print the rules as a configuration file")
	return p.command(c, func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return cli.Usagef("identify takes no argument and was given %q: use --watch to say which keys", args[0])
		case yaml && p.json:
			return cli.Usagef("identify prints --json or --yaml: give one of the two")
		}
		src, err := p.open()
		if err != nil {
			return err
		}
		defer src.Close()
		return cli.Identify(c.Context(), src, yaml, p.output(c))
	}, screenFlags, []string{"ascii", "refresh", "allow-inject"})
}
