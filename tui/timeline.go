package tui

import (
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// axisWidth is the room for the numbers left of the charts.
const axisWidth = 6

// stretch is the piece of time that the charts show: the columns that end with last.
type stretch struct {
	per    int   // bins a column
	last   int64 // number of the newest column
	n      int   // columns
	now    limiter.Instant
	window time.Duration
	column time.Duration // length of one column
	first  int           // index of the first column that was watched
}

// index returns the place of the column that holds t, which may lie outside 0..n-1.
func (s stretch) index(tl *model.Timeline, t limiter.Instant) int {
	d := tl.Column(t, s.per) - (s.last - int64(s.n-1))
	return int(min(max(d, -1), int64(s.n)))
}

// paintTimeline draws the selected key's past: arrivals by column, the sliding window
// as a bracket over them, and the used level against its limit below.
func (a *App) paintTimeline(r cell.Rect, k *model.Watched) {
	in := a.Section(r, a.focus == paneTimeline, a.timelineTitle(k, pane.TitleRoom(r.W))...)
	if k == nil || k.Timeline == nil || in.W < axisWidth+8 || in.H < 3 {
		return
	}
	if k.Reading.Err != "" {
		a.Grid.Text(in.X+1, in.Y+1, in.X+in.W, "This key "+safetext.Clean(k.Reading.Err)+".", a.Look.Denied)
		return
	}
	plot := cell.Rect{X: in.X + axisWidth, Y: in.Y, W: in.W - axisWidth, H: in.H}
	s := a.stretch(k, plot.W)
	a.load(k, s)
	top, rest := plot.Top(1)
	body, labels := rest.Top(rest.H - 1)
	laneHeight := 0
	if body.H >= 5 {
		laneHeight = max(2, (body.H-1)*2/5)
	}
	arrivals, below := body.Top(body.H - laneHeight - 1)
	axis, lane := below.Top(1)

	a.paintBracket(top, k, s)
	a.paintArrivals(arrivals, s)
	a.paintAxis(axis, s)
	a.paintLane(lane, k, s)
	a.paintTimes(labels, s)
	whole := cell.Rect{X: plot.X, Y: arrivals.Y, W: plot.W, H: body.H}
	a.tintWindow(whole, k, s)
	if k.Reading.Key == a.selected {
		a.plot = plotted{whole, s, k.Timeline}
		a.paintCursor(top, whole, k, s)
	}
}

// paintCursor reads the column under the cursor out, and marks what is being dragged over.
func (a *App) paintCursor(top, r cell.Rect, k *model.Watched, s stretch) {
	if a.cursor == 0 {
		return
	}
	i := s.index(k.Timeline, a.cursor)
	if i < 0 || i >= s.n {
		a.cursor = 0
		return
	}
	from, to := i, i
	if a.dragging {
		from = max(s.index(k.Timeline, a.dragFrom), 0)
		from, to = min(from, i), max(from, i)
	}
	a.Grid.Tint(cell.Rect{X: r.X + from, Y: r.Y, W: to - from + 1, H: r.H}, a.Look.Selected)
	b := &a.columns[i]
	text := " " + figure.ClockMillis(k.Timeline.ColumnBegin(s.last-int64(s.n-1-i), s.per)) + "  "
	switch {
	case !b.Watched && b.Admitted+b.Denied == 0:
		text += "nobody was looking "
	default:
		text += fmt.Sprintf("%d admitted, %d denied", b.Admitted, b.Denied)
		if n := b.InjectedAdmitted + b.InjectedDenied; n > 0 {
			text += fmt.Sprintf(", %d fired from here", n)
		}
		text += ", used " + figure.Counted(model.Count{Known: b.UsedKnown, N: b.Used}) + " "
	}
	x := min(max(top.X, top.X+i-safetext.Width(text)/2), top.X+top.W-safetext.Width(text))
	a.Grid.Text(x, top.Y, top.X+top.W, text, a.Look.Text.On(a.Look.Selected))
}

func (a *App) stretch(k *model.Watched, width int) stretch {
	per := a.columnWidth(width)
	now := a.shownNow()
	s := stretch{
		per: per, n: width, now: now, window: k.Timeline.Window(),
		column: k.Timeline.Window() * time.Duration(per) / model.BinsPerWindow,
	}
	newest := k.Timeline.Column(now, per)
	a.scroll = min(a.scroll, max(0, int64(k.Timeline.Reach()/max(s.column, 1))-int64(width)))
	s.last = newest - a.scroll
	s.first = int(min(max(k.Timeline.FirstColumn(per)-(s.last-int64(s.n-1)), 0), int64(s.n)))
	return s
}

// load fills the scratch columns. What came after the last reading is not known yet
// and no gap either while the server answers: the level stays where it was seen.
func (a *App) load(k *model.Watched, s stretch) {
	a.columns = resize(a.columns, s.n)
	k.Timeline.Columns(a.columns, s.last, s.per)
	if s.now.Sub(k.Reading.At) > reading || a.board.Server.Link != model.Live {
		return
	}
	for i := max(s.index(k.Timeline, k.Reading.At), 0) + 1; i < s.n; i++ {
		b := &a.columns[i]
		if b.Watched = true; i > 0 && !b.UsedKnown {
			b.Used, b.UsedKnown = a.columns[i-1].Used, a.columns[i-1].UsedKnown
		}
	}
}

// reading is how old a reading may be and still speak for now.
const reading = 1500 * time.Millisecond

func (a *App) timelineTitle(k *model.Watched, room int) []pane.Piece {
	if k == nil {
		return []pane.Piece{pane.Bit("timeline", a.Look.Title)}
	}
	t := k.Reading.Target
	mark, style := a.mark(k)
	limit := "limit unknown"
	if t.LimitKnown {
		limit = fmt.Sprintf("%s in %s", figure.Short(t.Limit.Count), figure.Length(t.Window))
		if t.Limit.Count == 0 {
			limit = "count only in " + figure.Length(t.Window)
		}
	} else if t.Window > 0 {
		limit += " in " + figure.Length(t.Window)
	}
	facts := " · " + figure.AlgorithmInFull(t.Algorithm) + " · " + limit
	if t.Inferred {
		facts += " (inferred)"
	}
	room = max(8, room-2-safetext.Width(facts))
	return []pane.Piece{
		pane.Bit(mark+" ", style),
		pane.Bit(safetext.Shorten(a.name(k.Reading.Key), room, safetext.Ellipsis), a.Look.Title),
		pane.Bit(facts, a.Look.Dim),
	}
}

// paintBracket draws the sliding window over the columns that it covers.
func (a *App) paintBracket(r cell.Rect, k *model.Watched, s stretch) {
	if k.Reading.Target.Window <= 0 {
		a.Grid.Text(r.X, r.Y, r.X+r.W, "window unknown: give it with --limit", a.Look.Unknown)
		return
	}
	from := s.index(k.Timeline, s.now.Add(-s.window))
	to := s.index(k.Timeline, s.now)
	b := a.Look.Box
	for i := max(from, 0); i <= min(to, s.n-1); i++ {
		glyph := b.H
		switch i {
		case from:
			glyph = b.TL
		case to:
			glyph = b.TR
		}
		a.Grid.Set(r.X+i, r.Y, glyph, a.Look.Accent)
	}
	if note := "denied: not recorded"; !k.Reading.Denied.Known && from > len(note) {
		a.Grid.Text(r.X, r.Y, r.X+from, note, a.Look.Faint)
	}
	label := " window " + figure.Length(s.window) + " "
	if from >= 0 && to-from > len(label)+2 && to < s.n+1 {
		a.Grid.Text(r.X+from+(to-from-len(label))/2+1, r.Y, r.X+r.W, label, a.Look.Accent)
	}
}

// tintWindow lays the window's background under everything that it covers.
func (a *App) tintWindow(r cell.Rect, k *model.Watched, s stretch) {
	if k.Reading.Target.Window <= 0 {
		return
	}
	from, to := s.index(k.Timeline, s.now.Add(-s.window)), s.index(k.Timeline, s.now)
	from, to = max(from, 0), min(to, s.n-1)
	a.Grid.Tint(cell.Rect{X: r.X + from, Y: r.Y, W: max(0, to-from+1), H: r.H}, a.Look.Window)
}

func (a *App) edge(s stretch) func(int) (rune, themes.Style, bool) {
	return func(i int) (rune, themes.Style, bool) {
		return a.Look.Edge, a.Look.Faint, model.OpensWindow(s.last-int64(s.n-1)+int64(i), s.per)
	}
}

func (a *App) paintArrivals(r cell.Rect, s stretch) {
	most := a.paintArrivalsIn(r, s)
	a.Grid.Right(r.X-axisWidth, r.Y, r.X-1, figure.Short(most), a.Look.Dim)
	if r.H > 2 {
		a.Grid.Right(r.X-axisWidth, r.Y+1, r.X-1, "per", a.Look.Faint)
		a.Grid.Right(r.X-axisWidth, r.Y+2, r.X-1, figure.Length(s.column.Round(time.Millisecond)), a.Look.Faint)
	}
}

// paintAxis is the line between the charts: ticks where clock-aligned windows begin,
// marks where requests were fired from here.
func (a *App) paintAxis(r cell.Rect, s stretch) {
	if r.H == 0 {
		return
	}
	edge := a.edge(s)
	for i := range s.n {
		glyph, st := a.Look.Axis, a.Look.Faint
		if _, _, begins := edge(i); begins {
			glyph, st = a.Look.Tick, a.Look.Dim
		}
		switch b := &a.columns[i]; {
		case b.InjectedAdmitted > 0:
			glyph, st = a.Look.MarkYes, a.Look.Injected
		case b.InjectedDenied > 0:
			glyph, st = a.Look.MarkNo, a.Look.Injected
		}
		a.Grid.Set(r.X+i, r.Y, glyph, st)
	}
}

func (a *App) paintLane(r cell.Rect, k *model.Watched, s stretch) {
	if r.H == 0 {
		return
	}
	row, most := a.paintLaneIn(r, k, s)
	if row >= 0 {
		a.Grid.Right(r.X-axisWidth, row, r.X-1, figure.Short(model.Capacity(k.Reading.Target)), a.Look.Denied)
	} else {
		a.Grid.Right(r.X-axisWidth, r.Y, r.X-1, figure.Short(most), a.Look.Dim)
	}
	if r.H > 1 {
		a.Grid.Right(r.X-axisWidth, r.Y+r.H-1, r.X-1, "used", a.Look.Dim)
	}
}

// paintLaneIn draws the lane without its axis; it returns the row of the limit line,
// or -1 when there is none, and the scale.
func (a *App) paintLaneIn(r cell.Rect, k *model.Watched, s stretch) (limitRow int, most int64) {
	t := k.Reading.Target
	var limit int64
	if t.LimitKnown {
		limit = model.Capacity(t)
	}
	for i := range a.columns {
		if a.columns[i].UsedKnown {
			most = max(most, a.columns[i].Used)
		}
	}
	if limit > 0 { // half a row stays free above the line
		most = max(most, limit+(limit+int64(r.H)*2-1)/max(int64(r.H)*2, 1))
	} else {
		most = chart.Nice(most)
	}
	edge := a.edge(s)
	for i := range s.n {
		if glyph, st, begins := edge(i); begins {
			for y := r.Y; y < r.Y+r.H; y++ {
				a.Grid.Set(r.X+i, y, glyph, st)
			}
		}
	}
	lane := chart.Lane{Bins: a.columns, Limit: limit, Max: most, First: s.first}
	return lane.Draw(&a.Grid, r, a.Look), most
}

// steps are the distances between labels of the time axis.
var steps = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// paintTimes labels the time axis with how long ago, and its end with the time of day
// when it is not now.
func (a *App) paintTimes(r cell.Rect, s stretch) {
	const gap = 11
	right := r.X + r.W
	end := "now"
	if a.frozen != nil {
		end = figure.Clock(s.now.Add(-time.Duration(a.scroll) * s.column))
	}
	a.Grid.Right(r.X, r.Y, right, end, a.Look.Text)
	for _, step := range steps {
		if step < s.column*gap {
			continue
		}
		for n := time.Duration(1); ; n++ {
			x := right - 1 - int((n*step+s.column/2)/s.column)
			text := "-" + figure.Length(n*step)
			if x-len(text)/2 < r.X {
				return
			}
			if x+len(text)/2 < right-len(end)-1 {
				a.Grid.Text(x-len(text)/2, r.Y, right, text, a.Look.Dim)
			}
		}
	}
}
