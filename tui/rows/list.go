package rows

import (
	"cmp"
	"slices"
	"time"

	"ratescope/model"
	"ratescope/tui/shown"
	"ratescope/tui/widget"
)

// holding is how long the rows stand still after a person has pressed a key or moved the
// mouse: what is under the hand stays there.
const holding = 3 * time.Second

// List is which keys are listed, and in which order. Make one with NewList. Not safe for concurrent
// use.
type List struct {
	boards *shown.Boards
	redraw func()

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

// NewList returns an empty list of the keys of boards. It calls redraw when the rows changed.
func NewList(boards *shown.Boards, redraw func()) *List { return &List{boards: boards, redraw: redraw} }

// Rows returns the keys that the filter leaves, in their order.
func (l *List) Rows() []*model.Watched { return l.rows }

// Sorts counts how often the rows were made anew: while it stays, so do they.
func (l *List) Sorts() int { return l.sorts }

// setRows takes up other rows, or another order.
func (l *List) setRows(rows []*model.Watched) {
	l.rows = rows
	l.sorts++
}

// SortText names the order of the rows.
func (l *List) SortText() string {
	text := "trouble first"
	if l.byTitle {
		text = "by " + l.view.Sort.String()
	}
	if l.view.Reverse {
		text += " reversed"
	}
	return text
}

// SortedBy reports whether the rows are in the order of a column.
func (l *List) SortedBy(by model.Sort) bool { return l.byTitle && l.view.Sort == by }

// SetSort orders the rows by a column; the same again reverses them.
func (l *List) SetSort(by model.Sort) {
	if l.SortedBy(by) {
		l.view.Reverse = !l.view.Reverse
	} else {
		l.byTitle, l.view.Sort, l.view.Reverse = true, by, false
	}
	l.Reorder()
}

// SortName names the column by which a person sorted; "" none.
func (l *List) SortName() string {
	if !l.byTitle {
		return ""
	}
	return l.view.Sort.String()
}

// Restore takes up the order of an earlier start; a name that is none is left.
func (l *List) Restore(name string) {
	for by := model.ByUtilization; ; {
		if by.String() == name {
			l.byTitle, l.view.Sort = true, by
			return
		}
		if by = by.Succ(); by == model.ByUtilization {
			return
		}
	}
}

// NextSort orders the rows by the next column, and after the last one by band again.
func (l *List) NextSort() {
	l.view.Reverse = false
	switch next := l.view.Sort.Succ(); {
	case !l.byTitle:
		l.byTitle, l.view.Sort = true, model.ByUtilization
	case next == model.ByUtilization:
		l.byTitle, l.view.Sort = false, next
	default:
		l.view.Sort = next
	}
	l.Reorder()
}

// Reverse turns the order round.
func (l *List) Reverse() {
	l.view.Reverse = !l.view.Reverse
	l.Reorder()
}

// Filter returns what the rows are filtered by.
func (l *List) Filter() string { return l.filter.text }

// Reorder sorts at once: a person asked for it.
func (l *List) Reorder() {
	l.sort()
	l.redraw()
}

// renew chooses the rows anew. While a person is at work, rows only come and go.
func (l *List) renew() {
	l.known = l.boards.Live().Len()
	if len(l.rows) > 0 && !l.touched.IsZero() && l.boards.Local().Sub(l.touched) < holding {
		l.hold()
	} else {
		l.sort()
	}
}

// Grown reports whether keys came or went since the rows were chosen.
func (l *List) Grown() bool { return l.boards.Live().Len() != l.known }

// sort puts the keys that fit the filter in order.
func (l *List) sort() {
	v := l.view
	if !l.byTitle {
		v.Sort = model.ByName
	}
	v.Reverse = v.Reverse && l.byTitle
	rows := l.boards.Board().Select(v)
	ranks := map[string]widget.Match{}
	if l.filter.text != "" {
		rows, ranks = l.fitting(rows)
	}
	bands := make(map[string]Band, len(rows))
	for _, k := range rows {
		bands[k.Reading.Key] = l.BandOf(k)
	}
	direction := 1
	if l.view.Reverse {
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
		if l.byTitle {
			return cmp.Compare(ranks[b], ranks[a])
		}
		return cmp.Or(cmp.Compare(ranks[b], ranks[a]), direction*cmp.Compare(bands[a], bands[b]))
	})
	l.note(bands)
	l.setRows(rows)
}

// fitting returns the rows that fit the filter, and how well. Letters that are scattered over
// a name count only where nothing fits any better.
func (l *List) fitting(rows []*model.Watched) ([]*model.Watched, map[string]widget.Match) {
	ranks := make(map[string]widget.Match, len(rows))
	best := widget.NoMatch
	for _, k := range rows {
		m := l.filter.match(l, k)
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
func (l *List) note(bands map[string]Band) {
	if l.changes == nil {
		l.changes = map[string]time.Time{}
	}
	for key, b := range bands {
		if was, known := l.bands[key]; known && was != b {
			l.changes[key] = l.boards.Local()
		}
	}
	for key, at := range l.changes {
		if l.boards.Local().Sub(at) > holding {
			delete(l.changes, key)
		}
	}
	l.bands = bands
}

// Moved reports whether a row changed its band a moment ago.
func (l *List) Moved(key string) bool {
	at, moved := l.changes[key]
	return moved && l.boards.Local().Sub(at) <= holding
}

// hold leaves the rows where they are: those that are gone go, new ones come last.
func (l *List) hold() {
	at := make(map[string]int, len(l.rows))
	for i, k := range l.rows {
		at[k.Reading.Key] = i
	}
	rows := l.boards.Board().Select(model.View{Sort: model.ByName})
	if l.filter.text != "" {
		rows, _ = l.fitting(rows)
	}
	place := func(k *model.Watched) int {
		if i, known := at[k.Reading.Key]; known {
			return i
		}
		return len(at)
	}
	slices.SortStableFunc(rows, func(x, y *model.Watched) int { return cmp.Compare(place(x), place(y)) })
	l.setRows(rows)
}

// Rebind takes the rows from the board on screen and leaves their order as it is.
func (l *List) Rebind() {
	b := l.boards.Board()
	rows := make([]*model.Watched, 0, len(l.rows))
	for _, k := range l.rows {
		if other := b.Key(k.Reading.Key); other != nil {
			rows = append(rows, other)
		}
	}
	l.setRows(rows)
	l.redraw()
}
