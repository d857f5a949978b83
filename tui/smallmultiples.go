package tui

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// The size of a tile of the grid screen: below it the numbers would not fit.
const (
	tileWidth  = 38
	tileHeight = 7
)

// tiling says how many tiles stand beside and above each other, and how large each is:
// as large as lets all keys be seen, else as many as fit.
func tiling(r cell.Rect, keys int) (cols, rows, w, h int) {
	const wide = 3 // a tile reads best about three times as wide as high
	cols, rows = max(1, r.W/tileWidth), max(1, r.H/tileHeight)
	best := 0
	for c := 1; c <= r.W/tileWidth; c++ {
		need := (max(keys, 1) + c - 1) / c
		if size := min(r.W/c, wide*(r.H/need)); need*tileHeight <= r.H && size > best {
			best, cols, rows = size, c, need
		}
	}
	return cols, rows, r.W / cols, min(r.H/rows, r.W/cols)
}

// paintGrid draws the same picture for as many keys as fit: two windows of time, the
// used level against the limit at the same height in every tile, so that levels can
// be compared by eye.
func (a *App) paintGrid(r cell.Rect) {
	cols, rows, w, h := tiling(r, len(a.rows))
	page := cols * rows
	a.gridPage = page
	first, _ := a.tiles()
	for i := range page {
		if first+i >= len(a.rows) {
			break
		}
		tile := cell.Rect{X: r.X + i%cols*w, Y: r.Y + i/cols*h, W: w, H: h}
		a.paintTile(tile, a.rows[first+i])
	}
	if len(a.rows) == 0 {
		a.Grid.Text(r.X+2, r.Y+1, r.X+r.W, a.searching(), a.Look.Dim)
	}
	a.gridCols = cols
}

// tiles returns the rows on the grid: the page that holds the selected one.
func (a *App) tiles() (from, to int) {
	page := max(a.gridPage, 1)
	for i, k := range a.rows {
		if k.Reading.Key == a.selected {
			from = i / page * page
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
		a.selected = key
		a.tellFocus()
		return nil
	})
	mark, style := a.mark(k)
	used := " " + usedOf(k) + " "
	name := safetext.Shorten(a.name(key), max(4, r.W-8-safetext.Width(used)), safetext.Ellipsis)
	x := a.Words(r.X+1, r.Y, r.X+r.W-1, pane.Bit(" "+mark+" ", style), pane.Bit(name+" ", a.Look.Title))
	a.Grid.Right(x, r.Y, r.X+r.W-2, used, style)
	in := r.Inset(1)
	if k.Reading.Err != "" || k.Timeline == nil {
		a.Grid.Text(in.X+1, in.Y, in.X+in.W, safetext.Clip(safetext.Clean(k.Reading.Err), in.W-2, safetext.Ellipsis), a.Look.Denied)
		return
	}
	plot, foot := in.Top(in.H - 1)
	s := a.stretch(k, plot.W)
	a.load(k, s)
	arrivals, lane := plot.Top(plot.H * 2 / 5)
	a.paintArrivalsIn(arrivals, s)
	a.paintLaneIn(lane, k, s)
	a.tintWindow(plot, k, s)
	g := &k.Gauge
	a.Words(foot.X, foot.Y, foot.X+foot.W, pane.Bit(figure.Algorithm(k.Reading.Target.Algorithm), a.Look.Dim),
		pane.Bit(" · "+figure.Length(k.Reading.Target.Window), a.Look.Dim), pane.Bit(" · "+figure.PerSecond(g.Rate), a.Look.Text))
	next := "next " + nextText(g)
	st := a.Look.Good
	if g.Throttled() {
		st = a.Look.Denied
	}
	a.Grid.Right(foot.X, foot.Y, foot.X+foot.W, next, st)
	if _, old := a.outdated(k); old {
		a.Grid.Wash(in, a.Look.Unknown.Fg)
	}
}

// paintArrivalsIn draws the columns without their axis and returns the scale.
func (a *App) paintArrivalsIn(r cell.Rect, s stretch) int64 {
	var most int64
	for i := range a.columns {
		most = max(most, a.columns[i].Admitted+a.columns[i].Denied)
	}
	most = chart.Nice(most)
	c := chart.Columns{Bins: a.columns, Max: most, First: s.first, Ground: a.edge(s)}
	c.Draw(&a.Grid, r, a.Look)
	return most
}
