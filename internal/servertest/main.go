package servertest

import (
	"flag"
	"testing"
)

// Main runs the tests of a package that wait for servers most of the time, eight at once
// unless -parallel says how many. It returns the exit code.
func Main(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // a flag of this name and kind exists in every test
	}
	return m.Run()
}
