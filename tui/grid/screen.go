// Package grid shows the same picture for many keys at once: two windows of time, with the
// used level at the same height in every tile, so that levels can be compared by eye.
package grid

import (
	"charm.land/bubbles/v2/paginator"
	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// Screen is the grid. Make one with New.
type Screen struct {
	s *session.Session

	area       cell.Rect
	cols, rows int // tiles beside and above each other
	height     int // of a tile
	pages      int // how many there are,
	page       int // and which is on screen
	actions    shell.Actions
}

// view is the screen on the canvas that it is painted on.
type view struct {
	c      *widget.Canvas
	screen *Screen
	s      *session.Session // the screen's
}

// New returns the grid of a session.
func New(s *session.Session) *Screen {
	g := &Screen{s: s, cols: 1, rows: 1}
	move := func(by func() int) func() tea.Cmd {
		return func() tea.Cmd { g.s.Selection.Move(by()); return nil }
	}
	page := func() int { return g.cols * g.rows }
	g.actions = append(s.Actions(),
		shell.Bind("keys", "left", "← h", "selects the key to the left", move(func() int { return -1 }), "left", "h").For(shell.ToLook),
		shell.Bind("keys", "right", "→ l", "selects the key to the right", move(func() int { return 1 }), "right", "l").For(shell.ToLook),
		shell.Bind("keys", "up", "↑ k", "selects the key above", move(func() int { return -g.cols }), "up", "k").For(shell.ToLook),
		shell.Bind("keys", "down", "↓ j", "selects the key below", move(func() int { return g.cols }), "down", "j").For(shell.ToLook),
		shell.Bind("keys", "page up", "pgup", "goes up a page", move(func() int { return -page() }), "pgup", "ctrl+b"),
		shell.Bind("keys", "page down", "pgdn", "goes down a page", move(page), "pgdown", "ctrl+f"),
		shell.Bind("keys", "first key", "home", "selects the first key", move(func() int { return -len(g.s.Rows.Rows()) }), "home"),
		shell.Bind("keys", "last key", "end G", "selects the last key", move(func() int { return len(g.s.Rows.Rows()) }), "end", "G"),
		shell.Bind("view", "open", "enter", "shows the key on the dashboard", func() tea.Cmd { return g.s.Shell.Show("dashboard") },
			"enter").For(shell.ToLook).Hinted("open"),
	)
	return g
}

// Keys lists what can be done here.
func (g *Screen) Keys() shell.Actions { return g.actions }

// Update handles what the shell hands on.
func (g *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.LayoutMsg:
		g.area = msg.Area
		g.cols, g.rows, g.height = tiling(g.area, len(g.s.Rows.Rows()))
		per := max(g.cols*g.rows, 1)
		g.pages = max((len(g.s.Rows.Rows())+per-1)/per, 1)
		g.page = min(g.page, g.pages-1)
		if i := g.s.Selection.Index(); i >= 0 && g.s.Selection.Picked() {
			g.page = i / per
		}
		g.s.Selection.See(g.page*per, (g.page+1)*per)
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelDown {
			g.s.Selection.Move(g.cols)
		} else {
			g.s.Selection.Move(-g.cols)
		}
	}
	return nil
}

// Paint draws the page of tiles, and at the lower edge which page it is.
func (g *Screen) Paint(p *widget.Canvas, r cell.Rect) {
	v := view{p, g, g.s}
	rows := g.s.Rows.Rows()
	if len(rows) == 0 {
		session.PaintSearch(p, r, g.s.Shown.Live())
		return
	}
	page := g.cols * g.rows
	first := g.page * page
	for i := range min(page, len(rows)-first) {
		v.paintTile(tileAt(r, i%g.cols, i/g.cols, g.cols, g.rows, g.height), rows[first+i])
	}
	if g.pages > 1 {
		dots := paginator.New(paginator.WithTotalPages(g.pages))
		dots.Page, dots.Type = g.page, paginator.Arabic
		dots.ArabicFormat = "page %d of %d"
		p.Buffer.Right(r.X, r.Y+r.H-1, r.X+r.W-1, " "+dots.View()+" ", p.Look.Dim)
	}
}
