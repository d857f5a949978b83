package keys

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// Grid is the screen that shows the same picture for many keys at once: two windows of time, with the used
// level at the same height in every tile, so that levels can be compared by eye. Make one with NewGrid.
type Grid struct {
	s *session.Session

	area       cell.Rect
	cols, rows int // tiles beside and above each other
	height     int // of a tile
	pages      int // how many there are,
	page       int // and which is on screen
	actions    shell.Actions
}

// NewGrid returns the grid of a session.
func NewGrid(s *session.Session) *Grid {
	g := &Grid{s: s, cols: 1, rows: 1}
	move := s.Selection.Move
	g.actions = append(s.Actions(), shell.Moves("keys", "key", func(rows int) { move(rows * g.cols) },
		func() int { return g.rows }, func() int { return len(g.s.Rows.Rows) })...)
	g.actions = append(g.actions,
		shell.Bind("keys", "left", "← h", "selects the key to the left", func() { move(-1) }, "left", "h").For(shell.ToLook),
		shell.Bind("keys", "right", "→ l", "selects the key to the right", func() { move(1) }, "right", "l").For(shell.ToLook),
		shell.Bind("view", "open", "enter", "shows the key on the dashboard", func() tea.Cmd { return g.s.Shell.Show("dashboard") }).
			For(shell.ToLook).Hinted("open"),
	)
	return g
}

// Keys lists what can be done here.
func (g *Grid) Keys() shell.Actions { return g.actions }

// Update handles what the shell hands on.
func (g *Grid) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.LayoutMsg:
		g.area = msg.Area
		g.cols, g.rows, g.height = tiling(g.area, len(g.s.Rows.Rows))
		per := max(g.cols*g.rows, 1)
		g.pages = max((len(g.s.Rows.Rows)+per-1)/per, 1)
		g.page = min(g.page, g.pages-1)
		if i := g.s.Selection.Index(); i >= 0 && g.s.Selection.Picked {
			g.page = i / per
		}
		g.s.Selection.See(g.page*per, (g.page+1)*per)
	case tea.MouseWheelMsg:
		g.s.Selection.Move(g.cols * shell.Wheel(msg))
	}
	return nil
}

// Paint draws the page of tiles, and at the lower edge which page it is.
func (g *Grid) Paint(p *widget.Canvas, r cell.Rect) {
	rows := g.s.Rows.Rows
	if len(rows) == 0 {
		session.PaintSearch(p, r, g.s.Shown.Live())
		return
	}
	page := g.cols * g.rows
	first := g.page * page
	for i := range min(page, len(rows)-first) {
		g.paintTile(p, tileAt(r, i%g.cols, i/g.cols, g.cols, g.rows, g.height), rows[first+i])
	}
	if g.pages > 1 {
		p.Buffer.Right(r.X, r.Y+r.H-1, r.X+r.W-1, fmt.Sprintf(" page %d of %d ", g.page+1, g.pages), p.Look.Dim)
	}
}

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

func (g *Grid) paintTile(p *widget.Canvas, r cell.Rect, k *model.Watched) {
	key := k.Reading.Key
	line, chosen := p.Selectable(key == g.s.Selection.Selected)
	p.Look.Box.Frame(&p.Buffer, r, line)
	p.OnClick(r, func(int) tea.Cmd {
		if g.s.Selection.Selected == key {
			return g.s.Shell.Show("dashboard")
		}
		g.s.Selection.Pick(key)
		return nil
	})
	mark, style := g.s.Tell.Mark(k, p.Look)
	used := " " + session.UsedText(k, 11) + " "
	name := g.s.Names.Short(key, max(4, r.W-8-safetext.Width(used)))
	x := p.Spans(r.X+1, r.Y, r.X+r.W-1, widget.Styled(chosen, line), widget.Styled(mark+" ", style), widget.Styled(name+" ", p.Look.Title))
	p.Buffer.Right(x, r.Y, r.X+r.W-2, used, style)
	in := r.Inset(1)
	if k.Reading.Err != "" || k.Timeline == nil {
		p.Buffer.Text(in.X+1, in.Y, in.X+in.W, safetext.Clip(safetext.Clean(k.Reading.Err), in.W-2, safetext.Ellipsis), p.Look.Unknown)
		return
	}
	g.s.Shown.Time.Tile(p, in, k, g.s.Shown.Moment())
	now, foot := &k.Gauge, r.Y+r.H-1
	next, st := " next "+session.NextText(now, 6)+" ", p.Look.Good
	switch {
	case now.Throttled():
		st = p.Look.Denied
	case !now.NextKnown:
		st = p.Look.Unknown
	}
	end := r.X + r.W - 2
	p.Buffer.Right(r.X+2, foot, end, next, st)
	limiter := " " + describe.Short(k.Reading.Target.Algorithm) + " · " + format.Length(k.Reading.Target.Window)
	pace := " · " + now.Pace().Text(format.PerSecond) + " "
	p.Spans(r.X+2, foot, end-safetext.Width(next), widget.Styled(limiter, p.Look.Dim), widget.Styled(pace, p.Look.Text))
	if _, old := g.s.Shown.Outdated(k); old {
		p.Buffer.Wash(in, p.Look.Unknown)
		p.Buffer.Wash(cell.Rect{X: r.X, Y: foot, W: r.W, H: 1}, p.Look.Unknown)
	}
}
