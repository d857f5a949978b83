package keys

import (
	"slices"

	"ratescope/model/safetext"
)

// names are the texts of the keys on screen, shortened so that they can be told apart. They are
// kept from picture to picture, while these are the keys and the room. The zero value is ready.
type names struct {
	short map[string]string
	keys  []string
	cells int
}

// shorten makes texts of so many cells for keys, with what shows a key's name.
func (n *names) shorten(keys []string, name func(string) string, cells int) {
	if n.short != nil && n.cells == cells && slices.Equal(n.keys, keys) {
		return
	}
	shown := make([]string, len(keys))
	for i, key := range keys {
		shown[i] = name(key)
	}
	*n = names{short: make(map[string]string, len(keys)), keys: keys, cells: cells}
	for i, text := range safetext.Distinct(shown, cells, safetext.Ellipsis) {
		n.short[keys[i]] = text
	}
}
