package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
)

// View returns the screen. It repaints only when something changed since the last
// call: Bubble Tea asks after every message, not once a frame.
func (a *App) View() tea.View {
	if a.screen == classScreen {
		return a.class.lab.View()
	}
	if a.stale {
		a.stale = false
		a.paint()
		a.frame = a.grid.String()
	}
	v := tea.NewView(a.frame)
	v.AltScreen = true
	v.WindowTitle = a.title()
	if w := a.board.Sweep; a.started && w.Passes == 0 && w.Total > 0 { // discovery, in the terminal's own bar
		v.ProgressBar = tea.NewProgressBar(tea.ProgressBarDefault, int(100*min(w.Scanned, w.Total)/w.Total))
	}
	if a.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

func (a *App) title() string {
	if !a.started {
		return "ratescope"
	}
	return "ratescope " + safetext.Clip(safetext.Clean(a.board.Server.Target), 60, safetext.Ellipsis)
}

func (a *App) paint() {
	g := &a.grid
	a.zones, a.plot = a.zones[:0], plotted{}
	g.Clear(g.Bounds())
	if a.w < minWidth || a.h < minHeight {
		a.tooSmall()
		return
	}
	a.areas = arrange(a.w, a.h, a.focus, a.expanded, len(a.rows))
	a.paintHeader(a.areas.header)
	body := cell.Rect{Y: a.areas.header.H, W: a.w, H: a.h - a.areas.header.H - a.areas.footer.H}
	switch a.screen {
	case smallMultiples:
		a.paintGrid(body)
	case health:
		a.paintHealth(body)
	case eventLog:
		a.paintEvents(body)
	default:
		a.paintDashboard()
	}
	a.paintFooter(a.areas.footer)
	if a.menu != nil {
		a.paintMenu()
	}
	if a.help {
		a.paintHelp()
	}
}

func (a *App) paintDashboard() {
	a.paintKeys(a.areas.keys)
	if r := a.areas.timeline; r.H > 0 {
		if other := a.compared(); other != nil && a.expanded {
			var below cell.Rect
			r, below = r.Top(r.H / 2)
			a.paintTimeline(below, other)
		}
		a.paintTimeline(r, a.current())
		a.paintBars(a.areas.bars)
	}
	a.paintInjector(a.areas.injector)
}

// compared is the pinned key that an expanded timeline shows below the selected one.
func (a *App) compared() *model.Watched {
	for _, k := range a.rows {
		if k.Pinned && k.Reading.Key != a.selected {
			return k
		}
	}
	return nil
}

func (a *App) tooSmall() {
	need := fmt.Sprintf("needs %dx%d, this is %dx%d", minWidth, minHeight, a.w, a.h)
	end := a.grid.Text(0, 0, a.w, "ratescope ", a.look.Title)
	if a.w < 10+len(need) {
		end = 0
	}
	a.grid.Text(end, 0, a.w, need, a.look.Near)
}

// section draws what surrounds a pane and returns the room inside: a box with the
// title in its top line, or where room is short a rule above.
func (a *App) section(r cell.Rect, focused bool, title func(x, y, end int) int) cell.Rect {
	if r.H == 0 || r.W == 0 {
		return cell.Rect{}
	}
	line := a.look.Border
	if focused {
		line = a.look.Accent
	}
	g := &a.grid
	g.Fill(r.X, r.Y, r.W, a.look.Box.H, line)
	inside := cell.Rect{X: r.X, Y: r.Y + 1, W: r.W, H: r.H - 1}
	if a.areas.framed {
		inside = r.Inset(1)
		a.look.Box.Frame(&a.grid, r, line)
	}
	x := r.X + 2
	g.Set(x-1, r.Y, ' ', line)
	x = title(x, r.Y, r.X+r.W-3)
	g.Set(x, r.Y, ' ', line)
	if a.areas.framed {
		return cell.Rect{X: inside.X + 1, Y: inside.Y, W: max(0, inside.W-2), H: inside.H}
	}
	return inside
}

// words writes pieces of text one after the other and returns the column after them.
func (a *App) words(x, y, end int, pieces ...piece) int {
	for _, p := range pieces {
		x = a.grid.Text(x, y, end, p.text, p.style)
	}
	return x
}

type piece struct {
	text  string
	style themes.Style
}

// button draws a clickable key with what it does and returns the column after it.
func (a *App) button(x, y, end int, key, label string, act action) int {
	width := len(key) + safetext.Width(label) + 3
	if x+width > end {
		return x
	}
	from := x
	x = a.words(x, y, end, piece{" " + key, a.look.ButtonKey}, piece{" " + label + " ", a.look.Button})
	a.zone(from, y, x-from, 1, a.doing(act))
	return x + 1
}

// doing returns what a click on an action does.
func (a *App) doing(act action) func() tea.Cmd {
	return func() tea.Cmd { return a.do(act) }
}
