package tui

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// choices are what a person has chosen, kept in a file from one start to the next. A file that
// cannot be read counts as empty, and one that cannot be written is left: nothing depends on it.
type choices struct {
	path   string
	mu     sync.Mutex
	values map[string]string
}

// openChoices reads the choices of a file; with "" they are forgotten at the end.
func openChoices(path string) *choices {
	c := &choices{path: path, values: map[string]string{}}
	if text, err := os.ReadFile(path); path != "" && err == nil {
		_ = json.Unmarshal(text, &c.values)
	}
	if c.values == nil { // the file says null
		c.values = map[string]string{}
	}
	return c
}

// remember keeps a choice; the command writes the file.
func (c *choices) remember(key, value string) tea.Cmd {
	c.mu.Lock()
	c.values[key] = value
	values := maps.Clone(c.values)
	c.mu.Unlock()
	if c.path == "" {
		return nil
	}
	return func() tea.Msg {
		c.mu.Lock() // two writes one after the other
		defer c.mu.Unlock()
		text, err := json.MarshalIndent(values, "", "  ")
		if err != nil || os.MkdirAll(filepath.Dir(c.path), 0o700) != nil {
			return nil
		}
		if os.WriteFile(c.path+".new", text, 0o600) == nil {
			_ = os.Rename(c.path+".new", c.path)
		}
		return nil
	}
}

// What there is to try, which is said the first time that the program runs: where requests can be fired at
// once, and where they cannot.
const (
	firstRun         = "Three things to try: space fires, p and ← go back, : finds anything."
	firstRunReadOnly = "Three things to try: p and ← go back, enter looks closer, : finds anything."
)
