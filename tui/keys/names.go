package keys

import (
	"slices"

	"ratescope/model/safetext"
	"ratescope/tui/session"
)

// names are the texts of the keys on screen, shortened so that they can be told apart. They are
// kept from picture to picture, while these are the keys and the room. The zero value is ready.
type names struct {
	short   map[string]string
	keys    []string
	cells   int
	changes int // of what names have in common
}

// shorten makes texts of so many cells for keys of a session.
func (n *names) shorten(s *session.Session, keys []string, cells int) {
	families := s.Families()
	if n.short != nil && n.cells == cells && n.changes == families.Changes() && slices.Equal(n.keys, keys) {
		return
	}
	shown := make([]string, len(keys))
	for i, key := range keys {
		shown[i] = s.Name(key)
	}
	*n = names{short: make(map[string]string, len(keys)), keys: keys, cells: cells, changes: families.Changes()}
	for i, text := range families.Distinct(shown, cells, safetext.Ellipsis) {
		n.short[keys[i]] = text
	}
}
