package tui

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// The size of a tile of the grid screen: below it the numbers would not fit.
const (
	tileWidth  = 38
	tileHeight = 6
)

// tiling says how many tiles stand beside and above each other, and how high each is:
// as large as lets all keys be seen, else as many as fit.
func tiling(r cell.Rect, keys int) (cols, rows, h int) {
	const wide = 3 // a tile reads best about three times as wide as high
	cols, rows = max(1, r.W/tileWidth), max(1, r.H/tileHeight)
	best := 0
	for c := 1; c <= r.W/tileWidth; c++ {
		need := (max(keys, 1) + c - 1) / c
		if size := min(r.W/c, wide*(r.H/need)); need*tileHeight <= r.H && size > best {
			best, cols, rows = size, c, need
		}
	}
	return cols, rows, min(r.H/rows, r.W/cols)
}

// tileAt is the place of a tile; where they fill the height no row and no column is left over.
func tileAt(r cell.Rect, col, row, cols, rows, h int) cell.Rect {
	x, y := col*r.W/cols, row*h
	below := y + h
	if h == r.H/rows {
		y, below = row*r.H/rows, (row+1)*r.H/rows
	}
	return cell.Rect{X: r.X + x, Y: r.Y + y, W: (col+1)*r.W/cols - x, H: below - y}
}

// paintGrid draws the same picture for as many keys as fit: two windows of time, the
// used level against the limit at the same height in every tile, so that levels can
// be compared by eye.
func (a *App) paintGrid(r cell.Rect) {
	cols, rows, h := tiling(r, len(a.rows))
	page := cols * rows
	a.gridPage, a.gridCols = page, cols
	first, _ := a.tiles()
	for i := range min(page, len(a.rows)-first) {
		a.paintTile(tileAt(r, i%cols, i/cols, cols, rows, h), a.rows[first+i])
	}
	if len(a.rows) == 0 {
		a.Grid.Text(r.X+2, r.Y+1, r.X+r.W, a.searching(), a.Look.Dim)
	}
}

// tiles returns the rows on the grid: the first ones, or when somebody chose another those
// that end with its line of tiles.
func (a *App) tiles() (from, to int) {
	page, cols := max(a.gridPage, 1), max(a.gridCols, 1)
	for i, k := range a.rows {
		if k.Reading.Key == a.selected && a.picked {
			from = max(0, (i/cols+1)*cols-page)
		}
	}
	return from, from + page
}

func (a *App) paintTile(r cell.Rect, k *model.Watched) {
	key := k.Reading.Key
	line := a.Look.Border
	if key == a.selected {
		line = a.Look.Accent
	}
	a.Look.Box.Frame(&a.Grid, r, line)
	a.Zone(r, func(int) tea.Cmd {
		if a.selected == key {
			return a.do(actScreen1)
		}
		a.pick(key)
		return nil
	})
	mark, style := a.mark(k)
	used := " " + usedOf(k, 11) + " "
	name := safetext.Shorten(a.name(key), max(4, r.W-8-safetext.Width(used)), safetext.Ellipsis)
	x := a.Words(r.X+1, r.Y, r.X+r.W-1, pane.Bit(" "+mark+" ", style), pane.Bit(name+" ", a.Look.Title))
	a.Grid.Right(x, r.Y, r.X+r.W-2, used, style)
	in := r.Inset(1)
	if k.Reading.Err != "" || k.Timeline == nil {
		a.Grid.Text(in.X+1, in.Y, in.X+in.W, safetext.Clip(safetext.Clean(k.Reading.Err), in.W-2, safetext.Ellipsis), a.Look.Unknown)
		return
	}
	a.scope.Tile(&a.Paper, in, k, a.moment())
	g, foot := &k.Gauge, r.Y+r.H-1
	next, st := " next "+nextText(g, 6)+" ", a.Look.Good
	switch {
	case g.Throttled():
		st = a.Look.Denied
	case !g.NextKnown:
		st = a.Look.Unknown
	}
	end := r.X + r.W - 2
	a.Grid.Right(r.X+2, foot, end, next, st)
	rate := figure.Unknown
	if g.RateKnown {
		rate = figure.PerSecond(g.Rate)
	}
	a.Words(r.X+2, foot, end-safetext.Width(next), pane.Bit(" "+figure.Algorithm(k.Reading.Target.Algorithm), a.Look.Dim),
		pane.Bit(" · "+figure.Length(k.Reading.Target.Window), a.Look.Dim), pane.Bit(" · "+rate+" ", a.Look.Text))
	if _, old := a.outdated(k); old {
		a.Grid.Wash(in, a.Look.Unknown.Fg)
		a.Grid.Wash(cell.Rect{X: r.X, Y: foot, W: r.W, H: 1}, a.Look.Unknown.Fg)
	}
}
