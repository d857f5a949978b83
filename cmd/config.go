package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"ratescope/feed/config"
	"ratescope/internal/file"
	"ratescope/model/safetext"
)

func newConfig(p *program) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Write, check, find and show the configuration file"}
	c.AddCommand(
		configCommand(p, "init", "Write a configuration to begin with",
			"Write a configuration file with every word explained, to --config or to the XDG config folder. A file that is there is not changed.",
			configInit),
		configCommand(p, "check", "Check the configuration file",
			"Read the configuration file as every command does, and say what is wrong with it: the line, the column, and what was probably meant. "+
				"Rules with name are explained; with --redis also what each rule reads of three keys that live there.",
			configCheck),
		configCommand(p, "path", "Print where the configuration file is",
			"Print the path of the configuration file that is read, or, when there is none, of the one that would be.", configPath),
		configCommand(p, "show", "Print the configuration file as it is understood",
			"Print the rules, targets and alerts of the configuration file as they are understood, without secrets.", configShow),
	)
	return p.command(c, several, func(c *cobra.Command, args []string) error {
		return usagef("config needs a command: use \"ratescope config init\", check, path or show")
	})
}

// configCommand returns a command about the configuration file. It takes no arguments.
func configCommand(p *program, name, short, long string, f func(*program, *cobra.Command) error) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Long: long, Example: "ratescope config " + name}
	return p.command(c, no("name the file with --config"), func(c *cobra.Command, args []string) error {
		return f(p, c)
	}, []string{"config"})
}

// errHomeless is the error of a user who has no folder for the configuration.
var errHomeless = usagef("HOME is not set, so that there is no folder for the configuration: name the file with --config")

// configInit writes a new file.
func configInit(p *program, c *cobra.Command) error {
	path := p.Config
	if path == "" {
		if os.Getenv("HOME") == "" && os.Getenv("XDG_CONFIG_HOME") == "" {
			return errHomeless
		}
		path = filepath.Join(xdg.ConfigHome, configFile)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return file.Unwritable(path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already: edit it, or name another file with --config", safetext.Clean(path))
	}
	if err == nil {
		_, err = f.WriteString(config.Example)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return file.Unwritable(path, err)
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), path)
	return err
}

// configPath prints where the file is.
func configPath(p *program, c *cobra.Command) error {
	path := p.Config
	if path == "" {
		path = defaultConfigPath()
	}
	if path == "" {
		if os.Getenv("HOME") == "" && os.Getenv("XDG_CONFIG_HOME") == "" {
			return errHomeless
		}
		path = filepath.Join(xdg.ConfigHome, configFile)
		fmt.Fprintln(c.ErrOrStderr(), "ratescope: the file is not there: write it with \"ratescope config init\"")
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), path)
	return err
}

// configShow prints the file as it is understood.
func configShow(p *program, c *cobra.Command) error {
	loaded, _, err := p.configuration()
	if err != nil {
		return err
	}
	text, err := loaded.Show()
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}
