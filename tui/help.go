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
		{"?", "help", actHelp}, {"1", "keys", actScreen1}, {"2", "grid", actScreen2}, {"4", "redis", actScreen4}, {"5", "events", actScreen5}, {"p", "pause", actPause}, {"/", "filter", actFilter}, {"s", "sort", actSort},
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

// paintHelp lays the table of keys over the screen, in as many columns as fit.
func (a *App) paintHelp() {
	const width = 52
	perColumn := len(bindings) + 2*len(groups)
	cols := 1
	if a.w >= 2*width+6 {
		cols, perColumn = 2, 20
	}
	h := min(perColumn+2, a.h-2)
	r := cell.Rect{W: min(cols*width+4, a.w-2), H: h}
	r.X, r.Y = (a.w-r.W)/2, (a.h-r.H)/2
	g := &a.grid
	g.Clear(r)
	g.Tint(r, a.look.Raised)
	a.box(r, a.look.Border.On(a.look.Raised))
	g.Text(r.X+2, r.Y, r.X+r.W, " keys ", a.look.Title.On(a.look.Raised))
	g.Right(r.X, r.Y+r.H-1, r.X+r.W-2, " any key closes ", a.look.Dim.On(a.look.Raised))
	x, y := r.X+2, r.Y+1
	for _, group := range groups {
		if cols == 2 && group.name == "time" {
			x, y = x+width, r.Y+1
		}
		y = a.paintHelpGroup(x, y, min(x+width-1, r.X+r.W-1), r.Y+r.H-1, group.name, group.title)
	}
}

func (a *App) paintHelpGroup(x, y, end, bottom int, name, title string) int {
	if y < bottom {
		a.grid.Text(x, y, end, title, a.look.Accent.On(a.look.Raised))
	}
	y++
	for _, b := range bindings {
		if b.group != name {
			continue
		}
		if y < bottom {
			a.grid.Text(x, y, end, b.shown, a.look.Title.On(a.look.Raised))
			a.grid.Text(x+8, y, end, b.what, a.look.Text.On(a.look.Raised))
		}
		y++
	}
	return y + 1
}
