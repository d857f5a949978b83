package heat

import (
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/cell"
)

// heat is one cell of the map.
type heat struct {
	level    float32 // used/limit, the highest
	known    bool    // watched, and the limit is known
	watched  bool
	denied   bool
	arrivals bool
}

// of is the heat of one key in a column.
func of(b *model.Bin, capacity int64) heat {
	c := heat{denied: b.Denied > 0, arrivals: b.Admitted+b.Denied > 0, watched: b.UsedKnown || b.Watched}
	if b.UsedKnown && capacity > 0 {
		c.known, c.level = true, float32(b.Used)/float32(capacity)
	}
	return c
}

// join takes in another key of the same row: the worst counts.
func (c *heat) join(o heat) {
	c.level = max(c.level, o.level)
	c.known, c.watched = c.known || o.known, c.watched || o.watched
	c.denied, c.arrivals = c.denied || o.denied, c.arrivals || o.arrivals
}

// extend takes in what came later in the same column of the same key, which was watched where both
// parts were, or the level is known.
func (c *heat) extend(o heat) {
	watched := c.known || o.known || c.watched && o.watched
	c.join(o)
	c.watched = watched
}

// history is the cells of one key. They are kept while it moves from row to row.
type history struct {
	cells  []heat          // oldest first
	newest limiter.Instant // end of the newest cell
	read   limiter.Instant // of the reading that they show
	window time.Duration   // of the timeline that they were made of
	stands bool            // the newest cell is that before it, for want of a reading
}

// late is how long after a reading requests of before it can still come to light: clients whose
// clocks differ, and a reading that takes its time.
const late = 250 * time.Millisecond

// update makes the cells those that end with newest, and returns from which one on they are
// others than before. What the last reading has shown does not change: only what came after it is
// looked at, and joined to the cell that was not over.
func (y *history) update(k *model.Watched, newest limiter.Instant, column time.Duration, width int) (from int) {
	shift := int(newest.Sub(y.newest) / column)
	switch {
	case len(y.cells) != width || y.newest == 0 || newest < y.newest || y.window != k.Timeline.Window() || shift >= width:
		y.cells = slices.Grow(y.cells[:0], width)[:width]
		from = 0
	case shift == 0 && y.read == k.Reading.At:
		return width
	default:
		copy(y.cells, y.cells[shift:])
		after := int((newest.Sub(y.read.Add(-late)) + column - 1) / column)
		from = max(width-min(after, shift+2), 0)
	}
	seen := y.read.Add(-late)
	if y.stands { // the cell says nothing of its own
		seen = min(seen, y.newest.Add(-column))
	}
	y.newest, y.read, y.window, y.stands = newest, k.Reading.At, k.Timeline.Window(), false
	capacity := model.Capacity(k.Reading.Target)
	for x := from; x < width; x++ {
		end := newest.Add(-time.Duration(width-1-x) * column)
		begin := end.Add(-column)
		if from > 0 && x < width-shift && begin < seen && seen < end { // all but the end of it is known
			b := k.Timeline.Between(seen, end)
			y.cells[x].extend(of(&b, capacity))
			continue
		}
		b := k.Timeline.Between(begin, end)
		y.cells[x] = of(&b, capacity)
	}
	if n := width - 1; n > 0 && !y.cells[n].watched && !k.Gone { // no reading is of the column that has just begun: the level stands
		last := y.cells[n-1]
		y.cells[n], y.stands = heat{level: last.level, known: last.known, watched: last.watched}, true
	}
	return from
}

// A row of several keys is looked at once in so many pictures, and in more where a picture would
// look at more keys than that: a look takes about a microsecond.
const (
	turns    = 5
	mostKeys = 1500
)

// tallest is how many lines a row of a short map takes.
const tallest = 2

// layOut divides the room, shares the keys out among the rows where they are others than
// before, and works out what is new.
func (h *Screen) layOut(area cell.Rect) {
	h.names = min(max(area.W/4, 16), 36)
	h.area = cell.Rect{X: area.X + h.names + 1, Y: area.Y + 1, W: max(area.W-h.names-2, 1), H: max(area.H-2, 1)}
	keys := h.within()
	if h.width != h.area.W || h.high != h.area.H || h.fold != h.folded || !slices.Equal(keys, h.keys) {
		h.keys, h.width, h.high, h.folded = append(h.keys[:0], keys...), h.area.W, h.area.H, h.fold
		h.rows = bundle(h.keys, h.area.H, h.fold)
	}
	h.makeRoom()
	h.fill()
	h.runWhatIf()
	h.height = min(max(h.area.H/max(len(h.rows), 1), 1), tallest)
	shown := h.area.H / h.height
	h.at = min(h.at, max(len(h.rows)-1, 0))
	h.first = min(max(h.first, h.at-shown+1), h.at)
	h.first = min(max(h.first, 0), max(len(h.rows)-shown, 0))
	h.s.Selection.See(h.first, h.first+shown)
}

// fill brings every row up to now. Histories of keys that are gone are dropped once they are
// as many as those that are shown.
func (h *Screen) fill() {
	d := steps[h.step]
	newest := h.s.Shown.At().Floor(d).Add(d)
	h.newest = newest
	h.turn++
	if h.known == nil || len(h.known) > 2*len(h.keys)+64 {
		h.known = make(map[string]*history, len(h.keys))
	}
	turns := max(turns, (len(h.keys)+mostKeys-1)/mostKeys)
	for i := range h.rows {
		r := &h.rows[i]
		from := h.width
		switch shift := int(newest.Sub(r.newest) / d); {
		case r.cells == nil || newest < r.newest || shift >= h.width:
			from = 0
		case len(r.keys) == 1:
			from = 0
		default:
			r.pass(shift)
			if r.newest = newest; (i+h.turn)%turns != 0 {
				continue // a row of many keys has its turn in one of so many pictures
			}
		}
		for len(r.past) < len(r.keys) {
			key := r.keys[len(r.past)].Reading.Key
			y := h.known[key]
			if y == nil {
				y = &history{}
				h.known[key] = y
			}
			r.past = append(r.past, y)
		}
		for i, k := range r.keys {
			from = min(from, r.past[i].update(k, newest, d, h.width))
		}
		if len(r.keys) == 1 {
			r.cells, from = r.past[0].cells, h.width
		}
		r.newest = newest
		if from == h.width {
			continue
		}
		if r.cells == nil {
			r.cells = make([]heat, h.width)
		}
		clear(r.cells[from:])
		for _, y := range r.past {
			for x, c := range y.cells[from:] {
				r.cells[from+x].join(c)
			}
		}
	}
}

// pass moves the cells on by so many columns, fewer than there are. The new ones keep the level
// until the row has its turn.
func (r *row) pass(shift int) {
	last := r.cells[len(r.cells)-1]
	copy(r.cells, r.cells[shift:])
	for x := len(r.cells) - shift; x < len(r.cells); x++ {
		r.cells[x] = heat{level: last.level, known: last.known, watched: last.watched}
	}
}

// bundle shares the keys out among so many rows: a row each where they fit and are not to be
// folded, else by the beginnings of their names, and where those are too many as they stand.
func bundle(keys []*model.Watched, rows int, fold bool) []row {
	var list []row
	if fold || len(keys) > rows {
		for _, g := range model.GroupBy(keys) {
			list = append(list, row{keys: g.Keys, prefix: g.Prefix})
		}
		if len(list) > 1 && len(list) <= rows {
			return list
		}
		list = nil
	}
	per := max((len(keys)+rows-1)/max(rows, 1), 1)
	for group := range slices.Chunk(keys, per) {
		list = append(list, row{keys: group})
	}
	return list
}
