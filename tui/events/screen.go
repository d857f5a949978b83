package events

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// Screen is the log of events. Make one with New.
type Screen struct {
	s *session.Session

	list    []event // newest first, as laid out
	rows    int     // on screen
	at      int     // the selected event
	top     int     // first event on screen
	lanes   cell.Rect
	log     cell.Rect
	actions shell.Actions
}

// view is the screen on the canvas that it is painted on.
type view struct {
	c *widget.Canvas
	s *session.Session
}

// New returns the log of a session.
func New(s *session.Session) *Screen {
	e := &Screen{s: s}
	move := func(by func() int) func() tea.Cmd {
		return func() tea.Cmd { e.at = min(max(e.at+by(), 0), max(len(e.list)-1, 0)); return nil }
	}
	page := func() int { return max(1, e.rows-1) }
	e.actions = append(shell.Actions{
		shell.Bind("events", "up", "↑ k", "selects the event above", move(func() int { return -1 }), "up", "k").For(shell.ToLook),
		shell.Bind("events", "down", "↓ j", "selects the event below", move(func() int { return 1 }), "down", "j").For(shell.ToLook),
		shell.Bind("events", "page up", "pgup", "goes up a page", move(func() int { return -page() }), "pgup", "ctrl+b"),
		shell.Bind("events", "page down", "pgdn", "goes down a page", move(page), "pgdown", "ctrl+f"),
		shell.Bind("events", "newest", "home", "selects the newest event", move(func() int { return -len(e.list) }), "home").For(shell.ToLook),
		shell.Bind("events", "oldest", "end G", "selects the oldest event", move(func() int { return len(e.list) }), "end", "G").For(shell.ToLook),
		shell.Bind("events", "open", "enter", "shows the key at that moment", e.open, "enter").For(shell.ToLook).Hinted("open"),
		shell.Bind("events", "csv", "E", "exports the events as csv, md or jsonl", e.export, "E").When(func() string {
			if len(e.list) == 0 {
				return "There is no event to export yet."
			}
			return ""
		}),
	}, s.Actions().Without(shell.ExportRows)...) // the rows here are events
	return e
}

// Keys lists what can be done here.
func (sc *Screen) Keys() shell.Actions { return sc.actions }

// Update handles what the shell hands on.
func (sc *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.LayoutMsg:
		sc.list = view{nil, sc.s}.events()
		sc.arrange(msg.Area, msg.Framed)
		sc.rows = max(sc.log.H-1, 1)
		if msg.Framed {
			sc.rows = max(sc.log.H-2, 1)
		}
		sc.at = min(max(sc.at, 0), max(len(sc.list)-1, 0))
		sc.top = min(max(sc.top, sc.at-sc.rows+1), sc.at)
		sc.top = min(max(sc.top, 0), max(0, len(sc.list)-sc.rows))
		sc.s.Selection.See(0, 0)
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelDown {
			sc.at = min(sc.at+3, max(len(sc.list)-1, 0))
		} else {
			sc.at = max(sc.at-3, 0)
		}
	}
	return nil
}

// open shows the key of the selected event on the dashboard.
func (sc *Screen) open() tea.Cmd {
	if sc.at >= len(sc.list) {
		return nil
	}
	return lead(sc.s, sc.list[sc.at])
}

// export lets a person say how the listed events are exported, and does it.
func (sc *Screen) export() tea.Cmd {
	list := make([]record.Marker, 0, len(sc.list))
	for i := range sc.list {
		list = append(list, sc.list[i].marker())
	}
	record.SortMarkers(list)
	sc.s.AskFormat(format.Plural(len(list), "event"), func(f report.Format) tea.Cmd { return sc.s.Files.ExportEvents(list, f) })
	return nil
}

// lead shows the key of an event as it was at that moment, while it is on the board.
func lead(s *session.Session, e event) tea.Cmd {
	if e.mark != nil {
		s.Marks.Go(*e.mark)
		return s.Shell.Show("dashboard")
	}
	return s.Visit(e.key(), e.at)
}

// Paint draws what happened, newest first: alerts and decisions in one order of time, and the
// keys that they are about as lanes.
func (sc *Screen) Paint(p *widget.Canvas, _ cell.Rect) {
	v := view{p, sc.s}
	title := []widget.Span{widget.Styled("events", p.Look.Title),
		widget.Styled(" · "+format.Plural(len(sc.s.Shown.Board().Alerts()), "alert")+", "+format.Plural(len(sc.s.Orders.Decisions()), "decision"),
			p.Look.Dim)}
	if n := len(sc.s.Marks.Set()); n > 0 {
		title = append(title, widget.Styled(", "+format.Plural(n, "marker"), p.Look.Dim))
	}
	if f := sc.s.Rows.Filter(); f != "" {
		title = append(title, widget.Styled(fmt.Sprintf(" · %d fit /", len(sc.list)), p.Look.Accent),
			widget.Styled(safetext.Clean(f), p.Look.Text))
	}
	in := p.Section(sc.log, true, title...)
	sc.paintLanes(v, sc.lanes)
	switch {
	case len(sc.list) > 0:
	case sc.s.Rows.Filter() != "":
		p.Buffer.Text(in.X, in.Y, in.X+in.W, "No event fits the filter; esc clears it.", p.Look.Dim)
		return
	default:
		v.quietSoFar(in)
		return
	}
	lines := min(max(in.H, 0), len(sc.list)-sc.top)
	who := v.whoColumns(sc.list[sc.top:sc.top+lines], in.W-1)
	for i := range lines {
		n, row := sc.top+i, cell.Rect{X: in.X, Y: in.Y + i, W: in.W, H: 1}
		v.paintEvent(in.X+1, row.Y, in.X+in.W, who, sc.list[n])
		if n == sc.at {
			p.Buffer.Text(in.X, row.Y, in.X+1, p.Look.SelMark, p.Look.Accent)
			p.Buffer.Tint(row, p.Look.Selected)
		}
		p.OnClick(row, func(int) tea.Cmd {
			sc.at = n
			return sc.open()
		})
	}
}
