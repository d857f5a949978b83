package report

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Build is what --version says after the name: the version that the release was built
// with, or what the Go toolchain noted, and where it comes from.
func Build(version string) string {
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
