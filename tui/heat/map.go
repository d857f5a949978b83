package heat

import (
	"slices"

	"ratescope/model"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
)

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
	now := h.s.Shown.At()
	newest := now.Floor(d).Add(d)
	h.newest = newest
	h.turn++
	if h.known == nil || len(h.known) > 2*len(h.keys)+64 {
		h.known = make(map[string]*chart.Past, len(h.keys))
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
				y = &chart.Past{}
				h.known[key] = y
			}
			r.past = append(r.past, y)
		}
		for i, k := range r.keys {
			from = min(from, r.past[i].Update(k, newest, now, d, h.width))
		}
		if len(r.keys) == 1 {
			r.cells, from = r.past[0].Cells, h.width
		}
		r.newest = newest
		if from == h.width {
			continue
		}
		if r.cells == nil {
			r.cells = make([]chart.Passed, h.width)
		}
		clear(r.cells[from:])
		for _, y := range r.past {
			for x, c := range y.Cells[from:] {
				r.cells[from+x].Join(c)
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
		r.cells[x] = chart.Passed{Level: last.Level, Known: last.Known, Watched: last.Watched}
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
