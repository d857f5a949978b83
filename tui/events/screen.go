package events

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/timeline"
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
	then    cell.Rect              // of the key of the selected event, as it was then
	past    timeline.View          // draws it
	levels  map[string]*chart.Past // of the keys of the lanes
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
	move := func(by int) { e.at = min(max(e.at+by, 0), max(len(e.list)-1, 0)) }
	e.actions = append(shell.Moves("events", "event", move, func() int { return max(1, e.rows-1) }, func() int { return len(e.list) }),
		shell.Bind("events", "open", "enter", "shows the key at that moment", e.open).For(shell.ToLook).Hinted("open"),
		shell.Bind("events", "csv", "E", "exports the events as csv, md or jsonl", e.export).Unless(
			"There is no event to export yet.", func() bool { return len(e.list) == 0 }),
	)
	e.actions = append(e.actions, s.Actions().Without(shell.ExportRows, shell.ZoomIn, shell.ZoomOut)...) // the rows here are events
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
		sc.rows = max(widget.Inside(sc.log, msg.Framed).H, 1)
		sc.at = min(max(sc.at, 0), max(len(sc.list)-1, 0))
		sc.top = min(max(sc.top, sc.at-sc.rows+1), sc.at)
		sc.top = min(max(sc.top, 0), max(0, len(sc.list)-sc.rows))
		sc.s.Selection.See(0, 0)
		if sc.then.H > 0 && len(sc.list) > 0 && sc.list[sc.at].key != "" {
			return sc.s.Past.Ask(sc.list[sc.at].at, sc.s.Shell.Redraw)
		}
	case tea.MouseWheelMsg:
		sc.at = min(max(sc.at+3*shell.Wheel(msg), 0), max(len(sc.list)-1, 0))
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
	list := collect.Map(sc.list, func(e event) record.Marker { return e.marker() })
	record.SortMarkers(list)
	export := func(f report.Format) tea.Cmd { return sc.s.Files.ExportEvents(list, f) }
	return session.AskFormat(sc.s.Shell, format.Plural(len(list), "event"), export)
}

// lead shows the key of an event as it was at that moment, while it is on the board.
func lead(s *session.Session, e event) tea.Cmd {
	if s.Shown.Replayed() {
		s.Marks.Go(e.marker())
		return s.Shell.Show("dashboard")
	}
	return s.Visit(e.key, e.at)
}

// Paint draws what happened, newest first: alerts and decisions in one order of time, and the
// keys that they are about as lanes.
func (sc *Screen) Paint(p *widget.Canvas, _ cell.Rect) {
	v := view{p, sc.s}
	title := []widget.Span{widget.Styled("events", p.Look.Title),
		widget.Styled(" · "+format.Plural(len(sc.s.Shown.Board().Alerts()), "alert")+", "+
			format.Plural(len(sc.s.Orders.Decisions), "decision"), p.Look.Dim)}
	if n := len(sc.s.Marks.Set); n > 0 {
		title = append(title, widget.Styled(", "+format.Plural(n, "marker"), p.Look.Dim))
	}
	if f := sc.s.Rows.Filter(); f != "" {
		title = append(title, widget.Styled(fmt.Sprintf(" · %d fit /", len(sc.list)), p.Look.Accent),
			widget.Styled(safetext.Clean(f), p.Look.Text))
	}
	in := p.Section(sc.log, true, title...)
	sc.paintLanes(v, sc.lanes)
	sc.paintThen(v, sc.then)
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

// logWidth is the room of the log where the lanes stand beside it.
const logWidth = 68

// leastThen and mostThen are how many rows the key of the selected event takes, where it is shown.
const leastThen, mostThen = 13, 22

// arrange divides the room between the log and the lanes: beside each other where there is
// width, else the lanes below. The key of the selected event stands below the log until that needs its room.
func (sc *Screen) arrange(r cell.Rect, framed bool) {
	sc.then = cell.Rect{}
	switch {
	case framed:
		sc.log, sc.lanes = r.Left(max(logWidth, r.W*3/5))
		switch then := min(r.H/2, mostThen); {
		case r.H < 2*leastThen:
		case len(sc.list)+2 <= r.H-then:
			sc.log, sc.then = sc.log.Top(r.H - then)
		default:
			sc.lanes, sc.then = sc.lanes.Top(r.H - then)
		}
	case r.H >= 16:
		sc.log, sc.lanes = r.Top(r.H * 3 / 5)
	default:
		sc.log, sc.lanes = r, cell.Rect{}
	}
}

// spans are the lengths of time that the lanes can show.
var spans = [...]time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// tallest is how many lines a lane may have.
const tallest = 4

// laneList are the keys on the board that events tell to have been throttled or near their limit: those that are throttled now
// first, as everywhere, and of equally urgent ones those with the newest event. Below them stand other rows, so many in all.
func (v view) laneList(list []event, most int) (lanes []*model.Watched) {
	taken, board := map[string]bool{}, v.s.Shown.Board()
	add := func(key string) {
		if k := board.Key(key); k != nil && !taken[key] {
			taken[key], lanes = true, append(lanes, k)
		}
	}
	for i := range list {
		if a := list[i].alert; a != nil && (a.What == model.BecameThrottled || a.What == model.BecameClose) {
			add(a.Key)
		}
	}
	slices.SortStableFunc(lanes, func(x, y *model.Watched) int { return cmp.Compare(x.State(v.s.Shown.At()), y.State(v.s.Shown.At())) })
	for _, k := range v.s.Rows.Rows {
		if len(lanes) >= most {
			return lanes[:most]
		}
		add(k.Reading.Key)
	}
	return lanes
}

// paintLanes draws when the keys of the listed events denied, on one axis of time; the column
// of the selected event is marked. A click opens the key at that moment.
func (sc *Screen) paintLanes(v view, r cell.Rect) {
	if r.H < 4 {
		return
	}
	in := v.c.Section(r, false, widget.Styled("lanes", v.c.Look.Title),
		widget.Styled(" · how full the keys were, and denials", v.c.Look.Dim))
	name := min(max(in.W*2/5, 12), 30)
	plot := cell.Rect{X: in.X + name + 3, Y: in.Y, W: in.W - name - 3, H: in.H - 1}
	if plot.W < 8 || plot.H < 1 {
		return
	}
	now, span := v.s.Shown.At(), spans[0]
	for _, s := range spans[1:] {
		if len(sc.list) > 0 && now.Sub(sc.list[len(sc.list)-1].at) > span {
			span = s
		}
	}
	column := span / time.Duration(plot.W)
	newest := now.Floor(column).Add(column)
	from := newest.Add(-column * time.Duration(plot.W))
	place := func(at limiter.Instant) int { return int(at.Sub(from) / column) }
	list := v.laneList(sc.list, plot.H)
	rows := widget.Spread(plot.H, len(list), tallest)
	for i, k := range list {
		y, lines := plot.Y+rows.Line(i), rows.Line(i+1)-rows.Line(i)
		r := cell.Rect{X: plot.X, Y: y, W: plot.W, H: max(lines-1, 1)}
		v.c.Buffer.Fill(r.X, r.Y+r.H-1, r.W, v.c.Look.Room, v.c.Look.Faint)
		past := collect.Entry(&sc.levels, k.Reading.Key)
		past.Update(k, newest, now, column, r.W)
		for x, c := range past.Cells {
			c.Draw(&v.c.Buffer, r.X+x, r.Y, r.H, false, &v.c.Look)
		}
		if lines > 1 {
			v.c.Spans(in.X+2, y+1, plot.X-1, v.s.Tell.Headline(k, v.c.Look, name+2)[1:]...)
		}
		mark, style := v.s.Tell.Mark(k, v.c.Look)
		v.c.Buffer.Text(in.X, y, in.X+2, mark+" ", style) // some fonts draw the mark wider than its cell
		v.c.Buffer.Text(in.X+2, y, in.X+2+name, v.s.Names.Short(k.Reading.Key, name), v.c.Look.Text)
		v.c.OnClick(cell.Rect{X: in.X, Y: y, W: in.W, H: lines}, func(x int) tea.Cmd {
			at := max(x-(plot.X-in.X), 0)
			return v.s.Visit(k.Reading.Key, from.Add(column*time.Duration(at)+column/2))
		})
	}
	labels := plot.Y + plot.H
	v.c.Buffer.Text(plot.X, labels, plot.X+plot.W, "-"+format.Length(span), v.c.Look.Dim)
	v.c.Buffer.Right(plot.X, labels, plot.X+plot.W, v.s.Shown.NowText(), v.c.Look.Text)
	if _, at := sc.chosen(); len(sc.list) > 0 && at >= from && place(at) < plot.W {
		x := place(at)
		v.c.Buffer.Tint(cell.Rect{X: plot.X + x, Y: plot.Y, W: 1, H: plot.H}, v.c.Look.Selected)
	}
}

// chosen returns the key and the moment of the selected event; without any the selected key now.
func (sc *Screen) chosen() (key string, at limiter.Instant) {
	if len(sc.list) == 0 {
		return sc.s.Selection.Selected, sc.s.Shown.At()
	}
	return sc.list[sc.at].key, sc.list[sc.at].at
}

// paintThen draws the key of the selected event as it was at that moment.
func (sc *Screen) paintThen(v view, r cell.Rect) {
	if r.H == 0 {
		return
	}
	key, at := sc.chosen()
	k := v.s.Shown.Board().Key(key)
	if k == nil || k.Timeline == nil {
		in := v.c.Section(r, false, widget.Styled("then", v.c.Look.Title))
		v.c.Buffer.Text(in.X, in.Y, in.X+in.W, "This event is about no key that is watched now.", v.c.Look.Dim)
		return
	}
	const bars = 6
	note := " · at " + format.Clock(at)
	name := v.s.Names.Short(k.Reading.Key, max(r.W-safetext.Width(note)-6, 1))
	in := v.c.Section(r, false, widget.Styled(name, v.c.Look.Title), widget.Styled(note, v.c.Look.Dim))
	above, below := in.Top(in.H - bars)
	then := v.s.Past.Then(k, at)
	if then == nil {
		v.c.Buffer.Text(in.X, in.Y, in.X+in.W, "reading what was seen…", v.c.Look.Dim)
		return
	}
	sc.past.Paint(v.c, above, then, timeline.Moment{Now: at, Stopped: true, Still: true}, false)
	timeline.PaintWindow(v.c, below, then, at, false)
}
