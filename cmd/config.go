package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/internal/file"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

func newConfig(p *program) *cobra.Command {
	c := helped("config")
	for name, f := range map[string]func(*program, *cobra.Command) error{
		"init": configInit, "check": configCheck, "path": configPath, "show": configShow,
	} {
		c.AddCommand(p.command(helped(name), no("name the file with --config"), func(c *cobra.Command, args []string) error {
			return f(p, c)
		}, []string{"config"}))
	}
	return p.command(c, several, func(c *cobra.Command, args []string) error {
		return usagef("config needs a command: use \"ratescope config init\", check, path or show")
	})
}

// newConfigPath returns where a configuration file is written: where --config says, or in the folder of the user, who may have none.
func newConfigPath(given string) (string, error) {
	switch {
	case given != "":
		return given, nil
	case os.Getenv("HOME") == "" && os.Getenv("XDG_CONFIG_HOME") == "":
		return "", usagef("HOME is not set, so that there is no folder for the configuration: name the file with --config")
	}
	return filepath.Join(xdg.ConfigHome, configFile), nil
}

func configInit(p *program, c *cobra.Command) error {
	path, err := newConfigPath(p.Config)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return usagef("%s is there already: edit it, or name another file with --config", safetext.Clean(path))
	}
	if err := file.Replace(path, nil, []byte(config.Example)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), path)
	return err
}

func configPath(p *program, c *cobra.Command) error {
	path := cmp.Or(p.Config, defaultConfigPath())
	if path == "" {
		var err error
		if path, err = newConfigPath(p.Config); err != nil {
			return err
		}
		fmt.Fprintln(c.ErrOrStderr(), "ratescope: the file is not there: write it with \"ratescope config init\"")
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), path)
	return err
}

func configShow(p *program, c *cobra.Command) error {
	loaded, _, err := configuration(p.Config)
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(loaded.Show())
	return err
}

// configCheck reads the file, and explains the rules with name. Where a server is named it says what each rule reads of
// keys that live there.
func configCheck(p *program, c *cobra.Command) error {
	loaded, path, err := configuration(p.Config)
	if wrong := config.Mistakes(nil); errors.As(err, &wrong) { // each on a line of its own, the last one by the error
		for _, one := range wrong[:len(wrong)-1] {
			fmt.Fprintln(c.ErrOrStderr(), "ratescope: "+safetext.Sentence(one.Error()))
		}
		err = usage(wrong[len(wrong)-1])
	}
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(loaded.Targets)) {
		if _, err := connect.Parse(loaded.Targets[name].Redis, connect.TLSFiles{}); err != nil {
			return usagef("%s: the target %s: %w", safetext.Clean(path), safetext.Clean(name), err)
		}
	}
	var b model.Batch
	live := len(p.Flags.URLs) > 0 || p.Target != ""
	if live {
		src, err := p.open()
		if err != nil {
			return err
		}
		defer src.Close()
		if b, err = feed.OnceWithin(c.Context(), src, feed.Bounds{}); err != nil {
			return exitError{exitNothing, err}
		}
	}
	w := c.OutOrStdout()
	fmt.Fprintf(w, "%s is valid: %s, %s, %s\n", safetext.Clean(path),
		format.Plural(len(loaded.Rules), "rule"), format.Plural(len(loaded.Targets), "target"), format.Plural(len(loaded.Alerts), "alert"))
	for i := range loaded.Rules {
		rule := &loaded.Rules[i]
		rows := rowsOf(loaded.Rules, i, b.Readings)
		if rule.Layout != nil {
			fmt.Fprintf(w, "rule %d, %s: %s\n", i+1, safetext.Clean(rule.Layout.Name.String()), rule.Layout.Explain())
		} else if live {
			fmt.Fprintf(w, "rule %d, %s\n", i+1, safetext.Clean(rule.Match))
		}
		for _, r := range rows[:min(len(rows), mostExamples)] {
			fmt.Fprintf(w, "  %s: %s\n", p.names.Name(r.Key).Clean(), figuresOf(&r, b, rule, p.names))
		}
		if live && len(rows) == 0 {
			fmt.Fprintln(w, "  no key that lives now has a row by it")
		}
	}
	return nil
}

// mostExamples is how many keys of a rule are shown.
const mostExamples = 3

// rowsOf returns the rows that are by the rule with an index.
func rowsOf(rules []config.Rule, i int, readings []model.Reading) []model.Reading {
	l := rules[i].Layout
	return collect.Only(readings, func(r model.Reading) bool {
		if l == nil {
			return config.RuleFor(rules, r.Key) == &rules[i] && r.Target.Evidence != model.Likely
		}
		return r.Pattern == l.Row.Glob() && (l.Label == "" || strings.HasSuffix(r.Key, ":"+l.Label))
	})
}

// figuresOf says what was read of a row, and of a name with a window which rule with name says so.
func figuresOf(r *model.Reading, b model.Batch, rule *config.Rule, names report.Options) (text string) {
	k := report.KeyOf(r, b.At, names)
	switch {
	case r.Err != "":
		return safetext.Clean(r.Err)
	case k.Used == nil:
		text = "what is used is not known"
	case k.Limit == nil:
		text = fmt.Sprintf("%d used", *k.Used)
	default:
		text = fmt.Sprintf("%d of %d used", *k.Used, *k.Limit)
	}
	if k.Next != nil && *k.Next > 0 {
		text += ", next in " + format.Span(time.Duration(*k.Next)*time.Millisecond)
	}
	for _, note := range k.Notes {
		text += ", " + note.Clean()
	}
	if rule.Layout == nil && slices.Contains(r.Notes, model.WindowNamed) {
		if e, _, ok := config.Named(r.Key, r.Pattern, rule.Span(), b.At); ok {
			text += fmt.Sprintf(", as in name: %q", safetext.Clean(e.Name))
		}
	}
	return text
}
