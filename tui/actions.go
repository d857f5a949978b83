package tui

import (
	"context"

	"ratescope/tui/keymap"
)

// HelpMarkdown returns the table of keys for the README: those of the dashboard, which
// every other screen has most of.
func HelpMarkdown() string {
	app, _, err := newApp(context.Background(), Options{})
	if err != nil {
		return err.Error()
	}
	return unique(app.All()).Markdown()
}

// unique leaves out an action whose keys all belong to one before it.
func unique(list keymap.Actions) keymap.Actions {
	taken := map[string]bool{}
	var out keymap.Actions
	for _, act := range list {
		fresh := false
		for _, k := range act.Keys() {
			fresh = fresh || !taken[k]
			taken[k] = true
		}
		if fresh {
			out = append(out, act)
		}
	}
	return out
}
