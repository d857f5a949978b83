package session

import (
	"cmp"
	"slices"
	"time"

	"ratescope/model"
	"ratescope/tui/widget"

	tea "charm.land/bubbletea/v2"
)

// holding is how long the rows stand still after a person has pressed a key or moved the
// mouse: what is under the hand stays there.
const holding = 3 * time.Second

// order is which keys are listed, and in which order.
type order struct {
	view    model.View
	byTitle bool // by a column that a person chose; else by band
	filter  filter
	rows    []*model.Watched
	known   int       // how many keys there were at the last sort
	sorts   int       // how often rows was made anew
	touched time.Time // when a person last pressed a key or moved the mouse

	bands   map[string]Band      // of the rows at the last sort
	changes map[string]time.Time // when a row changed its band last
}

// Rows returns the keys that the filter leaves, in their order.
func (s *Session) Rows() []*model.Watched { return s.rows }

// Sorts counts how often the rows were made anew: while it stays, so do they.
func (s *Session) Sorts() int { return s.sorts }

// setRows takes up other rows, or another order.
func (s *Session) setRows(rows []*model.Watched) {
	s.rows = rows
	s.sorts++
}

// SortText names the order of the rows.
func (s *Session) SortText() string {
	text := "trouble first"
	if s.byTitle {
		text = "by " + s.view.Sort.String()
	}
	if s.view.Reverse {
		text += " reversed"
	}
	return text
}

// SortedBy reports whether the rows are in the order of a column.
func (s *Session) SortedBy(by model.Sort) bool { return s.byTitle && s.view.Sort == by }

// SetSort orders the rows by a column; the same again reverses them.
func (s *Session) SetSort(by model.Sort) {
	if s.SortedBy(by) {
		s.view.Reverse = !s.view.Reverse
	} else {
		s.byTitle, s.view.Sort, s.view.Reverse = true, by, false
	}
	s.Reorder()
}

// rememberSort keeps the order of the rows for the next start.
func (s *Session) rememberSort() tea.Cmd {
	name := ""
	if s.byTitle {
		name = s.view.Sort.String()
	}
	return s.Remember("sort", name)
}

// Restore takes up the order of an earlier start; a name that is none is left.
func (s *Session) Restore(name string) {
	for by := model.ByUtilization; ; {
		if by.String() == name {
			s.byTitle, s.view.Sort = true, by
			return
		}
		if by = by.Succ(); by == model.ByUtilization {
			return
		}
	}
}

// NextSort orders the rows by the next column, and after the last one by band again.
func (s *Session) NextSort() {
	s.view.Reverse = false
	switch next := s.view.Sort.Succ(); {
	case !s.byTitle:
		s.byTitle, s.view.Sort = true, model.ByUtilization
	case next == model.ByUtilization:
		s.byTitle, s.view.Sort = false, next
	default:
		s.view.Sort = next
	}
	s.Reorder()
}

// Reverse turns the order round.
func (s *Session) Reverse() {
	s.view.Reverse = !s.view.Reverse
	s.Reorder()
}

// Filter returns what the rows are filtered by.
func (s *Session) Filter() string { return s.filter.text }

// SetFilter lists only the keys that fit, the best first, and selects the first.
func (s *Session) SetFilter(text string) {
	s.filter = parseFilter(text)
	s.Reorder()
	if len(s.rows) > 0 {
		s.PickRow(0)
	}
}

// Reorder sorts at once: a person asked for it.
func (s *Session) Reorder() {
	s.sort()
	s.Redraw()
}

// resort chooses the rows anew and keeps the selection on its key. It runs once a second and
// when keys come or go. While a person is at work, rows only come and go.
func (s *Session) resort() {
	if len(s.rows) > 0 && !s.touched.IsZero() && s.Local().Sub(s.touched) < holding {
		s.hold()
	} else {
		s.sort()
	}
	s.settle()
	s.Redraw()
}

// sort puts the keys that fit the filter in order.
func (s *Session) sort() {
	v := s.view
	if !s.byTitle {
		v.Sort = model.ByName
	}
	v.Reverse = v.Reverse && s.byTitle
	rows := s.Board().Select(v)
	ranks := map[string]widget.Match{}
	if s.filter.text != "" {
		rows, ranks = s.fitting(rows)
	}
	bands := make(map[string]Band, len(rows))
	for _, k := range rows {
		bands[k.Reading.Key] = s.BandOf(k)
	}
	direction := 1
	if s.view.Reverse {
		direction = -1
	}
	slices.SortStableFunc(rows, func(x, y *model.Watched) int {
		a, b := x.Reading.Key, y.Reading.Key
		if x.Pinned != y.Pinned {
			if x.Pinned {
				return -1
			}
			return 1
		}
		if s.byTitle {
			return cmp.Compare(ranks[b], ranks[a])
		}
		return cmp.Or(cmp.Compare(ranks[b], ranks[a]), direction*cmp.Compare(bands[a], bands[b]))
	})
	s.note(bands)
	s.setRows(rows)
}

// fitting returns the rows that fit the filter, and how well. Letters that are scattered over
// a name count only where nothing fits any better.
func (s *Session) fitting(rows []*model.Watched) ([]*model.Watched, map[string]widget.Match) {
	ranks := make(map[string]widget.Match, len(rows))
	best := widget.NoMatch
	for _, k := range rows {
		m := s.filter.match(s, k)
		ranks[k.Reading.Key] = m
		best = max(best, m)
	}
	least := widget.LettersMatch
	if best > least {
		least = widget.InsideMatch
	}
	return slices.DeleteFunc(rows, func(k *model.Watched) bool { return ranks[k.Reading.Key] < least }), ranks
}

// note remembers which rows changed their band, so that the table can show where they went.
func (s *Session) note(bands map[string]Band) {
	if s.changes == nil {
		s.changes = map[string]time.Time{}
	}
	for key, b := range bands {
		if was, known := s.bands[key]; known && was != b {
			s.changes[key] = s.Local()
		}
	}
	for key, at := range s.changes {
		if s.Local().Sub(at) > holding {
			delete(s.changes, key)
		}
	}
	s.bands = bands
}

// Moved reports whether a row changed its band a moment ago.
func (s *Session) Moved(key string) bool {
	_, moved := s.changes[key]
	return moved
}

// hold leaves the rows where they are: those that are gone go, new ones come last.
func (s *Session) hold() {
	at := make(map[string]int, len(s.rows))
	for i, k := range s.rows {
		at[k.Reading.Key] = i
	}
	rows := s.Board().Select(model.View{Sort: model.ByName})
	if s.filter.text != "" {
		rows, _ = s.fitting(rows)
	}
	place := func(k *model.Watched) int {
		if i, known := at[k.Reading.Key]; known {
			return i
		}
		return len(at)
	}
	slices.SortStableFunc(rows, func(x, y *model.Watched) int { return cmp.Compare(place(x), place(y)) })
	s.setRows(rows)
}

// rebind takes the rows from the board on screen and leaves their order as it is.
func (s *Session) rebind() {
	b := s.Board()
	rows := make([]*model.Watched, 0, len(s.rows))
	for _, k := range s.rows {
		if other := b.Key(k.Reading.Key); other != nil {
			rows = append(rows, other)
		}
	}
	s.setRows(rows)
	s.Redraw()
}
