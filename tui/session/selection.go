package session

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"

	tea "charm.land/bubbletea/v2"
)

// selection is which key is selected, and who chose it.
type selection struct {
	selected string          // Reading.Key
	chosen   bool            // a person has pressed something: it does not move by itself any more
	picked   bool            // a person selected this very key
	begun    limiter.Instant // when there was a selection first
	lost     string          // the selected key that went away, until the person has read of it
	visible  []string        // scratch of See
	group    string          // name of the group of keys under the cursor; "" it is on a key
}

// settling is how long the selection follows the key in greatest need after the screen
// opened: the first reading need not be of the worst key.
const settling = 2 * time.Second

// Selected returns the selected key.
func (s *Session) Selected() string { return s.selected }

// Picked reports whether a person selected the selected key.
func (s *Session) Picked() bool { return s.picked }

// Touch notes that a person has pressed something: the selection stays where it is.
func (s *Session) Touch() {
	s.chosen = true
	s.touched = s.Local()
}

// Pick selects a key for a person.
func (s *Session) Pick(key string) {
	if s.group = ""; key != s.selected {
		s.selected = key
		s.Time.Reset()
		s.MarkPlans()
	}
	s.chosen, s.picked, s.lost = true, true, ""
	s.Redraw()
}

// Visit shows a key on the dashboard as it was at an instant: the picture is paused with the
// cursor there.
func (s *Session) Visit(key string, at limiter.Instant) tea.Cmd {
	if s.Board().Key(key) == nil {
		s.Say("That key is no longer on the board.")
		return nil
	}
	if !s.Replayed() && !s.Paused() {
		s.Pause()
	}
	s.Pick(key)
	s.Time.Visit(at)
	return s.Show("dashboard")
}

// SetGroup says that the cursor is on a group of keys, of which the selected key is the one
// that is shown: nothing is fired at it. With "" the cursor is on the key.
func (s *Session) SetGroup(name string) { s.group = name }

// Group returns the name of the group under the cursor; "" it is on a key.
func (s *Session) Group() string { return s.group }

// PickRow selects the i-th row, or the nearest there is.
func (s *Session) PickRow(i int) {
	if len(s.rows) > 0 {
		s.Pick(s.rows[min(max(i, 0), len(s.rows)-1)].Reading.Key)
	}
}

// Move selects the row d further down.
func (s *Session) Move(d int) {
	at := s.Index()
	if at < 0 {
		d, at = 0, 0
	}
	s.PickRow(at + d)
}

// Index returns the row of the selected key, or -1.
func (s *Session) Index() int {
	for i, k := range s.rows {
		if k.Reading.Key == s.selected {
			return i
		}
	}
	return -1
}

// ShowPlans marks on the timeline when requests will be fired at the selected key.
func (s *Session) ShowPlans(at []limiter.Instant) {
	s.Time.Plan(at)
	s.Redraw()
}

// SelectionMoved says, once, that the selected key went away and another one stands in its place:
// a request that was meant for the one must not reach the other.
func (s *Session) SelectionMoved() bool {
	lost := s.lost
	s.lost = ""
	if lost == "" {
		return false
	}
	s.Warn("Nothing was fired: " + s.Name(lost) + " is gone and " + s.Name(s.selected) + " is selected now; press again to fire at it.")
	return true
}

// settle selects the first row when there is no selection, or one that no person chose and
// that is only just there.
func (s *Session) settle() {
	if len(s.rows) == 0 {
		return
	}
	there := s.Board().Key(s.selected) != nil
	if s.selected == "" {
		s.begun = s.At()
	}
	if there && (s.chosen || s.At().Sub(s.begun) > settling) {
		return
	}
	if !there && s.selected != "" {
		s.lost = s.selected
	}
	if first := s.rows[0].Reading.Key; first != s.selected {
		s.selected, s.picked = first, false
		s.Time.Reset()
	}
}

// See tells the source which keys are on screen: the selected one first, then the rows from
// up to the one before to.
func (s *Session) See(from, to int) {
	s.visible = s.visible[:0]
	for i := max(from, 0); i < min(to, len(s.rows)); i++ {
		s.visible = append(s.visible, s.rows[i].Reading.Key)
	}
	s.SeeKeys(s.visible)
}

// SeeKeys is See for keys that are no stretch of the rows. It does not keep keys.
func (s *Session) SeeKeys(keys []string) {
	shown := make([]string, 0, len(keys)+1)
	if s.selected != "" {
		shown = append(shown, s.selected)
	}
	for _, key := range keys {
		if key != s.selected {
			shown = append(shown, key)
		}
	}
	if s.Focus != nil {
		s.Focus(shown)
	}
}

// Pinned returns the first pinned key that is not the selected one, or nil.
func (s *Session) Pinned() *model.Watched {
	for _, k := range s.rows {
		if k.Pinned && k.Reading.Key != s.selected {
			return k
		}
	}
	return nil
}

// Pin pins the selected key, or lets it go.
func (s *Session) Pin() {
	if k := s.Current(); k != nil {
		s.Boards.Pin(k.Reading.Key)
		s.Reorder()
	}
}
