// Package heat shows every key as a row and time as columns: colour and shade are how much of
// the limit was used, a shape of its own is a denial. More keys than rows share a row, which
// shows the worst of them and can be opened.
package heat

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// steps are the lengths of a column.
var steps = [...]time.Duration{
	200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
}

// usualStep is the index of the length that a column has at first.
const usualStep = 2

// Screen is the heat map. Make one with New.
type Screen struct {
	s *session.Session

	area    cell.Rect // of the past, without names, header and axis
	ahead   int       // columns of the time to come, beyond the line at now
	names   int       // columns for the names
	step    int       // index of the length of a column
	rows    []row
	lines   widget.Rows
	first   int    // first row on screen
	at      int    // row under the cursor
	key     string // of that row, once a person has moved the cursor, which stays on it
	back    int    // columns from now to the cursor
	inside  []scope
	fold    bool // keys share rows by the beginnings of their names, however few they are
	what    whatIf
	actions shell.Actions

	newest      limiter.Instant // end of the newest column
	keys        []*model.Watched
	width, high int // of the map that the rows were made for
	folded      bool
	known       map[string]*chart.History // by key
	turn        int
}

// scope is what was opened: the keys that begin with a prefix, or a range of those that were
// shown.
type scope struct {
	prefix   string
	from, to int
}

// row is one or several keys.
type row struct {
	keys   []*model.Watched
	prefix string           // of a row of keys that begin alike; "" of any others
	past   []*chart.History // of the keys, in their order
	cells  []chart.Passed   // oldest first
	coming []chart.Coming
	newest limiter.Instant // end of the newest cell

	throttled, near int // of several keys
}

// New returns the heat map of a session.
func New(s *session.Session) *Screen {
	h := &Screen{s: s, step: usualStep, lines: widget.Rows{Height: 1}}
	h.actions = append(s.Actions().Without(shell.ZoomIn, shell.ZoomOut, shell.Fire, shell.Burst, shell.Rate),
		shell.Moves("heat", "row", func(rows int) { h.move(rows, 0) }, func() int { return h.area.H },
			func() int { return len(h.rows) })...)
	h.actions = append(append(h.actions, session.ZoomActions(s.Shell, h.zoom)...),
		shell.Bind("heat", "earlier", "← h", "goes back in time", func() { h.move(0, 1) }, "left", "h").For(shell.ToTime),
		shell.Bind("heat", "later", "→ l", "goes on in time", func() { h.move(0, -1) }, "right", "l").For(shell.ToTime),
		shell.Bind("heat", "open", "enter", "opens the row: its keys, or the key then", h.open).For(shell.ToLook).Hinted("open"),
		shell.Bind("heat", "fold", "f", "folds keys into prefixes, or unfolds them", func() { h.fold = !h.fold; h.home() }).
			For(shell.ToLook).Hinted("fold"),
		shell.Bind("heat", "what if", "w", "puts the requests of a row through other terms", h.askWhatIf).Hinted("what if"),
		shell.Bind("heat", "all keys", "esc", "shows all keys again", h.leave).Unless("All keys are shown.",
			func() bool { return s.Shown.Back() > 0 || len(h.inside) == 0 && !h.what.other.On }),
	)
	return h
}

// Keys lists what can be done here.
func (h *Screen) Keys() shell.Actions { return h.actions }

// Update handles what the shell hands on.
func (h *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.LayoutMsg:
		h.layOut(msg.Area)
	case shell.HiddenMsg:
		h.rows, h.keys, h.known = nil, nil, nil
	case tea.MouseMotionMsg:
		if h.area.Holds(msg.X, msg.Y) {
			h.point(msg.X, msg.Y)
			h.s.Shell.Redraw()
		}
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft && h.area.Holds(msg.X, msg.Y) {
			h.point(msg.X, msg.Y)
			return h.open()
		}
	case tea.MouseWheelMsg:
		h.move(3*shell.Wheel(msg), 0)
	}
	return nil
}

func (h *Screen) point(x, y int) {
	h.back = h.area.X + h.area.W - 1 - x
	h.goTo(h.first + h.lines.At(y-h.area.Y))
}

// goTo puts the cursor on a row, or on the nearest there is.
func (h *Screen) goTo(row int) {
	if h.at = min(max(row, 0), max(len(h.rows)-1, 0)); len(h.rows) > 0 {
		h.key = h.rows[h.at].keys[0].Reading.Key
		h.s.Selection.Point(h.key)
	}
}

func (h *Screen) move(rows, columns int) {
	h.back = min(max(h.back+columns, 0), max(h.area.W-1, 0))
	h.goTo(h.at + rows)
}

// zoom makes the columns stand for longer or shorter times, and reports whether there are such.
func (h *Screen) zoom(coarser bool) bool {
	before, by := h.step, collect.If(coarser, 1, -1)
	h.step = min(max(h.step+by, 0), len(steps)-1)
	h.known, h.keys = nil, nil
	return h.step != before
}

// open opens the keys of a row, or the only one at the moment under the cursor.
func (h *Screen) open() tea.Cmd {
	if h.at >= len(h.rows) {
		return nil
	}
	r := h.rows[h.at]
	if len(r.keys) == 1 {
		return h.s.Visit(r.keys[0].Reading.Key, h.moment())
	}
	one := scope{prefix: r.prefix, to: len(r.keys)}
	for i := range h.at {
		one.from += len(h.rows[i].keys)
	}
	one.to += one.from
	h.inside = append(h.inside, one)
	h.home()
	return nil
}

// leave ends what if, then goes back to the keys around those that were opened.
func (h *Screen) leave() {
	if h.what.other.On {
		h.what = whatIf{}
		return
	}
	h.inside = h.inside[:len(h.inside)-1]
	h.home()
}

// home goes to the first row of other keys.
func (h *Screen) home() { h.at, h.key, h.first, h.keys = 0, "", 0, nil }

// moment is the middle of the column under the cursor.
func (h *Screen) moment() limiter.Instant {
	d := steps[h.step]
	return min(h.newest.Add(-time.Duration(h.back)*d-d/2), h.s.Shown.At())
}

// within returns the keys that are shown, in the order of the session's rows.
func (h *Screen) within() []*model.Watched {
	list := h.s.Rows.Rows
	for _, one := range h.inside {
		if one.prefix == "" {
			list = list[min(one.from, len(list)):min(one.to, len(list))]
			continue
		}
		list = collect.Only(list, func(k *model.Watched) bool { return strings.HasPrefix(k.Reading.Key, one.prefix) })
	}
	return list
}

// Paint draws the map.
func (h *Screen) Paint(p *widget.Canvas, r cell.Rect) {
	if len(h.rows) == 0 {
		session.PaintSearch(p, r, h.s.Shown.Live())
		return
	}
	if h.what.other.On {
		h.paintWhatIf(p, r)
		h.paintLanes(p)
	} else {
		h.paintCursorText(p, r)
	}
	shown := h.rows[h.first:][:min(h.area.H/h.lines.Height, len(h.rows)-h.first)]
	for i, name := range h.rowNames(shown, h.names-3) {
		h.paintRow(p, i, &shown[i], name)
	}
	h.paintTimes(p)
	x := h.area.X + h.area.W - 1 - h.back
	p.Buffer.Tint(cell.Rect{X: x, Y: h.area.Y, W: 1, H: h.area.H}, p.Look.Selected)
	if h.what.other.On {
		p.Buffer.Tint(cell.Rect{X: x, Y: h.what.area.Y, W: 1, H: h.what.area.H}, p.Look.Selected)
	}
}

// whatIf is other terms that the requests of a row's keys are put through, each key on a limiter
// of its own; nothing is written. The zero whatIf is off.
type whatIf struct {
	other  session.OtherTerms
	row    string          // what the outcome is of,
	keys   int             // how many keys
	second limiter.Instant // as of which second
	result model.WhatIf
	lanes  model.Compared // the same in the columns of the map
	area   cell.Rect      // of the lanes, below the axis of the map; its height is 0 where there is no room
}

// whatIfWindows is how many windows back the requests are taken from.
const whatIfWindows = 3

// askWhatIf lets a person type other terms for the keys of the row under the cursor.
func (h *Screen) askWhatIf() {
	if h.at < len(h.rows) {
		h.what.other.Ask(h.s.Shell, h.rows[h.at].keys[0].Reading.Target,
			"algorithm, limit and burst, for every key of the row; x2 doubles · enter keeps · esc ends", func() { h.what.second = 0 })
	}
}

// runWhatIf works the other terms out anew, once a second and where the row is another.
func (h *Screen) runWhatIf() {
	if !h.what.other.On || h.at >= len(h.rows) {
		return
	}
	r := &h.rows[h.at]
	name, second := r.prefix+r.keys[0].Reading.Key, h.s.Shown.At()-h.s.Shown.At()%1_000_000
	w := &h.what
	if w.row == name && w.keys == len(r.keys) && w.second == second && w.lanes.End == h.newest && len(w.lanes.Was) == h.width {
		return
	}
	w.row, w.keys, w.second = name, len(r.keys), second
	w.lanes = model.Compared{End: h.newest, Column: steps[h.step], Was: make([]model.Bin, h.width), Would: make([]model.Bin, h.width)}
	w.result = model.RunAll(r.keys, w.other.Terms, whatIfWindows, &w.lanes)
}

// paintWhatIf says in the first line what became of the row's requests and what would have.
func (h *Screen) paintWhatIf(p *widget.Canvas, r cell.Rect) {
	title := []widget.Span{widget.Styled(h.rowName(&h.rows[h.at], 30, 0), p.Look.Title),
		widget.Styled(" what if "+session.TermsText(h.what.other.Terms), p.Look.Injected)}
	said := append([][]widget.Span{title}, session.WhatIfWords(&h.what.result, &p.Look)...)
	p.Flow(cell.Rect{X: r.X + 1, Y: r.Y, W: r.W - 1, H: 1}, said...)
}

// Heights of a lane of the what-if, and the least that the map keeps beside the two of them.
const (
	tallLane, lowLane = 5, 3
	leastMap          = 6
)

// makeRoom takes the room of the lanes from the lower end of the map. The rows stay as they were
// shared out, so that the cursor stays on its keys.
func (h *Screen) makeRoom() {
	lane := 0
	switch {
	case !h.what.other.On:
	case h.area.H >= leastMap+2*tallLane:
		lane = tallLane
	case h.area.H >= leastMap+2*lowLane:
		lane = lowLane
	}
	h.area.H -= 2 * lane
	h.what.area = cell.Rect{X: h.area.X, Y: h.area.Y + h.area.H + 1, W: h.area.W, H: 2 * lane}
}

// paintLanes draws what became of the row's requests above what would have, on the map's axis of
// time and on one scale.
func (h *Screen) paintLanes(p *widget.Canvas) {
	r := h.what.area
	if r.H == 0 || len(h.what.lanes.Was) != r.W {
		return
	}
	w, lanes := &h.what.result, &h.what.lanes
	most := collect.Most(lanes.Was, func(b model.Bin) int64 { return b.Admitted + b.Denied })
	was := collect.If(!w.DeniedKnown && w.WasDenied == 0, "denied: not recorded", session.WasDenied(w)+" denied")
	upper, lower := r.Top(r.H / 2)
	h.paintFates(p, upper, lanes.Was, most, widget.Styled("as it was", p.Look.Text),
		widget.Styled(format.Short(w.Was)+" admitted", p.Look.Admitted), widget.Styled(was, p.Look.Denied),
		widget.Styled("up to "+format.Short(most)+" a column", p.Look.Dim))
	h.paintFates(p, lower, lanes.Would, most, widget.Styled(session.TermsText(h.what.other.Terms), p.Look.Injected),
		widget.Styled(format.Short(w.Admitted)+" admitted", p.Look.Admitted),
		widget.Styled(format.Short(w.Denied)+" denied", p.Look.Denied))
	if x := h.area.X + h.area.W - 1 - int(h.newest.Sub(w.Differs+1)/steps[h.step]); w.Differs != 0 && x >= r.X {
		p.Buffer.Ground(cell.Rect{X: x, Y: r.Y, W: 1, H: r.H}, p.Look.Selected)
	}
}

// paintFates draws requests by time, with words at the left.
func (h *Screen) paintFates(p *widget.Canvas, r cell.Rect, bins []model.Bin, most int64, words ...widget.Span) {
	for i := range bins {
		bins[i].Watched = true
	}
	from := max(len(bins)-1-int(h.newest.Sub(h.what.result.From+1)/steps[h.step]), 0)
	c := chart.Columns{Bins: bins, Max: most, First: from}
	c.Draw(&p.Buffer, r, p.Look)
	x, end := r.X-h.names, r.X-1
	for i, word := range words[:min(len(words), r.H)] {
		p.Buffer.Text(x, r.Y+i, end, safetext.Clip(word.Text, end-x, safetext.Ellipsis), word.Style)
	}
}
