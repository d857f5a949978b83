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
	known    bool // watched, and the limit is known
	watched  bool
	level    float32 // used/limit, the highest
	denied   bool
	arrivals bool
}

// add takes in another key of the same row: the worst counts.
func (c *heat) add(b *model.Bin, capacity int64) {
	c.denied = c.denied || b.Denied > 0
	c.arrivals = c.arrivals || b.Admitted+b.Denied > 0
	c.watched = c.watched || b.UsedKnown || b.Watched
	if b.UsedKnown && capacity > 0 {
		c.known = true
		c.level = max(c.level, float32(b.Used)/float32(capacity))
	}
}

// tallest is how many lines a row of a short map takes.
const tallest = 2

// layOut divides the room and works out what is new: the newest column while only time has
// passed, all of it when the keys or the columns are others.
func (h *Screen) layOut(area cell.Rect) {
	h.names = min(max(area.W/4, 16), 36)
	h.area = cell.Rect{X: area.X + h.names + 1, Y: area.Y + 1, W: max(area.W-h.names-2, 1), H: max(area.H-2, 1)}
	d := steps[h.step]
	newest := h.At().Floor(d).Add(d)
	w := h.window()
	keys := h.Rows()[w.from:w.to]
	if h.width != h.area.W || !slices.Equal(keys, h.keys) {
		h.keys, h.width = slices.Clone(keys), h.area.W
		h.rows = bundle(keys, h.area.H)
		for i := range h.rows {
			h.rows[i].cells = make([]heat, h.area.W)
		}
		h.newest = 0
	}
	h.fill(newest)
	h.height = min(max(h.area.H/max(len(h.rows), 1), 1), tallest)
	shown := h.area.H / h.height
	h.at = min(h.at, max(len(h.rows)-1, 0))
	h.first = min(max(h.first, h.at-shown+1), h.at)
	h.first = min(max(h.first, 0), max(len(h.rows)-shown, 0))
	h.See(w.from+h.first, w.from+h.first+shown)
}

// bundle shares the keys out among so many rows.
func bundle(keys []*model.Watched, rows int) []row {
	per := max((len(keys)+rows-1)/max(rows, 1), 1)
	var list []row
	for group := range slices.Chunk(keys, per) {
		list = append(list, row{keys: group})
	}
	return list
}

// fill works out the columns that are not known yet, and the two newest anew.
func (h *Screen) fill(newest limiter.Instant) {
	d := steps[h.step]
	fresh := h.area.W
	if h.newest != 0 && newest >= h.newest {
		fresh = min(int(newest.Sub(h.newest)/d)+2, h.area.W)
	}
	shift := 0
	if h.newest != 0 && newest >= h.newest {
		shift = min(int(newest.Sub(h.newest)/d), h.area.W)
	}
	h.newest = newest
	for i := range h.rows {
		cells := h.rows[i].cells
		copy(cells, cells[shift:])
		for x := h.area.W - fresh; x < h.area.W; x++ {
			end := newest.Add(-time.Duration(h.area.W-1-x) * d)
			cells[x] = heat{}
			for _, k := range h.rows[i].keys {
				b := k.Timeline.Between(end.Add(-d), end)
				cells[x].add(&b, model.Capacity(k.Reading.Target))
			}
		}
	}
}
