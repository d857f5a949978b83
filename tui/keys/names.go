package keys

import (
	"ratescope/model/safetext"
)

// names are the texts of the keys on screen, shortened so that they can be told apart.
type names map[string]string

// shorten makes texts of so many cells for keys, with what shows a key's name.
func (n *names) shorten(keys []string, name func(string) string, cells int) {
	shown := make([]string, len(keys))
	for i, key := range keys {
		shown[i] = name(key)
	}
	if *n == nil {
		*n = names{}
	}
	clear(*n)
	for i, text := range safetext.Distinct(shown, cells, safetext.Ellipsis) {
		(*n)[keys[i]] = text
	}
}
