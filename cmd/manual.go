package cmd

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime/debug"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

func newManual(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "man",
		Short: "Print the manual page",
		Long: "Print the manual page of all commands, in the format of man(1). It is dated by the commit that the program was built " +
			"from, so that two builds of one commit print the same.",
		Example: "ratescope man > ratescope.1",
	}
	return p.command(c, no(""), func(c *cobra.Command, args []string) error {
		page, err := mango.NewManPage(1, c.Root())
		if err != nil {
			return fmt.Errorf("the manual page cannot be written: %w", err)
		}
		text := heading.ReplaceAllString(page.Build(roff.NewDocument()), `${1}"`+committed()+`"`)
		_, err = fmt.Fprintln(c.OutOrStdout(), text)
		return err
	})
}

// heading is the line of the page that has today's date.
var heading = regexp.MustCompile(`(?m)^(\.TH \S+ 1 )"[^"]*"`)

// committed returns the day of the commit that the program was built from; "" when the
// build does not say.
func committed() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			return s.Value[:min(len("2006-01-02"), len(s.Value))]
		}
	}
	return ""
}

// buildText is what --version says after the name: the version that the release was built
// with, or what the Go toolchain noted, and where it comes from.
func buildText(version string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(version, "of unknown origin")
	}
	details := info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			details = "commit " + s.Value[:min(12, len(s.Value))] + ", " + details
		}
	}
	return fmt.Sprintf("%s (%s)", cmp.Or(version, info.Main.Version, "devel"), details)
}
