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
	move := func(rows, columns int) tea.Cmd { h.move(rows, columns); return nil }
	h.actions = append(s.Actions().Without(shell.ZoomIn, shell.ZoomOut, shell.Fire, shell.Burst, shell.Rate),
		shell.Moves("heat", "row", func(rows int) tea.Cmd { return move(rows, 0) }, func() int { return h.area.H },
			func() int { return len(h.rows) })...)
	h.actions = append(append(h.actions, s.ZoomActions(h.zoom)...),
		shell.Bind("heat", "earlier", "← h", "goes back in time", func() tea.Cmd { return move(0, 1) }, "left", "h").For(shell.ToTime),
		shell.Bind("heat", "later", "→ l", "goes on in time", func() tea.Cmd { return move(0, -1) }, "right", "l").For(shell.ToTime),
		shell.Bind("heat", "open", "enter", "opens the keys of a row, or the key at that moment", h.open).For(shell.ToLook).Hinted("open"),
		shell.Bind("heat", "fold", "f", "folds keys into prefixes, or unfolds them", func() tea.Cmd { h.fold = !h.fold; h.home(); return nil }).
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
	before, by := h.step, map[bool]int{true: 1, false: -1}[coarser]
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
func (h *Screen) leave() tea.Cmd {
	if h.what.other.On {
		h.what = whatIf{}
		return nil
	}
	h.inside = h.inside[:len(h.inside)-1]
	h.home()
	return nil
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
	list := h.s.Rows.Rows()
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
