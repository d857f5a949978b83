package session

import (
	"ratescope/model"
	"ratescope/model/safetext"
)

// families are the names of the board's keys, learned when their number changes: a screen has room
// for what is a key's own, not for the words that all keys of a library share.
type families struct {
	safetext.Families
	board *model.Board
	keys  int
}

// mostLearned is how many names of a board are learned at once; of more, those are learned that
// the board has first this time.
const mostLearned = 1024

// Families returns what the names of the keys on the board have in common, to shorten names with.
func (s *Session) Families() *safetext.Families {
	f, b := &s.families, s.Board()
	if f.board == b && f.keys == b.Len() {
		return &f.Families
	}
	f.board, f.keys = b, b.Len()
	n := 0
	for key := range b.Keys() {
		if n++; n > mostLearned {
			break
		}
		f.Learn(s.Name(key))
	}
	return &f.Families
}

// ShortName returns a key's name as Name does, in at most so many columns: of a longer one what
// other keys do not share.
func (s *Session) ShortName(key string, columns int) string {
	return s.Families().Shorten(s.Name(key), columns, safetext.Ellipsis)
}
