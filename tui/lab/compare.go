package lab

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// stretch is the piece of time that the lanes show.
type stretch struct {
	zero   limiter.Instant
	window int64 // microseconds
	per    int64 // bins a column; a window has model.BinsPerWindow
	first  int64 // number of the leftmost column
	n      int
	now    int // index of the column that holds the moment
}

// column returns the number of the column that holds t.
func (s stretch) column(t limiter.Instant) int64 {
	bin := int64(t-s.zero) * model.BinsPerWindow / s.window
	if t < s.zero {
		bin = -1
	}
	return bin / s.per
}

// begin returns the first instant of column i on screen.
func (s stretch) begin(i int) limiter.Instant {
	return s.zero + limiter.Instant((s.first+int64(i))*s.per*s.window/model.BinsPerWindow)
}

// length of one column.
func (s stretch) length() time.Duration {
	return time.Duration(s.window*s.per/model.BinsPerWindow) * time.Microsecond
}

// stretch works out what w columns show: two windows, of which an eighth of a window is
// still to come.
func (l *Lab) stretch(run *lab.Run, w int) stretch {
	setup := run.Setup()
	s := stretch{zero: setup.Zero, window: int64(setup.Limit.Window / time.Microsecond), n: w}
	s.per = int64(model.PerColumn(max(w/2, 1)) * l.zoom)
	ahead := max(w/10, 2)
	at := s.column(run.Now())
	s.first = max(at-int64(w-1-ahead), 0)
	s.now = int(at - s.first)
	return s
}

// arrivals is what one column shows of the arrivals, beside a contender's bin.
type arrivals struct {
	wrongIn, wrongOut int64 // against the exact log
}

// load fills the scratch columns with what contender c made of the arrivals on screen.
func (l *Lab) load(run *lab.Run, s stretch, c int, marks []arrivals) {
	l.columns = l.columns[:0]
	for range s.n {
		l.columns = append(l.columns, model.Bin{Watched: true})
	}
	clear(marks)
	for i := run.Since(s.begin(0)); i < run.Decided(); i++ {
		a, v := run.Arrival(i)
		at := s.column(a.At) - s.first
		if at < 0 || at >= int64(s.n) || a.Cost == 0 {
			continue
		}
		b, allowed := &l.columns[at], v.Allowed(c)
		switch {
		case allowed:
			b.Admitted += a.Cost
		default:
			b.Denied += a.Cost
		}
		switch {
		case a.Fired && allowed:
			b.InjectedAdmitted++
		case a.Fired:
			b.InjectedDenied++
		}
		switch {
		case allowed && !v.Exact():
			marks[at].wrongIn++
		case !allowed && v.Exact():
			marks[at].wrongOut++
		}
	}
}

// paintCompare draws the contenders' lanes under each other, and below them why the one
// in focus decides as it does.
func (l *Lab) paintCompare(r cell.Rect) {
	bottom := 5
	switch {
	case l.big:
		bottom = 0
	case l.Framed:
		bottom = 9
	}
	lanes, below := r.Top(r.H - bottom)
	l.paintLanes(lanes, l.run, l.focus, true)
	if bottom > 0 {
		l.paintWhy(below)
	}
}

// paintLanes draws a run's lanes, with the contenders' pictures beside them where there
// is room. Lanes that find no room scroll with the focus.
func (l *Lab) paintLanes(r cell.Rect, run *lab.Run, focus int, pictures bool) {
	lanes, labels := r.Top(r.H - 1)
	n := len(run.Setup().Contenders)
	pictureWidth := 0
	switch {
	case !pictures:
	case l.Framed:
		pictureWidth = min(max(r.W*34/100, 42), 60)
	case l.big: // the large numbers are the point of it
		pictureWidth = 26
	}
	columns := lanes.W - pictureWidth - 2
	st := l.stretch(run, columns)
	marks := make([]arrivals, st.n)
	coming := run.Coming(st.begin(st.n) - 1)
	most := scale(run, st)
	first := max(0, min(focus-(lanes.H/2-1), n-lanes.H/2))
	shown := min(n-first, max(lanes.H/2, 1))
	y := lanes.Y
	for i := first; i < first+shown; i++ {
		h := (lanes.Y + lanes.H - y) / (first + shown - i)
		box := cell.Rect{X: lanes.X, Y: y, W: lanes.W, H: h}
		l.load(run, st, i, marks)
		l.paintLaneTitle(box, run, i, i == focus, columns)
		l.paintLane(box, run, i, columns, st, marks, coming, most)
		if pic := (cell.Rect{X: r.X + columns + 3, Y: y, W: r.W - columns - 4, H: h}); pic.W >= 24 {
			l.paintPicture(pic, i)
		}
		l.Zone(box, func(int) tea.Cmd { l.focus = min(i, len(l.run.Setup().Contenders)-1); return nil })
		y += h
	}
	times := cell.Rect{X: labels.X + 1, Y: labels.Y, W: columns, H: 1}
	l.paintTimes(times, st)
	if run == l.run {
		l.Zone(times, func(at int) tea.Cmd { return l.seek(st.begin(at)) })
	}
	if l.Framed && pictures && !l.big {
		text := fmt.Sprintf("%c admitted, %c denied against the exact log", l.wrong(true), l.wrong(false))
		l.Grid.Text(labels.X+columns+3, labels.Y, labels.X+labels.W, text, l.Look.Faint)
	}
}

// scale is the count that fills a lane's height: the same for all, or they could not be
// compared.
func scale(run *lab.Run, s stretch) int64 {
	var most, sum int64
	last := int64(-1)
	for i := run.Since(s.begin(0)); i < run.Decided(); i++ {
		a, _ := run.Arrival(i)
		if at := s.column(a.At); at != last {
			last, sum = at, 0
		}
		sum += a.Cost
		most = max(most, sum)
	}
	return chart.Nice(max(most, 2))
}

// levelFrom is the height of a lane from which it shows the level that is used too.
const levelFrom = 7

// paintLane draws one contender's columns with the disagreements under them, and where
// there is room what was used against the limit.
func (l *Lab) paintLane(r cell.Rect, run *lab.Run, i, columns int, s stretch, marks []arrivals, coming []lab.Arrival, most int64) {
	body := cell.Rect{X: r.X + 1, Y: r.Y + 1, W: columns, H: r.H - 1}
	if body.H <= 0 {
		return
	}
	plot, level := body, cell.Rect{}
	if body.H >= levelFrom && run.Setup().Limit.Count > 0 {
		plot, level = body.Top(body.H - (body.H-1)*2/5)
	}
	axis := cell.Rect{X: plot.X, Y: plot.Y + plot.H - 1, W: plot.W, H: 1}
	if plot.H >= 2 {
		plot.H--
	}
	edge := func(c int) (rune, bool) {
		return l.Look.Edge, model.OpensWindow(s.first+int64(c), int(s.per))
	}
	for c := range s.n {
		if glyph, ok := edge(c); ok {
			for y := body.Y; y < body.Y+body.H; y++ {
				l.Grid.Set(body.X+c, y, glyph, l.Look.Faint)
			}
		}
	}
	past := min(s.now+1, s.n)
	cols := chart.Columns{Bins: l.columns[:past], Max: most, Ground: edge}
	cols.Draw(&l.Grid, cell.Rect{X: plot.X, Y: plot.Y, W: past, H: plot.H}, l.Look)
	for _, a := range coming { // what comes by itself, not decided yet
		if at := s.column(a.At) - s.first; at > int64(s.now) && at < int64(s.n) {
			l.Grid.Set(plot.X+int(at), plot.Y+plot.H-1, l.Look.Room, l.Look.Text)
		}
	}
	l.paintMarks(axis, s, marks, axis.Y != plot.Y)
	if level.H > 0 {
		l.paintLevel(level, run, i, s)
	}
	from := s.column(run.Now().Add(-time.Duration(s.window)*time.Microsecond)) - s.first
	tint := cell.Rect{X: body.X + int(max(from, 0)), Y: body.Y, H: body.H}
	tint.W = body.X + past - tint.X
	l.Grid.Tint(tint, l.Look.Window)
	if plot.H == 1 && axis.Y != plot.Y {
		l.paintBoth(plot, past)
	}
}

// paintBoth lets a lane of one row show admitted requests on denied ones, where a column
// has both: there is no room to stack them.
func (l *Lab) paintBoth(r cell.Rect, past int) {
	for c := range past {
		if b := &l.columns[c]; b.Admitted > 0 && b.Denied > 0 {
			half := l.Look.Rise[(len(l.Look.Rise)-1)/2]
			l.Grid.Set(r.X+c, r.Y, half, l.Look.Admitted.On(l.Look.Denied.Fg))
		}
	}
}

// paintLevel draws what a contender had used against its limit.
func (l *Lab) paintLevel(r cell.Rect, run *lab.Run, i int, s stretch) {
	setup := run.Setup()
	limit := setup.Limit.Count
	switch setup.Contenders[i].Algorithm {
	case limiter.GCRA, limiter.TokenBucket, limiter.LeakyBucket:
		limit = burst(setup)
	}
	past := min(s.now+1, s.n)
	most := limit + max(limit/8, 1)
	bins := make([]model.Bin, past)
	for c, used := range run.Levels(i, s.begin(0), s.length(), past) {
		bins[c] = model.Bin{Watched: true, Used: used, UsedKnown: used >= 0}
		most = max(most, used)
	}
	lane := chart.Lane{Bins: bins, Limit: limit, Max: most}
	lane.Draw(&l.Grid, cell.Rect{X: r.X, Y: r.Y, W: past, H: r.H}, l.Look)
}

// paintLaneTitle is the contender's name and how it fared.
func (l *Lab) paintLaneTitle(r cell.Rect, run *lab.Run, i int, focused bool, columns int) {
	c, t := run.Setup().Contenders[i], run.Tally(i)
	name, end := l.Look.Text, r.X+columns+1
	mark := " "
	if focused {
		name, mark = l.Look.Title, l.Look.SelMark
	}
	l.Grid.Fill(r.X, r.Y, columns+2, l.Look.Axis, l.Look.Border)
	x := l.Words(r.X, r.Y, end, pane.Bit(mark, l.Look.Accent), pane.Bit(title(c), name), pane.Bit(" ", name))
	if l.big {
		return
	}
	right := []pane.Piece{
		pane.Bit(fmt.Sprintf(" %d admitted", t.Admitted), l.Look.Admitted),
		pane.Bit(fmt.Sprintf(" %d denied", t.Denied), l.Look.Denied),
	}
	if t.WronglyAdmitted > 0 {
		right = append(right, pane.Bit(fmt.Sprintf(" %c%d", l.wrong(true), t.WronglyAdmitted), l.Look.Near))
	}
	if t.WronglyDenied > 0 {
		right = append(right, pane.Bit(fmt.Sprintf(" %c%d", l.wrong(false), t.WronglyDenied), l.Look.Near))
	}
	limit := run.Setup().Limit.Count
	if limit > 0 {
		st := l.Look.Dim
		if t.Largest > limit {
			st = l.Look.Denied
		}
		right = append(right, pane.Bit(fmt.Sprintf(" most %d of %d", t.Largest, limit), st))
	}
	right = append(right, pane.Bit(" ", l.Look.Dim))
	width := 0
	for _, p := range right {
		width += safetext.Width(p.Text)
	}
	for len(right) > 2 && x+width > end { // what matters least goes first
		width -= safetext.Width(right[0].Text)
		right = right[1:]
	}
	l.Words(max(end-width, x), r.Y, end, right...)
}

// title names a contender as people do.
func title(c lab.Contender) string {
	s := figure.AlgorithmInFull(c.Algorithm)
	if c.Variant != "" {
		s += ", " + c.Variant
	}
	switch c.Fault {
	case lab.CollidingMembers:
		s += ", members collide"
	case lab.SecondsAsMillis:
		s += ", seconds as ms"
	case lab.ClientClock:
		s += ", client clocks"
	}
	return s
}

// paintMarks draws under the columns where the contender and the exact log disagreed, and
// what was fired by hand.
func (l *Lab) paintMarks(r cell.Rect, s stretch, marks []arrivals, own bool) {
	for c := range s.n {
		glyph, st := l.Look.Axis, l.Look.Faint
		if model.OpensWindow(s.first+int64(c), int(s.per)) {
			glyph, st = l.Look.Tick, l.Look.Dim
		}
		set := own
		if c > s.now {
			st = l.Look.Faint
		}
		if c < len(l.columns) && c <= s.now {
			switch b, m := &l.columns[c], marks[c]; {
			case m.wrongIn > 0:
				glyph, st, set = l.wrong(true), l.Look.Near, true
			case m.wrongOut > 0:
				glyph, st, set = l.wrong(false), l.Look.Near, true
			case b.InjectedAdmitted > 0:
				glyph, st = l.Look.MarkYes, l.Look.Injected
			case b.InjectedDenied > 0:
				glyph, st = l.Look.MarkNo, l.Look.Injected
			}
		}
		if set {
			l.Grid.Set(r.X+c, r.Y, glyph, st)
		}
	}
}

// wrong is the mark of a disagreement: up for admitted, down for denied.
func (l *Lab) wrong(admitted bool) rune {
	switch {
	case l.o.ASCII && admitted:
		return '^'
	case l.o.ASCII:
		return 'v'
	case admitted:
		return '▲'
	}
	return '▼'
}

// steps are the distances between labels of the time axis.
var steps = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
	2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// paintTimes labels the time axis with the time of the story.
func (l *Lab) paintTimes(r cell.Rect, s stretch) {
	const gap = 11
	for _, step := range steps {
		if step < s.length()*gap {
			continue
		}
		begin := s.begin(0).Sub(s.zero)
		for d := (begin + step - 1) / step * step; ; d += step {
			c := int(s.column(s.zero.Add(d)) - s.first)
			text := figure.Length(d)
			if d == 0 {
				text = "0s"
			}
			if c+len(text) > r.W {
				break
			}
			if c < s.now-len(text)-2 || c > s.now+5 {
				l.Grid.Text(r.X+c, r.Y, r.X+r.W, text, l.Look.Dim)
			}
		}
		break
	}
	x := r.X + min(max(s.now-1, 0), r.W-3)
	l.Grid.Text(x, r.Y, r.X+r.W, "now", l.Look.Accent)
}

// paintWhy explains the contender in focus: the rule, the numbers of this very moment,
// and what follows.
func (l *Lab) paintWhy(r cell.Rect) {
	s := l.run.Setup()
	c := s.Contenders[l.focus]
	m := l.run.Ask(l.focus, max(s.Cost, 1))
	w := lab.Explain(c, m, s)
	left, right := r, cell.Rect{}
	if l.Framed {
		left, right = r.Left(r.W * 60 / 100)
	}
	in := l.Section(left, true, pane.Bit("why", l.Look.Title), pane.Bit(" · one more request at "+title(c), l.Look.Dim))
	verdict := l.Look.Good
	if !m.Decision.Allowed {
		verdict = l.Look.Denied
	}
	lines := []pane.Piece{pane.Bit(w.Rule, l.Look.Dim)}
	if in.H < len(w.Numbers)+2 {
		lines = append(lines, pane.Bit(w.Sum, l.Look.Title))
		if in.H >= 4 {
			lines = append([]pane.Piece{lines[0]}, pane.Bit(w.Numbers[max(len(w.Numbers)-2, 0)], l.Look.Text), lines[1])
		}
	} else {
		for _, n := range w.Numbers {
			lines = append(lines, pane.Bit(n, l.Look.Text))
		}
		lines[len(lines)-1].Style = l.Look.Title
	}
	lines = append(lines, pane.Bit(l.mark(m.Decision.Allowed)+" "+w.Verdict, verdict))
	for i, p := range lines {
		if i < in.H {
			l.Grid.Text(in.X, in.Y+i, in.X+in.W, p.Text, p.Style)
		}
	}
	if right.W > 0 {
		l.paintTask(right)
	}
}

// mark is the shape of a verdict.
func (l *Lab) mark(allowed bool) string {
	if allowed {
		return l.Look.YesMark
	}
	return l.Look.OverMark
}

// paintTask is the lesson in brief beside the explanation.
func (l *Lab) paintTask(r cell.Rect) {
	it := l.at()
	in := l.Section(r, false, pane.Bit("task", l.Look.Title), pane.Bit(" · 4 for the text", l.Look.Dim))
	if it.Goal == nil {
		l.paragraphs(in, it.Text, l.Look.Text)
		return
	}
	p := l.goal()
	y := in.Y
	write := func(text string, st themes.Style) {
		for _, line := range figure.Wrap(safetext.Clean(text), in.W) {
			if y < in.Y+in.H {
				l.Grid.Text(in.X, y, in.X+in.W, line, st)
			}
			y++
		}
	}
	write(it.Goal.Say, l.Look.Text)
	if p.Reached {
		write(l.Look.YesMark+" "+it.Goal.Then, l.Look.Good)
		write("n begins the next lesson.", l.Look.Dim)
		return
	}
	write(p.Text, l.Look.Near)
	if l.hint {
		write("Hint: "+it.Goal.Hint, l.Look.Accent)
	} else {
		write("i gives a hint, w shows how.", l.Look.Dim)
	}
}

// paragraphs writes text broken into lines, as much as fits, and returns the row after.
func (l *Lab) paragraphs(r cell.Rect, text []string, st themes.Style) int {
	y := r.Y
	for i, p := range text {
		if i > 0 {
			y++
		}
		for _, line := range figure.Wrap(safetext.Clean(p), r.W) {
			if y < r.Y+r.H {
				l.Grid.Text(r.X, y, r.X+r.W, line, st)
			}
			y++
		}
	}
	return y
}
