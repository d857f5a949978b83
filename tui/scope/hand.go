package scope

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Forget says that nothing is painted yet: there is nothing to point at.
func (c *Scope) Forget() { c.area.H, c.tl = 0, nil }

// Reset goes back to now, with nothing under the cursor.
func (c *Scope) Reset() { c.back, c.cursor = 0, 0 }

// Now goes back to now.
func (c *Scope) Now() { c.back = 0 }

// Scroll goes a twelfth of the picture's width back in time, or forward.
func (c *Scope) Scroll(earlier bool) {
	step := int64(max(1, c.area.W/12))
	if !earlier {
		step = -step
	}
	c.back = max(0, c.back+step)
}

// Step is how often the picture that was painted last moves; 0 when none was.
func (c *Scope) Step() time.Duration {
	if c.tl == nil {
		return 0
	}
	if c.s.fine {
		return c.s.column / 2
	}
	return c.s.column
}

// at returns the beginning of the column at x; never 0.
func (c *Scope) at(x int) limiter.Instant {
	x = min(max(x-c.area.X, 0), c.s.n-1)
	return max(c.tl.ColumnBegin(c.s.last-int64(c.s.n-1-x), c.s.per), 1)
}

// columnWidth returns how many bins a column of a chart of that width joins: two windows
// fill the width, finer or coarser by as many steps as were asked for.
func (c *Scope) columnWidth(width int) int {
	per := model.PerColumn(width / 2)
	for range c.zoom {
		per = model.NextWidth(per, true)
	}
	for range -c.zoom {
		per = model.NextWidth(per, false)
	}
	return per
}

// Zoom goes one step towards a longer (coarser) or shorter stretch, unless the last step
// made no difference any more.
func (c *Scope) Zoom(coarser bool) {
	before, width := c.zoom, max(c.area.W, 2)
	per := c.columnWidth(width)
	if coarser {
		c.zoom++
	} else {
		c.zoom--
	}
	if c.columnWidth(width) == per {
		c.zoom = before
	}
}

// Holds says whether the cell x, y shows a piece of time.
func (c *Scope) Holds(x, y int) bool { return c.tl != nil && c.area.Holds(x, y) }

// Point puts the cursor at column x and takes hold for a drag.
func (c *Scope) Point(x int) {
	c.cursor = c.at(x)
	c.dragFrom, c.dragging, c.held = c.cursor, false, true
}

// Leave takes the cursor away, and says whether there was one.
func (c *Scope) Leave() bool {
	was := c.cursor != 0
	c.cursor = 0
	return was
}

// Drag moves the cursor while the button is down, and says whether it moved.
func (c *Scope) Drag(x int) bool {
	if !c.held || c.tl == nil {
		return false
	}
	at := c.at(x)
	moved := at != c.cursor
	if moved {
		c.cursor, c.dragging = at, true
	}
	return moved
}

// Drop ends a drag, and says whether a stretch was dragged over: then Fit shows it.
func (c *Scope) Drop() bool {
	held := c.held
	c.held = false
	return held && c.dragging && c.tl != nil
}

// Fit shows what was dragged over, at the width of the whole picture, as of now.
func (c *Scope) Fit(now limiter.Instant) {
	c.dragging = false
	tl, width := c.tl, c.area.W
	from, to := min(c.dragFrom, c.cursor), max(c.dragFrom, c.cursor)
	last := tl.Index(to) + int64(c.s.per) - 1 // the whole of the last column
	per := model.FitColumns(last-tl.Index(from)+1, width)
	c.zoom = 0
	for c.columnWidth(width) < per {
		c.zoom++
	}
	for c.columnWidth(width) > per {
		c.zoom--
	}
	c.back = max(0, tl.Column(now, per)-tl.Column(tl.Begin(last), per))
	c.cursor = 0
}
