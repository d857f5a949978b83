// Package lane draws how full keys were, are and will be on one axis of time: a cell a column, with an
// upright line at now. The past comes from the timelines; what is to come is what the last reading
// makes of it if no client sends another request.
package lane

import (
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Cell is a column of time of one key or of several.
type Cell struct {
	Level    float32 // used/limit, the highest
	Known    bool    // watched, and the limit is known
	Watched  bool
	Denied   bool
	Arrivals bool
}

// cellOf returns the cell of a bin.
func cellOf(b *model.Bin, capacity int64) Cell {
	c := Cell{Denied: b.Denied > 0, Arrivals: b.Admitted+b.Denied > 0, Watched: b.UsedKnown || b.Watched}
	if b.UsedKnown && capacity > 0 {
		c.Known, c.Level = true, float32(b.Used)/float32(capacity)
	}
	return c
}

// Join takes in another key of the same row: the worst counts.
func (c *Cell) Join(o Cell) {
	c.Level = max(c.Level, o.Level)
	c.Known, c.Watched = c.Known || o.Known, c.Watched || o.Watched
	c.Denied, c.Arrivals = c.Denied || o.Denied, c.Arrivals || o.Arrivals
}

// extend takes in what came later in the same column of the same key, which was watched where both
// parts were, or the level is known.
func (c *Cell) extend(o Cell) {
	watched := c.Known || o.Known || c.Watched && o.Watched
	c.Join(o)
	c.Watched = watched
}

// Past is the cells of one key. They are kept while it moves from row to row. The zero value is ready.
type Past struct {
	Cells  []Cell          // oldest first
	newest limiter.Instant // end of the newest cell
	column time.Duration   // length of a cell
	read   limiter.Instant // of the reading that they show
	of     *model.Timeline // that they were made of
	stands bool            // the newest cell is that before it, for want of a reading
}

// late is how long after a reading requests of before it can still come to light: clients whose
// clocks differ, and a reading that takes its time.
const late = 250 * time.Millisecond

// Update makes the cells those that end with newest, and returns from which one on they are
// others than before. Nothing after now is shown. What the last reading has shown does not change: only what came after it is
// looked at, and joined to the cell that was not over.
func (y *Past) Update(k *model.Watched, newest, now limiter.Instant, column time.Duration, width int) (from int) {
	shift := int(newest.Sub(y.newest) / column)
	switch {
	case len(y.Cells) != width || y.newest == 0 || newest < y.newest || y.column != column || y.of != k.Timeline || shift >= width:
		y.Cells = slices.Grow(y.Cells[:0], width)[:width]
		from = 0
	case shift == 0 && y.read == k.Reading.At:
		return width
	default:
		copy(y.Cells, y.Cells[shift:])
		after := int((newest.Sub(y.read.Add(-late)) + column - 1) / column)
		from = max(width-min(after, shift+2), 0)
	}
	seen := y.read.Add(-late)
	if y.stands { // the cell says nothing of its own
		seen = min(seen, y.newest.Add(-column))
	}
	y.newest, y.column, y.read, y.of, y.stands = newest, column, k.Reading.At, k.Timeline, false
	capacity := model.Capacity(k.Reading.Target)
	for x := from; x < width; x++ {
		begin, end := newest.Add(-time.Duration(width-x)*column), min(newest.Add(-time.Duration(width-1-x)*column), now)
		if from > 0 && x < width-shift && begin < seen && seen < end { // all but the end of it is known
			b := k.Timeline.Between(seen, end)
			y.Cells[x].extend(cellOf(&b, capacity))
			continue
		}
		b := k.Timeline.Between(begin, end)
		y.Cells[x] = cellOf(&b, capacity)
	}
	if n := width - 1; n > 0 && !y.Cells[n].Watched && !k.Gone { // no reading is of the column that has just begun: the level stands
		last := y.Cells[n-1]
		y.Cells[n], y.stands = Cell{Level: last.Level, Known: last.Known, Watched: last.Watched}, true
	}
	return from
}
