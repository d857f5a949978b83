package state

import (
	"slices"

	"ratescope/model"
	"ratescope/model/collect"
)

// Selection is which key is selected, and whether a person chose it. Make one with NewSelection.
// Not safe for concurrent use.
type Selection struct {
	list   *List
	picked func()              // a person selected another key
	focus  func(keys []string) // gets the keys on screen; nil: nothing wants them

	Selected string // the selected key, as Reading.Key has it
	Chosen   bool   // a person has pressed something: it does not move by itself any more
	Picked   bool   // a person selected this very key
	asked    int    // list.asked when a person selected a key last
	lost     string // the selected key that went away, until the person has read of it
	// Group is the name of the group of keys under the cursor, of which the selected key is the one that is shown: nothing is
	// fired at it. "" it is on the key.
	Group string
}

// NewSelection returns a selection of nothing among the rows of a list. It calls picked when a person selects another key, and gives
// focus, unless that is nil, the keys on screen.
func NewSelection(list *List, picked func(), focus func(keys []string)) *Selection {
	return &Selection{list: list, picked: picked, focus: focus}
}

// Touch notes that a person is at it, so that the row at hand keeps its place for a while: that of the
// selected key after a press, that of Point's key after a move of the mouse. After a press the selection
// stays where it is.
func (s *Selection) Touch(pressed bool) {
	s.Chosen = s.Chosen || pressed
	s.list.touched = s.list.boards.Local
	if pressed {
		s.list.hand = s.Selected
	}
}

// Point notes that the mouse is over the row of a key, or with "" over none.
func (s *Selection) Point(key string) { s.list.hand = key }

// Pick selects a key for a person.
func (s *Selection) Pick(key string) {
	if s.Group = ""; key != s.Selected {
		s.Selected = key
		if !s.list.boards.Paused() { // which stays at its moment
			s.list.boards.Time.Reset()
		}
		s.picked()
	}
	s.Chosen, s.Picked, s.lost, s.asked, s.list.hand = true, true, "", s.list.asked, key
	s.list.redraw()
}

// PickRow selects the i-th row, or the nearest there is.
func (s *Selection) PickRow(i int) {
	if len(s.list.Rows) > 0 {
		s.Pick(s.list.Rows[min(max(i, 0), len(s.list.Rows)-1)].Reading.Key)
	}
}

// Move selects the row d further down.
func (s *Selection) Move(d int) {
	at := s.Index()
	if at < 0 {
		d, at = 0, 0
	}
	s.PickRow(at + d)
}

// Index returns the row of the selected key, or -1.
func (s *Selection) Index() int {
	return slices.IndexFunc(s.list.Rows, func(k *model.Watched) bool { return k.Reading.Key == s.Selected })
}

// TakeLost returns, once, the selected key that went away, so that another one stands in its
// place; "" there is none.
func (s *Selection) TakeLost() string {
	lost := s.lost
	s.lost = ""
	return lost
}

// SetFilter lists only the keys that fit, the best first, and selects the first. Without a filter
// the selection stays on its key.
func (s *Selection) SetFilter(text string) {
	s.list.filter = parseFilter(text)
	s.list.Reorder()
	if len(s.list.Rows) > 0 && (text != "" || s.Index() < 0) {
		s.PickRow(0)
	}
}

// Resort chooses the rows anew and keeps the selection on its key. It runs once a second and
// when keys come or go.
func (s *Selection) Resort() {
	s.list.renew()
	s.settle()
	s.list.redraw()
}

// Current returns the selected key on the board that is on screen, or nil when there is none.
func (s *Selection) Current() *model.Watched { return s.list.boards.Board().Key(s.Selected) }

// settle selects the first row as long as no person has chosen one, and where the chosen one is gone.
func (s *Selection) settle() {
	if len(s.list.Rows) == 0 {
		return
	}
	there := s.list.boards.Board().Key(s.Selected) != nil
	if there && s.Chosen {
		return
	}
	if !there && s.Selected != "" {
		s.lost = s.Selected
	}
	if first := s.list.Rows[0].Reading.Key; first != s.Selected {
		s.Selected, s.Picked = first, false
		if !s.list.boards.Paused() {
			s.list.boards.Time.Reset()
		}
	}
}

// Holds reports whether the rows scroll to the selected one: not after a person asked for another
// order, whose first rows are what they want to see.
func (s *Selection) Holds() bool { return s.asked == s.list.asked }

// See tells the source which keys are on screen: the selected one first, then the rows from
// up to the one before to.
func (s *Selection) See(from, to int) {
	to = min(to, len(s.list.Rows))
	s.SeeKeys(collect.Map(s.list.Rows[min(max(from, 0), to):to], func(k *model.Watched) string { return k.Reading.Key }))
}

// SeeKeys does what See does for keys that are no stretch of the rows. It does not keep keys.
func (s *Selection) SeeKeys(keys []string) {
	shown := make([]string, 0, len(keys)+1)
	if s.Selected != "" {
		shown = append(shown, s.Selected)
	}
	shown = append(shown, slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == s.Selected })...)
	if s.focus != nil {
		s.focus(shown)
	}
}

// Pinned returns the first pinned key that is not the selected one, or nil.
func (s *Selection) Pinned() *model.Watched {
	for _, k := range s.list.Rows {
		if k.Pinned && k.Reading.Key != s.Selected {
			return k
		}
	}
	return nil
}

// Pin pins the selected key, or lets it go.
func (s *Selection) Pin() {
	if k := s.Current(); k != nil {
		s.list.boards.PinKey(k.Reading.Key)
		s.list.Reorder()
	}
}
