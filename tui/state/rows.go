package state

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/tui/widget"
)

// holding is how long the selected row keeps its place after a person has pressed a key or moved the
// mouse, unless it becomes throttled. Rows in the order of a column all stand still as long.
const holding = 3 * time.Second

// List is which keys are listed, and in which order. Make one with NewList. Not safe for concurrent
// use.
type List struct {
	boards *Boards
	redraw func()

	view    model.View
	byTitle bool // by a column that a person chose; else by state
	filter  filter
	Rows    []*model.Watched // the keys that the filter leaves, in their order
	known   int              // how many keys there were at the last sort
	Sorts   int              // how often Rows was made anew: while it stays, so do they
	touched time.Time        // when a person last pressed a key or moved the mouse
	asked   int              // how often a person asked for another order
	hand    string           // the key whose row keeps its place while a person is at work; "" none
	held    bool             // it was left where it stood
}

// NewList returns an empty list of the keys of boards. It calls redraw when the rows changed.
func NewList(boards *Boards, redraw func()) *List { return &List{boards: boards, redraw: redraw} }

// Settled reports whether the rows are in the order of their states, and no key was pressed lately.
func (l *List) Settled() bool { return !l.held && !l.byTitle }

// setRows takes up other rows, or another order.
func (l *List) setRows(rows []*model.Watched) {
	l.Rows = rows
	l.Sorts++
}

// SortText names the order of the rows.
func (l *List) SortText() string {
	text := collect.If(l.byTitle, "by "+l.view.Sort.String(), "trouble first")
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
	l.asked++
	l.Reorder()
}

// NextSort orders the rows by the next column, and after the last one by state again.
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
	l.asked++
	l.Reorder()
}

// Reverse turns the order round.
func (l *List) Reverse() {
	l.view.Reverse = !l.view.Reverse
	l.asked++
	l.Reorder()
}

// Filter returns what the rows are filtered by.
func (l *List) Filter() string { return l.filter.text }

// Reorder sorts at once: a person asked for it.
func (l *List) Reorder() {
	l.arrange(false)
	l.redraw()
}

// renew chooses the rows anew. While a person is at work, the row at hand keeps its place.
func (l *List) renew() {
	l.known = l.boards.Live().Len()
	l.arrange(len(l.Rows) > 0 && !l.touched.IsZero() && l.boards.Local.Sub(l.touched) < holding)
}

// Stirred reports whether a row has changed its state, or its wait, so that it belongs elsewhere.
func (l *List) Stirred() bool {
	at := l.boards.At()
	return !l.byTitle && l.filter.name == "" && !slices.IsSortedFunc(l.Rows, func(x, y *model.Watched) int {
		if x.Pinned || y.Pinned || l.held && min(x.State(at), y.State(at)) != model.Throttled &&
			(x.Reading.Key == l.hand || y.Reading.Key == l.hand) {
			return 0
		}
		return model.ByState(x, y, at)
	})
}

// Grown reports whether keys came or went since the rows were chosen.
func (l *List) Grown() bool { return l.boards.Live().Len() != l.known }

// arrange puts the keys that fit the filter in order. With held, the row at hand stays where it is or,
// in the order of a column, all rows do, and new ones come last.
func (l *List) arrange(held bool) {
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
	at := l.boards.At()
	places := map[string]int{}
	if l.held = held; held {
		for i, k := range l.Rows {
			places[k.Reading.Key] = i - len(l.Rows)
		}
	}
	direction := collect.If(l.view.Reverse, -1, 1)
	slices.SortStableFunc(rows, func(x, y *model.Watched) int {
		a, b := x.Reading.Key, y.Reading.Key
		first := cmp.Or(pinnedFirst(x, y), cmp.Compare(ranks[b], ranks[a]))
		if l.byTitle {
			return cmp.Or(first, cmp.Compare(places[a], places[b]))
		}
		return cmp.Or(first, direction*model.ByState(x, y, at))
	})
	if held && !l.byTitle {
		l.keepHand(rows)
	}
	l.setRows(rows)
}

// keepHand moves the row at hand, in new rows, to where it stands in the old ones, but neither above a row
// that is throttled or pinned nor if it is so itself.
func (l *List) keepHand(rows []*model.Watched) {
	of := func(k *model.Watched) bool { return k.Reading.Key == l.hand }
	free := func(k *model.Watched) bool { return !k.Pinned && !k.Gauge.Throttled() }
	was, is, least := slices.IndexFunc(l.Rows, of), slices.IndexFunc(rows, of), slices.IndexFunc(rows, free)
	if was < 0 || is < 0 || !free(rows[is]) {
		return
	}
	k, to := rows[is], min(max(was, least), len(rows)-1)
	copy(rows[is:], rows[is+1:])
	copy(rows[to+1:], rows[to:])
	rows[to] = k
}

// pinnedFirst orders two keys by whether they are pinned.
func pinnedFirst(x, y *model.Watched) int {
	switch {
	case x.Pinned == y.Pinned:
		return 0
	case x.Pinned:
		return -1
	}
	return 1
}

// Like takes the order and the filter of another list, and reports whether they were different.
func (l *List) Like(other *List) bool {
	if l.view == other.view && l.byTitle == other.byTitle && l.filter.text == other.filter.text {
		return false
	}
	l.view, l.byTitle, l.filter = other.view, other.byTitle, other.filter
	l.Reorder()
	return true
}

// Compare orders a row against one of another list, each at the time of its own server; 0 where neither
// comes first.
func (l *List) Compare(x *model.Watched, other *List, y *model.Watched) int {
	if first := pinnedFirst(x, y); first != 0 || l.byTitle {
		return cmp.Or(first, l.view.Compare(x, y))
	}
	at, there := l.boards.At(), other.boards.At()
	c := cmp.Compare(x.State(at), y.State(there))
	if c == 0 && x.State(at) == model.Throttled {
		c = cmp.Compare(y.Frees(there).Sub(there), x.Frees(at).Sub(at))
	}
	return collect.If(l.view.Reverse, -c, c)
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
	least := collect.If(best > widget.LettersMatch, widget.InsideMatch, widget.LettersMatch)
	return slices.DeleteFunc(rows, func(k *model.Watched) bool { return ranks[k.Reading.Key] < least }), ranks
}

// Rebind takes the rows from the board on screen and leaves their order as it is.
func (l *List) Rebind() {
	b := l.boards.Board()
	rows := collect.Map(l.Rows, func(k *model.Watched) *model.Watched { return b.Key(k.Reading.Key) })
	l.setRows(collect.Only(rows, func(k *model.Watched) bool { return k != nil }))
	l.redraw()
}

// filter is what the rows are chosen by: letters of the name, and words with a colon that
// say more: state:throttled, note:expiry, lib:upstash, alg:gcra.
type filter struct {
	text   string // as typed
	name   string
	wanted []qualifier
}

// qualifier is a word with a colon.
type qualifier struct {
	value string
	of    func(l *List, k *model.Watched) []string
	fits  func(text, value string) bool
}

// qualifiers are the words before the colon.
var qualifiers = map[string]func(l *List, k *model.Watched) []string{
	"state": func(l *List, k *model.Watched) []string {
		states := []string{strings.ReplaceAll(k.State(l.boards.At()).String(), " ", "-")}
		if states[0] == model.Throttled.String() {
			states = append(states, "denied") // as it was called before
		}
		if k.Reading.Fault() != "" {
			states = append(states, sick)
		}
		return states
	},
	"note": func(_ *List, k *model.Watched) []string {
		return collect.Map(k.Reading.Notes, func(n model.Note) string { return string(n) })
	},
	"lib": func(_ *List, k *model.Watched) []string { return []string{k.Reading.Target.Library} },
	"alg": func(_ *List, k *model.Watched) []string {
		return []string{describe.Short(k.Reading.Target.Algorithm), describe.Title(k.Reading.Target.Algorithm)}
	},
}

// Suggestions returns what tab completes a filter to.
func Suggestions() []string {
	list := collect.Map(model.KeyStateNames(), func(name string) string { return "state:" + strings.ReplaceAll(name, " ", "-") })
	return append(list, "state:"+sick, "note:expiry", "lib:", "alg:")
}

// sick is the state of a key with a fault, beside its own.
const sick = "sick"

// parseFilter splits a filter at its spaces.
func parseFilter(text string) filter {
	f := filter{text: text}
	var names []string
	for _, word := range strings.Fields(text) {
		key, value, found := strings.Cut(word, ":")
		if of := qualifiers[strings.ToLower(key)]; found && of != nil {
			fits := strings.Contains
			if strings.EqualFold(key, "state") { // else "throttled" would list what was throttled too
				fits = strings.HasPrefix
			}
			f.wanted = append(f.wanted, qualifier{strings.ToLower(value), of, fits})
			continue
		}
		names = append(names, word)
	}
	f.name = strings.Join(names, " ")
	return f
}

// match says how well a key fits.
func (f *filter) match(l *List, k *model.Watched) widget.Match {
	for _, q := range f.wanted {
		if !slices.ContainsFunc(q.of(l, k), func(v string) bool { return v != "" && q.fits(strings.ToLower(v), q.value) }) {
			return widget.NoMatch
		}
	}
	if f.name == "" {
		return widget.WholeMatch
	}
	m, _ := widget.Rank(k.Reading.Key, f.name)
	return m
}

// Fits reports whether what is about a key, in words, fits the filter: its name or the words
// hold what is typed, and the key is as the words with a colon say.
func (l *List) Fits(key, words string) bool {
	f := l.filter
	if len(f.wanted) > 0 {
		k := l.boards.Board().Key(key)
		if k == nil {
			return false
		}
		state := filter{wanted: f.wanted}
		if state.match(l, k) == widget.NoMatch {
			return false
		}
	}
	for _, text := range []string{key, words} {
		if m, _ := widget.Rank(text, f.name); m >= widget.InsideMatch {
			return true
		}
	}
	return f.name == ""
}
