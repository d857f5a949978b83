package keys

import (
	"ratescope/model"
	"ratescope/model/collect"
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
	keys  int  // or groups, that the table lists without a filter
	fired bool // a request was fired: the injector says what became of it
	mute  bool // nothing can be fired: the injector says why
}

// arrange lays the dashboard out in a room. With expanded, the pane in focus takes the room
// of all others.
func arrange(body cell.Rect, focus part, expanded, framed bool, content content) areas {
	var a areas
	switch {
	case expanded:
		a.expand(body, focus)
	case framed:
		a.wide(body, content)
	default:
		a.stacked(body, focus, content)
	}
	a.split = a.injector.W >= 120 && content.fired
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
func (a *areas) stacked(body cell.Rect, focus part, c content) {
	bars, injector, timeline := 5, 3, 0
	if body.H >= 28 {
		bars, timeline = 6, max(body.H/4, 7)
		if c.fired {
			injector = 5
		}
	}
	if c.mute && !c.fired {
		injector = 2
	}
	if focus == paneTimeline {
		timeline = max(timeline, body.H-bars-injector-5)
	}
	a.keys, body = body.Top(body.H - bars - injector - timeline)
	a.timeline, body = body.Top(timeline)
	a.bars, a.injector = body.Top(bars)
}

// Join makes one table of those of several servers. Each screen lists the keys of all; the one that is
// shown is that of the selected key's server.
func Join(screens ...*Screen) {
	all := collect.Map(screens, func(d *Screen) *table { return &d.table })
	for _, d := range screens {
		d.table.peers = all
	}
}

// merge brings the rows of all servers into one order: that of this one's.
func (t *table) merge() {
	left := make([][]*model.Watched, len(t.peers))
	n := 0
	for i, p := range t.peers {
		p.s.Follow(t.s)
		p.s.Rows.Like(t.s.Rows)
		left[i] = p.s.Rows.Rows()
		n += len(left[i])
	}
	t.lines = t.lines[:0]
	for len(t.lines) < n {
		first := -1
		for i, rows := range left {
			if len(rows) > 0 && (first < 0 || t.peers[i].s.Rows.Compare(rows[0], t.peers[first].s.Rows, left[first][0]) < 0) {
				first = i
			}
		}
		t.lines = append(t.lines, line{key: left[first][0], table: t.peers[first]})
		left[first] = left[first][1:]
	}
}

// follow shows the server of the first row, until a person has chosen a key.
func (t *table) follow() {
	if t.groups.on || t.s.Selection.Chosen() || len(t.lines) == 0 {
		return
	}
	if first := t.lines[0].table; first != t {
		first.top = 0
		first.s.Shell.Group.Front(t.s.Shell)
	}
}

// pick selects a key of the table's server for a person, and shows that server.
func (t *table) pick(key string) {
	t.groups.at = ""
	for _, p := range t.peers {
		if p != t && p.shown() {
			t.top = p.top
		}
	}
	t.s.Selection.Pick(key)
	t.s.Shell.Group.Front(t.s.Shell)
}

// shown reports whether the screen of the table's server is the one that is shown.
func (t *table) shown() bool { return t.s.Shell.Group.Shows(t.s.Shell) }

// serverWidth is how many cells the names of the servers take; 0 where there is one alone.
func (t *table) serverWidth() int {
	widest := 0
	for _, p := range t.several() {
		widest = max(widest, len(p.s.Options.Target))
	}
	return min(widest, mostServer)
}

// mostServer is how many cells the column of the servers has at most.
const mostServer = 12

// several are the tables of the servers in one view; none where one is watched alone.
func (t *table) several() []*table {
	if len(t.peers) == 1 {
		return nil
	}
	return t.peers
}

// listed is how many groups there are or, without them, keys that are watched on all servers.
func (t *table) listed() int {
	if t.groups.on {
		return len(t.lines)
	}
	return collect.Sum(t.peers, func(p *table) int { return p.s.Shown.Live().Len() })
}
