// Ratescope is an oscilloscope for rate limits: it shows the windows of the limiters
// that live in a Redis moving, and lets a person fire requests at them and watch the
// admissions change.
package main

import (
	"os"

	"ratescope/cmd"
)

// version is set by the linker when a release is built; without it the build data of the
// Go toolchain name the version.
var version string

func main() { os.Exit(cmd.Run(version, os.Args[1:], os.Stdout, os.Stderr)) }
