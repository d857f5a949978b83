package tui

import "ratescope/tui/cell"

// The smallest terminal that the dashboard is drawn on.
const (
	minWidth  = 60
	minHeight = 20
)

// wideEnough is the width from which the key table stands beside the selected key.
const wideEnough = 110

// part is a pane of the dashboard that can have the focus.
type part uint8

const (
	paneKeys part = iota
	paneTimeline
	paneInjector
	panes // how many there are
)

// areas is where everything stands. An area with H == 0 is not drawn.
type areas struct {
	header, footer                 cell.Rect
	keys, timeline, bars, injector cell.Rect
	alerts                         cell.Rect // the newest, where the keys leave room for them
	split                          bool      // the injector has its decisions beside the forecast
}

// arrange lays the dashboard out. With expanded, the pane in focus takes the room of
// all others; keys is how many there are to list, and fired says whether the injector has
// decisions to show.
func arrange(w, h int, focus part, expanded, framed bool, keys int, fired bool) areas {
	var a areas
	rest := cell.Rect{W: w, H: h}
	a.header, rest = rest.Top(2)
	var body cell.Rect
	body, a.footer = rest.Top(rest.H - 1)
	switch {
	case expanded:
		a.expand(body, focus)
	case framed:
		a.wide(body, keys, fired)
	default:
		a.stacked(body, keys)
	}
	a.split = a.injector.W >= 120
	return a
}

func (a *areas) expand(body cell.Rect, focus part) {
	switch focus {
	case paneKeys:
		a.keys = body
	case paneInjector:
		a.injector = body
	default:
		a.timeline, a.bars = body.Top(body.H - min(9, body.H/3))
	}
}

// barsHeight is the room of the arithmetic with the picture above it, in a frame.
const barsHeight = 11

// wide gives the selected key the whole height, and divides the other side: the table
// takes what its keys fill, the injector what it can use, and what happened the rest.
func (a *areas) wide(body cell.Rect, keys int, fired bool) {
	left, right := body.Left(min(max(body.W*55/100, 56), 104))
	a.timeline, a.bars = right.Top(right.H - barsHeight)
	const tableFrame, leastTable, leastInjector, leastAlerts = 3, 12, 10, 6
	table := min(max(keys+tableFrame, leastTable), left.H-leastInjector)
	a.keys, left = left.Top(table)
	if spare := left.H - leastInjector; spare >= leastAlerts {
		if fired {
			spare = max(leastAlerts, spare-max(4, spare/3))
		}
		a.alerts, left = left.Top(spare)
	}
	a.injector = left
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
