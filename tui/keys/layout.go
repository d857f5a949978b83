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

// content is what of the panes' content their sizes follow.
type content struct {
	keys  int  // that are watched
	fired bool // a request was fired: the injector says what became of it
}

// arrange lays the dashboard out in a room. With expanded, the pane in focus takes the room
// of all others.
func arrange(body cell.Rect, focus part, expanded, framed bool, how arrangement, content content) areas {
	var a areas
	switch {
	case expanded:
		a.expand(body, focus)
	case how != allPanes:
		a.without(body, how, framed)
	case framed:
		a.wide(body, content)
	default:
		a.stacked(body, focus)
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

// wide gives the lanes the upper half over the whole width, and divides the lower one between the
// selected key's timeline and, beside it, what counts of it and the newest alerts. With few keys the
// lanes take less, and the injector grows with the first request.
func (a *areas) wide(body cell.Rect, c content) {
	const line, answer, roomForGraphs, step, around = 3, 5, 48, 6, 3
	injector := line
	if c.fired {
		injector = answer
	}
	high := body.H >= roomForGraphs
	lanes := max((c.keys+step-1)/step, 1) * step // in steps: a key that comes or goes moves no border
	a.keys, body = body.Top(min(body.H/2, lanes+around))
	body, a.injector = body.Top(body.H - injector)
	if high {
		a.graphs, body = body.Top(health.StripHeight)
	}
	var right cell.Rect
	a.timeline, right = body.Left(body.W * 58 / 100)
	a.bars, a.alerts = right.Top(min(barsHeight, right.H))
	if a.alerts.H < 4 {
		a.bars, a.alerts = right, cell.Rect{}
	}
}

// stacked puts the panes above each other, without frames. Where rows are few, the timeline takes the
// place of most lanes while it has the focus, and has none else.
func (a *areas) stacked(body cell.Rect, focus part) {
	bars, injector, timeline := 5, 3, 0
	if body.H >= 28 {
		bars, injector, timeline = 6, 5, max(body.H/4, 7)
	}
	if focus == paneTimeline {
		timeline = max(timeline, body.H-bars-injector-5)
	}
	a.keys, body = body.Top(body.H - bars - injector - timeline)
	a.timeline, body = body.Top(timeline)
	a.bars, a.injector = body.Top(bars)
}
