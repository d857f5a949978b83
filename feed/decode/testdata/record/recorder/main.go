package recorder

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// Main records the scenarios of a command on a server of its own, prints how many, and ends the
// program with code 1 where one failed. It reads the command line: -dir is the directory of the
// fixtures, -only a part of a name library/scenario.
func Main(command string, lists ...[]Scenario) {
	dir := flag.String("dir", "../../fixtures", "directory of the fixtures")
	only := flag.String("only", "", "record only scenarios whose name library/scenario contains this")
	flag.Parse()
	s, err := StartServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var chosen []Scenario
	for _, list := range lists {
		for _, sc := range list {
			if strings.Contains(sc.Library+"/"+sc.Fixture.Scenario, *only) {
				chosen = append(chosen, sc)
			}
		}
	}
	failed := Record(s, *dir, chosen)
	s.Stop()
	for _, err := range failed {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Printf("%s: %d of %d scenarios recorded\n", command, len(chosen)-len(failed), len(chosen))
	if len(failed) > 0 {
		os.Exit(1)
	}
}
