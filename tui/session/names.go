package session

import (
	"ratescope/model"
	"ratescope/model/safetext"
)

// cleaned keeps the names of keys as the terminal may show them: every picture has those of all its
// rows, and to clean a long one takes tens of microseconds. The zero value is ready.
type cleaned struct {
	names map[string]string
	bytes int // of keys and names
}

// Bounds of cleaned: names that are shorter than longName are cleaned in less than it takes to look
// them up; of more than mostCleaned bytes all are forgotten and cleaned again as they are shown.
const (
	longName    = 48
	mostCleaned = 4 << 20
)

// of returns a key's name, cleaned by clean where it is not known.
func (c *cleaned) of(key string, clean func(string) string) string {
	if len(key) < longName {
		return clean(key)
	}
	if name, known := c.names[key]; known {
		return name
	}
	name := clean(key)
	if c.bytes += len(key) + len(name); c.names == nil || c.bytes > mostCleaned {
		c.names, c.bytes = map[string]string{}, len(key)+len(name)
	}
	c.names[key] = name
	return name
}

// families holds the common parts of the names of the board's keys, so that a shortened name keeps the
// part that differs. They are learned again when the number of keys changes.
type families struct {
	learned safetext.Families
	board   *model.Board
	keys    int
}

// mostLearned is the greatest number of names that are learned at once. Of more, any are learned.
const mostLearned = 1024

// Families returns the common parts of the names of the keys on the board.
func (s *Session) Families() *safetext.Families {
	f, b := &s.families, s.Shown.Board()
	if f.board == b && f.keys == b.Len() {
		return &f.learned
	}
	f.board, f.keys = b, b.Len()
	n := 0
	for key := range b.Keys() {
		if n++; n > mostLearned {
			break
		}
		f.learned.Learn(s.Name(key))
	}
	return &f.learned
}

// ShortName returns a key's name as Name does, in at most a number of columns. A longer name loses the
// parts that it has in common with other keys.
func (s *Session) ShortName(key string, columns int) string {
	return s.Families().Shorten(s.Name(key), columns, safetext.Ellipsis)
}
