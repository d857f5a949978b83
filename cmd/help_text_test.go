package cmd

import (
	"regexp"
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryCommandHasItsHelp: each command has a part of help.md, which says in short and in full what it does and gives an example,
// and no part is of a command that is not there.
func TestEveryCommandHasItsHelp(t *testing.T) {
	uses := []string{"free, give, block, unblock"} // what their help has in common
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		uses = append(uses, c.Use)
		if c.Short == "" || !c.HasSubCommands() && (c.Long == "" || c.Example == "") {
			t.Errorf("%s has the help %q, %q, %q", c.Use, c.Short, c.Long, c.Example)
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(Tree())
	for _, heading := range regexp.MustCompile(`(?m)^# (.*)$`).FindAllStringSubmatch(helpText, -1) {
		if !slices.Contains(uses, heading[1]) {
			t.Errorf("help.md has a part %q, which is no command", heading[1])
		}
	}
}
