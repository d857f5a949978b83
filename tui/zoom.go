package tui

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/cell"
)

// plotted is where the timeline was painted last and what of it, so that the mouse can
// point at a time.
type plotted struct {
	area cell.Rect
	s    stretch
	tl   *model.Timeline
}

// at returns the beginning of the column at x; never 0.
func (p plotted) at(x int) limiter.Instant {
	x = min(max(x-p.area.X, 0), p.s.n-1)
	return max(p.tl.ColumnBegin(p.s.last-int64(p.s.n-1-x), p.s.per), 1)
}

// columnWidth returns how many bins a column of a chart of that width joins: two windows
// fill the width, finer or coarser by as many steps as were asked for.
func (a *App) columnWidth(width int) int {
	per := model.PerColumn(width / 2)
	for range a.zoom {
		per = model.NextWidth(per, true)
	}
	for range -a.zoom {
		per = model.NextWidth(per, false)
	}
	return per
}

// zoomBy goes one step towards a longer (coarser) or shorter stretch, unless the last
// step made no difference any more.
func (a *App) zoomBy(coarser bool) {
	before, width := a.zoom, max(a.plot.area.W, 2)
	per := a.columnWidth(width)
	if coarser {
		a.zoom++
	} else {
		a.zoom--
	}
	if a.columnWidth(width) == per {
		a.zoom = before
	}
}

// point puts the cursor on the timeline and takes hold for a drag.
func (a *App) point(m tea.Mouse) {
	a.focus = paneTimeline
	a.cursor = a.plot.at(m.X)
	a.dragFrom, a.dragging = a.cursor, false
	a.held = true
}

// drag moves the cursor while the button is down.
func (a *App) drag(m tea.Mouse) {
	if !a.held || a.plot.tl == nil {
		return
	}
	if at := a.plot.at(m.X); at != a.cursor {
		a.cursor, a.dragging, a.stale = at, true, true
	}
}

// drop ends a drag: the picture pauses on the stretch that was dragged over.
func (a *App) drop() {
	if !a.held {
		return
	}
	a.held = false
	if !a.dragging || a.plot.tl == nil {
		return
	}
	a.dragging, a.stale = false, true
	tl, width := a.plot.tl, a.plot.area.W
	from, to := min(a.dragFrom, a.cursor), max(a.dragFrom, a.cursor)
	last := tl.Index(to) + int64(a.plot.s.per) - 1 // the whole of the last column
	per := model.FitColumns(last-tl.Index(from)+1, width)
	if a.frozen == nil {
		a.pause()
	}
	a.zoom = 0
	for a.columnWidth(width) < per {
		a.zoom++
	}
	for a.columnWidth(width) > per {
		a.zoom--
	}
	a.scroll = max(0, tl.Column(a.shownNow(), per)-tl.Column(tl.Begin(last), per))
	a.cursor = 0
}
