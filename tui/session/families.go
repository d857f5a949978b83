package session

import (
	"ratescope/model"
	"ratescope/model/safetext"
)

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
