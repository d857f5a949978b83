package cmd

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ratescope/feed/decode/library"
)

// TestReadmeListsTheLibraries holds the README's table of libraries to the decoders.
func TestReadmeListsTheLibraries(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, l := range library.All() {
		version := l.Version
		if l.Published {
			version = strings.TrimSpace(version + " (published)")
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", l.Name, version, strings.Join(l.Silent, "; ")))
	}
	slices.Sort(rows)
	table := "| library | checked with | not recorded there |\n|---|---|---|\n" + strings.Join(rows, "")
	_, rest, _ := strings.Cut(string(readme), "<!-- libraries -->\n")
	listed, _, found := strings.Cut(rest, "<!-- /libraries -->")
	if !found || listed != table {
		t.Errorf("put this between the README's marks of the libraries:\n%s", table)
	}
}
