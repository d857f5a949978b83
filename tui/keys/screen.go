// Package keys is the dashboard: the table of keys beside the selected one, with its
// timeline, what counts for it now, and the injector.
package keys

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/lab"
	"ratescope/tui/cell"
	"ratescope/tui/events"
	"ratescope/tui/health"
	screenlab "ratescope/tui/lab"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// Screen is the dashboard. Make one with New.
type Screen struct {
	s *session.Session

	area     cell.Rect
	areas    areas
	framed   bool
	focus    part
	expanded bool
	table    table
	what     whatIf
	actions  shell.Actions
}

// view is the screen on the canvas that it is painted on.
type view struct {
	c      *widget.Canvas
	screen *Screen
	s      *session.Session // the screen's
}

// New returns the dashboard of a session.
func New(s *session.Session) *Screen {
	d := &Screen{s: s, table: table{s: s, rows: widget.Rows{Height: 1}}, what: whatIf{s: s}}
	d.table.peers = []*table{&d.table}
	d.actions = append(append(d.rowActions(), s.Actions().Without(shell.ZoomIn, shell.ZoomOut)...), d.travel()...)
	d.actions = append(append(d.actions, session.ZoomActions(s.Shell, d.zoom)...), shell.Moves("keys", "key", d.table.step,
		func() int { return max(1, d.rowsShown()-1) }, func() int { return len(d.table.lines) })...)
	d.actions = append(d.actions,
		shell.Bind("view", "expand", "enter", "expands the pane; opens or folds a group", d.expand).For(shell.ToLook).Hinted("expand"),
		shell.Bind("view", "next pane", "tab", "moves the focus to the next pane",
			func() { d.focus = (d.focus + 1) % panes }),
		shell.Bind("keys", "open in the lab", "O", "opens the key's requests in the lab", d.study).In(shell.OfKey),
		shell.Bind("keys", "what if", "w", "puts the key's requests through other terms", d.what.ask).In(shell.OfKey).When(func() string {
			if d.s.Selection.Group == "" {
				return ""
			}
			return d.s.Selection.Group + " is a group: w asks about all of its keys on the heat map (6), and here about a selected key."
		}),
		shell.Bind("view", "collapse", "esc", "shows all panes again", d.collapse).Unless("There is nothing to go back from.",
			func() bool {
				return d.s.Shown.Back() > 0 || !d.expanded && !d.what.other.On && !d.s.Shown.Time.Pointing()
			}),
	)
	return d
}

// Keys lists what can be done here.
func (d *Screen) Keys() shell.Actions { return d.actions }

// Update handles what the shell hands on.
func (d *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.LayoutMsg:
		d.area, d.framed = msg.Area, msg.Framed
		d.layOut()
	case shell.TickMsg:
		d.s.Step = d.s.Shown.Time.Step()
	case shell.HiddenMsg:
		d.expanded = false
		d.s.Selection.Group = ""
		d.s.Shown.Time.Forget()
		d.s.Step = 0
	case tea.MouseClickMsg:
		if k := d.s.Selection.Current(); k != nil && msg.Button == tea.MouseLeft {
			if at, yes := d.s.Shown.Time.Future(msg.X, msg.Y, k.Gauge.Next); yes {
				return d.s.Orders.FireAt(at)
			}
		}
		if d.s.Shown.Time.Holds(msg.X, msg.Y) && msg.Button == tea.MouseLeft {
			d.focus = paneTimeline
			d.s.Shown.Time.Point(msg.X)
		}
		if msg.Button == tea.MouseRight {
			return d.rightClick(msg.X, msg.Y)
		}
	case tea.MouseMotionMsg:
		if i := d.rowAt(msg.X, msg.Y); i >= 0 && d.table.lines[i].group == nil {
			d.s.Selection.Point(d.table.lines[i].key.Reading.Key)
		}
		if d.s.Shown.Time.Drag(msg.X) || d.s.Shown.Time.Light(d.partAt(msg.X, msg.Y)) {
			d.s.Shell.Redraw()
		}
	case tea.MouseReleaseMsg:
		d.drop()
	case tea.MouseWheelMsg:
		return d.wheel(msg)
	}
	return nil
}

// layOut divides the room and scrolls the table so that the selected row is in sight.
func (d *Screen) layOut() {
	if d.s.Shown.Revisit() {
		d.s.Rows.Reorder()
	}
	d.table.list()
	d.areas = arrange(d.area, d.focus, d.expanded, d.framed,
		content{keys: d.table.listed(), fired: len(d.s.Orders.Decisions) > 0, mute: d.s.Orders.CanFire() != ""})
	d.what.run()
	d.table.rows = widget.Spread(d.rowsShown(), len(d.table.lines), tallest)
	d.table.scroll(max(1, d.rowsShown()))
	d.table.follow()
	d.arrangeTimeline()
}

// arrangeTimeline says where the timeline of the selected key will be drawn. Where it has no room its keys mean what they would
// in the whole width.
func (d *Screen) arrangeTimeline() {
	r := d.areas.timeline
	if d.s.Selection.Pinned() != nil && d.expanded {
		r, _ = r.Top(r.H / 2)
	}
	if r, _ = timelineIn(r, d.framed); r.H == 0 {
		r.W = d.area.W
	}
	d.s.Shown.Time.Arrange(r, d.s.Selection.Current(), d.s.Shown.Moment(), d.s.Shell.Canvas.Buffer.ASCII)
}

// timelineIn returns where in its pane the timeline of a key is drawn, and whether a sentence stands above it.
func timelineIn(pane cell.Rect, framed bool) (in cell.Rect, sentence bool) {
	const least = 10
	if in = widget.Inside(pane, framed); in.H >= least {
		_, in = in.Top(1)
		return in, true
	}
	return in, false
}

// rowsArea is where the rows of the table stand.
func (d *Screen) rowsArea() cell.Rect {
	in := d.areas.keys
	if d.framed {
		in = in.Inset(1)
	}
	_, in = in.Top(1)
	return in
}

// rowsShown is how many lines the rows of the table have.
func (d *Screen) rowsShown() int { return max(d.rowsArea().H, 0) }

func (d *Screen) expand() {
	if g := d.table.group(); g != nil && d.focus == paneKeys {
		d.table.openGroup(g, !d.table.groups.tree.open[g.path])
	} else {
		d.expanded = !d.expanded
	}
}

// study opens the requests of the selected key in the lab.
func (d *Screen) study() tea.Cmd {
	k := d.s.Selection.Current()
	if k == nil || k.Timeline == nil {
		return nil
	}
	t := lab.TraceOf(d.s.Names.Of(k.Reading.Key), k, d.s.Shown.At())
	return tea.Batch(d.s.Shell.Show("lab"), func() tea.Msg { return screenlab.OpenMsg{Trace: t} })
}

// collapse takes the cursor off the timeline, ends what if, then shows all panes.
func (d *Screen) collapse() {
	switch {
	case d.s.Shown.Time.Leave():
	case d.what.other.On:
		d.what = whatIf{s: d.s}
		d.s.Shown.Time.Compare(nil)
	default:
		d.expanded = false
	}
}

// drop ends a drag: the picture pauses on the piece of time that was dragged over.
func (d *Screen) drop() {
	from, to, ok := d.s.Shown.Time.Drop()
	if !ok {
		return
	}
	if !d.s.Shown.Paused() {
		d.s.Pause()
	}
	d.s.Shown.Time.Fit(from, to, d.s.Shown.At())
	d.s.Shell.Redraw()
}

// zoom shows a longer or a shorter stretch of time, and the timeline where it was not on screen.
func (d *Screen) zoom(coarser bool) bool {
	if d.areas.timeline.H == 0 {
		d.focus = paneTimeline
		d.layOut()
	}
	return d.s.Shown.Time.Zoom(coarser)
}

func (d *Screen) wheel(m tea.MouseWheelMsg) tea.Cmd {
	if by := shell.Wheel(m); d.areas.timeline.Holds(m.X, m.Y) {
		d.zoom(by > 0)
	} else {
		d.table.step(by)
	}
	return nil
}

// Paint draws the panes.
func (d *Screen) Paint(p *widget.Canvas, _ cell.Rect) {
	v := view{p, d, d.s}
	tableView{c: p, table: &d.table, s: d.s, focused: d.focus == paneKeys, focus: func() { d.focus = paneKeys }}.paint(d.areas.keys)
	if r := d.areas.timeline; r.H > 0 {
		if other := d.s.Selection.Pinned(); other != nil && d.expanded {
			var below cell.Rect
			r, below = r.Top(r.H / 2)
			v.paintTimeline(below, other)
		}
		v.paintTimeline(r, d.s.Selection.Current())
	}
	if d.what.other.On {
		v.paintWhatIf(d.areas.bars)
	} else {
		v.paintBars(d.areas.bars)
	}
	v.paintTips()
	if r := d.areas.graphs; r.H > 0 {
		health.PaintStrip(p, r, d.s)
	}
	if r := d.areas.alerts; r.H > 0 {
		events.PaintRecent(p, r, d.s)
	}
	injectorPane{c: p, s: d.s, split: d.areas.split}.paint(d.areas.injector, d.focus == paneInjector)
}

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
	injector := collect.If(c.fired, answer, line)
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
		left[i] = p.s.Rows.Rows
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
	if t.groups.on || t.s.Selection.Chosen || len(t.lines) == 0 {
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
		widest = max(widest, len(p.s.Options.Target), len("server"))
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
