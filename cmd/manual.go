package cmd

import (
	"cmp"
	"fmt"
	"runtime/debug"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"ratescope/model/collect"
)

func newManual(p *program) *cobra.Command {
	c := helped("man")
	return p.command(c, no(""), func(c *cobra.Command, args []string) error {
		page, err := mango.NewManPage(1, c.Root())
		if err != nil {
			return fmt.Errorf("the manual page cannot be written: %w", err)
		}
		day := built("vcs.time")
		text := heading().ReplaceAllString(page.Build(roff.NewDocument()), `${1}"`+day[:min(len("2006-01-02"), len(day))]+`"`)
		_, err = fmt.Fprintln(c.OutOrStdout(), text)
		return err
	})
}

// heading is the line of the page that has today's date.
var heading = collect.Regexp(`(?m)^(\.TH \S+ 1 )"[^"]*"`)

// built returns what the build says of itself under a name, such as that of the commit; "" when it does not say.
func built(name string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == name {
				return s.Value
			}
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
	if commit := built("vcs.revision"); commit != "" {
		details = "commit " + commit[:min(12, len(commit))] + ", " + details
	}
	return fmt.Sprintf("%s (%s)", cmp.Or(version, info.Main.Version, "devel"), details)
}
