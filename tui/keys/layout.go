package keys

import (
	"ratescope/tui/cell"
	"ratescope/tui/health"
)

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
	keys, timeline, bars, injector cell.Rect
	graphs                         cell.Rect // of all keys and the server, on a high screen
	alerts                         cell.Rect // the newest, where the keys leave room for them
	split                          bool      // the injector has its decisions beside the forecast
}

// arrange lays the dashboard out in a room. With expanded, the pane in focus takes the room
// of all others.
func arrange(body cell.Rect, focus part, expanded, framed bool, how arrangement) areas {
	var a areas
	switch {
	case expanded:
		a.expand(body, focus)
	case how != allPanes:
		a.without(body, how, framed)
	case framed:
		a.wide(body)
	default:
		a.stacked(body)
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

// barsHeight is the room of the arithmetic in a frame; a level has its picture there too.
const barsHeight = 9

// wide gives the selected key the whole height of one side and divides the other among the
// table, graphs, the newest alerts and the injector. What the panes hold moves no border.
func (a *areas) wide(body cell.Rect) {
	left, right := body.Left(min(max(body.W*55/100, 56), 104))
	a.timeline, a.bars = right.Top(right.H - barsHeight)
	const injector, leastAlerts, roomForGraphs = 10, 6, 46
	alerts, graphs := 0, 0
	if left.H >= 12+injector+leastAlerts {
		alerts = max(leastAlerts, left.H/5)
	}
	if left.H >= roomForGraphs {
		graphs = health.StripHeight
	}
	a.keys, left = left.Top(left.H - injector - alerts - graphs)
	a.graphs, left = left.Top(graphs)
	a.alerts, a.injector = left.Top(alerts)
}

// stacked puts the panes above each other, without frames.
func (a *areas) stacked(body cell.Rect) {
	bars, injector := 4, 3
	if body.H >= 28 {
		bars, injector = 6, 5
	}
	a.keys, body = body.Top(max((body.H-bars-injector)*2/5, 4))
	a.timeline, body = body.Top(body.H - bars - injector)
	a.bars, a.injector = body.Top(bars)
}
