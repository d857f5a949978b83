package tui

import "ratescope/tui/cell"

// The smallest terminal that the dashboard is drawn on.
const (
	minWidth  = 60
	minHeight = 20
)

// wideEnough is the width from which the key table stands beside the selected key.
const wideEnough = 110

// pane is a part of the dashboard that can have the focus.
type pane uint8

const (
	paneKeys pane = iota
	paneTimeline
	paneInjector
	panes // how many there are
)

// areas is where everything stands. An area with H == 0 is not drawn.
type areas struct {
	header, footer                 cell.Rect
	keys, timeline, bars, injector cell.Rect
	framed                         bool // boxes around panes; else one rule above each
	split                          bool // the injector has its decisions beside the forecast
}

// arrange lays the dashboard out. With expanded, the pane in focus takes the room of
// all others.
func arrange(w, h int, focus pane, expanded bool, keys int) areas {
	var a areas
	rest := cell.Rect{W: w, H: h}
	a.header, rest = rest.Top(2)
	var body cell.Rect
	body, a.footer = rest.Top(rest.H - 1)
	a.framed = w >= wideEnough && h >= 30
	a.split = w >= 100
	switch {
	case expanded:
		a.expand(body, focus)
	case a.framed:
		a.wide(body)
	default:
		a.stacked(body, keys)
	}
	return a
}

func (a *areas) expand(body cell.Rect, focus pane) {
	switch focus {
	case paneKeys:
		a.keys = body
	case paneInjector:
		a.injector = body
	default:
		a.timeline, a.bars = body.Top(body.H - min(9, body.H/3))
	}
}

func (a *areas) wide(body cell.Rect) {
	bottom := max(9, min(13, body.H/4))
	top, injector := body.Top(body.H - bottom)
	a.injector = injector
	left, right := top.Left(min(max(top.W*55/100, 56), 104))
	a.keys = left
	a.timeline, a.bars = right.Top(right.H - 9)
}

func (a *areas) stacked(body cell.Rect, keys int) {
	bars, injector := 4, 3
	if body.H >= 28 {
		bars, injector = 6, 5
	}
	spare := body.H - bars - injector
	table := min(max(spare*2/5, 4), max(keys+1, 4))
	a.keys, body = body.Top(table)
	a.timeline, body = body.Top(body.H - bars - injector)
	a.bars, a.injector = body.Top(bars)
}
