package grid

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/widget"
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

func (v view) paintTile(r cell.Rect, k *model.Watched) {
	key := k.Reading.Key
	line := v.c.Look.Border
	if key == v.s.Selection.Selected() {
		line = v.c.Look.Accent
	}
	v.c.Look.Box.Frame(&v.c.Buffer, r, line)
	v.c.OnClick(r, func(int) tea.Cmd {
		if v.s.Selection.Selected() == key {
			return v.s.Shell.Show("dashboard")
		}
		v.s.Selection.Pick(key)
		return nil
	})
	mark, style := v.s.Mark(k, v.c.Look)
	used := " " + session.UsedText(k, 11) + " "
	name := v.s.ShortName(key, max(4, r.W-8-safetext.Width(used)))
	x := v.c.Spans(r.X+1, r.Y, r.X+r.W-1, widget.Styled(" "+mark+" ", style), widget.Styled(name+" ", v.c.Look.Title))
	v.c.Buffer.Right(x, r.Y, r.X+r.W-2, used, style)
	in := r.Inset(1)
	if k.Reading.Err != "" || k.Timeline == nil {
		v.c.Buffer.Text(in.X+1, in.Y, in.X+in.W, safetext.Clip(safetext.Clean(k.Reading.Err), in.W-2, safetext.Ellipsis), v.c.Look.Unknown)
		return
	}
	v.s.Shown.Time.Tile(v.c, in, k, v.s.Shown.Moment())
	g, foot := &k.Gauge, r.Y+r.H-1
	next, st := " next "+session.NextText(g, 6)+" ", v.c.Look.Good
	switch {
	case g.Throttled():
		st = v.c.Look.Denied
	case !g.NextKnown:
		st = v.c.Look.Unknown
	}
	end := r.X + r.W - 2
	v.c.Buffer.Right(r.X+2, foot, end, next, st)
	rate := format.Unknown
	if pace, known := g.Pace(); known {
		rate = format.PerSecond(pace)
	}
	v.c.Spans(r.X+2, foot, end-safetext.Width(next), widget.Styled(" "+k.Reading.Target.Algorithm.Short(), v.c.Look.Dim),
		widget.Styled(" · "+format.Length(k.Reading.Target.Window), v.c.Look.Dim), widget.Styled(" · "+rate+" ", v.c.Look.Text))
	if _, old := v.s.Shown.Outdated(k); old {
		v.c.Buffer.Wash(in, v.c.Look.Unknown.Fg)
		v.c.Buffer.Wash(cell.Rect{X: r.X, Y: foot, W: r.W, H: 1}, v.c.Look.Unknown.Fg)
	}
}
