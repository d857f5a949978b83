package lab

import (
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

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
		most := fmt.Sprintf(" most %d of %d", t.Largest, limit)
		if columns >= 90 {
			most = fmt.Sprintf(" most in any %s: %d of %d", figure.Length(run.Setup().Limit.Window), t.Largest, limit)
		}
		right = append(right, pane.Bit(most, st))
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
