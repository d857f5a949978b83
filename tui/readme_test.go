package tui_test

import (
	"os"
	"strings"
	"testing"

	"ratescope/tui"
	"ratescope/tui/lab"
)

// The README's lists of keys are the tables that dispatch them.
func TestReadmeListsTheKeys(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for mark, table := range map[string]string{"keys": tui.HelpMarkdown(), "lab keys": lab.HelpMarkdown()} {
		_, rest, _ := strings.Cut(string(readme), "<!-- "+mark+" -->\n")
		listed, _, found := strings.Cut(rest, "<!-- /"+mark+" -->")
		if !found || listed != table {
			t.Errorf("put this between the README's marks of the %s:\n%s", mark, table)
		}
	}
}
