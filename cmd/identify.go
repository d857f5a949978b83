package cmd

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed/cli"
	"ratescope/model/safetext"
)

// identifyFlags are the flags of identify alone.
type identifyFlags struct {
	yaml, write, yes bool
	watched          time.Duration
}

func newIdentify(p *program) *cobra.Command {
	var f identifyFlags
	c := &cobra.Command{
		Use:   "identify",
		Short: "Say which rate limiters live on a Redis",
		Long: "Look at every key once and say which rate limiters live there: by the pattern of their names, the library " +
			"whose layout they have, on what evidence, with which window and limit, where the limit was read, what the " +
			"library does not record, and the rule to add.\n\n" +
			"Nothing is written to Redis. --yaml prints the rules as a configuration file. --write adds them to the " +
			"configuration file, --config or the one in the XDG config folder: it prints the difference, and at a terminal " +
			"asks before it writes, unless --yes is given. What stands in the file stays as it is, and its rules win.",
		Example: "ratescope identify --redis redis://localhost:6379\n" +
			"ratescope identify --yaml --redis redis://localhost:6379 > config.yaml\n" +
			"ratescope identify --write --redis redis://localhost:6379",
	}
	p.jsonFlag(c)
	c.Flags().BoolVar(&f.yaml, "yaml", false, "print the rules as a configuration file")
	c.Flags().BoolVar(&f.write, "write", false, "add the rules to the configuration file, after showing the difference")
	c.Flags().BoolVar(&f.yes, "yes", false, "with --write: write without asking")
	c.Flags().DurationVar(&f.watched, "for", 0, "how long to watch, as in 5m: what is only likely tells its window and limit by how it changes")
	c.Flags().Lookup("for").DefValue = "" // 0s would be shown as the default
	return p.command(c, func(c *cobra.Command, args []string) error { return runIdentify(p, c, args, f) }, screenFlags, []string{"ascii", "refresh", "allow-inject"})
}

func runIdentify(p *program, c *cobra.Command, args []string, f identifyFlags) error {
	switch {
	case len(args) > 0:
		return cli.Usagef("identify takes no argument and was given %q: use --watch to say which keys", args[0])
	case f.yaml && p.json || f.yaml && f.write || p.json && f.write:
		return cli.Usagef("identify prints --json or --yaml, or adds the rules with --write: give one of the three")
	case f.watched < 0:
		return cli.Usagef("--for %v is out of range: give a duration, as in 5m", f.watched)
	case f.yes && !f.write:
		return cli.Usagef("--yes answers the question of --write: give both")
	case f.write && p.mask:
		return cli.Usagef("--mask hides the names that --write writes into the rules: leave out one of the two")
	}
	path := ""
	if f.write {
		var err error
		if path, err = writtenConfig(p); err != nil {
			return err
		}
		p.NewConfig = true
	}
	src, err := p.open()
	if err != nil {
		return err
	}
	defer src.Close()
	switch o := p.output(c); {
	case f.write:
		return cli.IdentifyWrite(c.Context(), src, f.watched, path, f.question(c, path), o)
	case f.yaml:
		return cli.IdentifyYAML(c.Context(), src, f.watched, o)
	default:
		return cli.Identify(c.Context(), src, f.watched, o)
	}
}

// writtenConfig returns the file that --write adds to, whether it is there or not.
func writtenConfig(p *program) (string, error) {
	switch {
	case p.Config != "":
		return p.Config, nil
	case len(p.Flags.URLs) == 0 && len(p.Environment.URLs) == 0 && p.Target == "":
		return "", cli.Usagef("the embedded Redis of the demo needs no rules: name your server with --redis, or the file to write with --config")
	}
	if path := p.ConfigPath(); path != "" {
		return path, nil
	}
	if os.Getenv("HOME") == "" && os.Getenv("XDG_CONFIG_HOME") == "" {
		return "", cli.Usagef("HOME is not set, so that there is no folder for the configuration: name the file with --config")
	}
	return filepath.Join(xdg.ConfigHome, cli.ConfigFile), nil
}

// question returns the function that asks the user whether to write, nil where no user is asked: --yes was given,
// or there is no terminal, so that --write itself is the answer.
func (f identifyFlags) question(c *cobra.Command, path string) func() (bool, error) {
	if f.yes || !term.IsTerminal(os.Stdin.Fd()) || !term.IsTerminal(os.Stdout.Fd()) {
		return nil
	}
	return func() (bool, error) {
		fmt.Fprintf(c.ErrOrStderr(), "Write this to %s? [y/N] ", safetext.Clean(path))
		answer, err := bufio.NewReader(c.InOrStdin()).ReadString('\n')
		answer = strings.ToLower(strings.TrimSpace(answer))
		if yes := answer == "y" || answer == "yes"; yes || err != nil && answer != "" {
			return yes, nil
		}
		fmt.Fprintln(c.ErrOrStderr(), "ratescope: nothing was written")
		return false, nil
	}
}
