package tui_test

import (
	"os"
	"strings"
	"testing"

	"ratescope/tui"
)

// The README's list of keys is the table that dispatches them.
func TestReadmeListsTheKeys(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "<!-- keys -->\n")
	listed, _, found := strings.Cut(rest, "<!-- /keys -->")
	if !found || listed != tui.HelpMarkdown() {
		t.Errorf("put this between the README's keys marks:\n%s", tui.HelpMarkdown())
	}
}
