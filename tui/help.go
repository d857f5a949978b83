package tui

import (
	"ratescope/model/safetext"
	"ratescope/tui/cell"
)

// paintFooter shows, in this order of need, the filter being typed, a sentence, or
// the keys that matter most.
func (a *App) paintFooter(r cell.Rect) {
	end := r.X + r.W
	switch {
	case a.typing:
		x := a.words(r.X+1, r.Y, end, piece{"/", a.look.Accent}, piece{safetext.Clean(a.view.Filter), a.look.Text}, piece{"▏", a.look.Accent})
		a.words(x+2, r.Y, end, piece{"enter keeps it · esc clears it", a.look.Dim})
		return
	case a.toast.text != "":
		st := a.look.Text
		if a.toast.bad {
			st = a.look.Denied
		}
		a.grid.Text(r.X+1, r.Y, end, safetext.Clip(safetext.Clean(a.toast.text), r.W-2, safetext.Ellipsis), st)
		return
	}
	hints := []struct {
		key, label string
		act        action
	}{
		{"?", "help", actHelp}, {"1", "keys", actScreen1}, {"2", "grid", actScreen2}, {"3", "lab", actScreen3}, {"4", "redis", actScreen4}, {"5", "events", actScreen5}, {"p", "pause", actPause}, {"/", "filter", actFilter}, {"s", "sort", actSort},
		{"enter", "expand", actExpand}, {"tab", "pane", actNextPane}, {"space", "fire", actFire}, {"b", "burst", actBurst},
		{"r", "rate", actRate}, {"x", "stop", actStop}, {"[ ]", "zoom", actZoomOut}, {"t", "theme", actTheme}, {"q", "quit", actQuit},
	}
	x := r.X + 1
	for _, h := range hints {
		if h.act == actPause && a.frozen != nil {
			h.label = "resume"
		}
		width := safetext.Width(h.key) + 1 + safetext.Width(h.label)
		if x+width > end {
			break
		}
		a.words(x, r.Y, end, piece{h.key, a.look.Accent}, piece{" " + h.label, a.look.Dim})
		act := h.act
		a.zone(x, r.Y, width, 1, a.doing(act))
		x += width + 2
	}
}

// groups are the headings of the help, in their order.
var groups = [...]struct{ name, title string }{
	{"fire", "fire"}, {"keys", "keys"}, {"time", "time"}, {"view", "view"},
}

// helpLine is one row of the help: a heading, a key with what it does, or nothing.
type helpLine struct{ heading, key, what string }

func helpLines() []helpLine {
	var lines []helpLine
	for i, group := range groups {
		if i > 0 {
			lines = append(lines, helpLine{})
		}
		lines = append(lines, helpLine{heading: group.title})
		for _, b := range bindings {
			if b.Group == group.name {
				lines = append(lines, helpLine{key: b.Shown, what: b.What})
			}
		}
	}
	return lines
}

// paintHelp lays the table of keys over the screen, in two columns where they fit; what
// does not fit is scrolled to.
func (a *App) paintHelp() {
	const width = 54
	lines := helpLines()
	cols := 1
	if a.w >= 2*width+8 {
		cols = 2
	}
	rows := min((len(lines)+cols-1)/cols, a.h-4)
	r := cell.Rect{W: cols*width + 3, H: rows + 2}
	r.X, r.Y = max(0, (a.w-r.W)/2), max(0, (a.h-r.H)/2)
	g, raised := &a.grid, a.look.Raised
	g.Clear(r)
	g.Tint(r, raised)
	a.look.Box.Frame(&a.grid, r, a.look.Accent.On(raised))
	g.Text(r.X+2, r.Y, r.X+r.W, " keys ", a.look.Title.On(raised))
	a.helpTop = min(max(a.helpTop, 0), max(0, len(lines)-rows*cols))
	hint := " any key closes "
	if len(lines) > rows*cols {
		hint = " ↑ ↓ scroll · any other key closes "
	}
	g.Right(r.X, r.Y+r.H-1, r.X+r.W-2, hint, a.look.Dim.On(raised))
	for i := range rows * cols {
		if a.helpTop+i >= len(lines) {
			break
		}
		l := lines[a.helpTop+i]
		x, y := r.X+2+i/rows*width, r.Y+1+i%rows
		end := min(x+width-1, r.X+r.W-1)
		g.Text(x, y, end, l.heading, a.look.Accent.On(raised))
		g.Text(x, y, end, l.key, a.look.Title.On(raised))
		g.Text(x+8, y, end, l.what, a.look.Text.On(raised))
	}
}
