package lab

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// lane is what one candidate made of the requests in a range of time, column by column, to be drawn on a canvas.
type lane struct {
	c     *widget.Canvas
	run   *lab.Run
	i     int // the candidate
	s     timeRange
	bins  []model.Bin
	wrong []wrongs
	asked bool // a request waits for its prediction: what would become of it is not shown
	bare  bool // how it fared is not shown
}

// wrongs counts the wrong decisions of one column, and the excess, see lab.Verdicts.
type wrongs struct{ admitted, denied, over int64 }

// laneOf sorts the requests before number until that were sent to a candidate into columns.
func (p painter) laneOf(run *lab.Run, s timeRange, c, until int) lane {
	l := lane{c: p.c, run: run, i: c, s: s, asked: p.s.guess.asked, bare: p.s.presents,
		bins: slices.Repeat([]model.Bin{{Watched: true}}, s.n), wrong: make([]wrongs, s.n)}
	for i := run.Since(s.begin(0)); i < until; i++ {
		a, v := run.Arrival(i)
		at := s.column(a.At) - s.first
		if at < 0 || at >= int64(s.n) || a.Cost == 0 || !v.Sent(c) {
			continue
		}
		b, w := &l.bins[at], &l.wrong[at]
		units, fired, wrong := &b.Denied, &b.InjectedDenied, &w.denied
		if v.Allowed(c) {
			units, fired, wrong = &b.Admitted, &b.InjectedAdmitted, &w.admitted
		}
		if *units += a.Cost; a.Fired {
			*fired++
		}
		switch {
		case v.Wrong(c):
			*wrong++
		case v.Over(c):
			w.over++
		}
	}
	if run.Setup().Candidates[c].Queues() { // what it admitted stands where it goes on
		for i := range l.bins {
			l.bins[i].Admitted = 0
		}
		for _, a := range run.Turns(c, s.begin(0), until) {
			if at := s.column(a.At) - s.first; at < int64(s.n) {
				l.bins[at].Admitted += a.Cost
			}
		}
	}
	return l
}

// scale returns the count that fills the height of lanes: the same for all, or they could not be compared.
func scale(lanes ...lane) (most int64) {
	for _, l := range lanes {
		for i := range l.bins {
			most = max(most, l.bins[i].Admitted+l.bins[i].Denied)
		}
	}
	return chart.Nice(max(most, 2))
}

// levelFrom is the height of a lane from which it shows the level that is used too.
const levelFrom = 7

// paint draws one candidate's columns with the disagreements under them, and where
// there is room what was used against the limit. It returns the columns with their axis.
func (p lane) paint(r cell.Rect, columns int, coming []lab.Arrival, most int64) cell.Rect {
	run, i, s := p.run, p.i, p.s
	body := cell.Rect{X: r.X + 1, Y: r.Y + 1, W: columns, H: r.H - 1}
	if body.H <= 0 {
		return body
	}
	plot, level := body, cell.Rect{}
	if body.H >= levelFrom && run.Setup().Limit.Count > 0 && !run.Setup().Candidates[i].Scripted() {
		plot, level = body.Top(body.H - (body.H-1)*2/5)
	}
	axis := cell.Rect{X: plot.X, Y: plot.Y + plot.H - 1, W: plot.W, H: 1}
	if plot.H >= 2 {
		plot.H--
	}
	edge := func(c int) (rune, bool) {
		return p.c.Look.Edge, s.opensWindow(c)
	}
	for c := range s.n {
		if glyph, ok := edge(c); ok {
			for y := body.Y; y < body.Y+body.H; y++ {
				p.c.Buffer.Set(body.X+c, y, glyph, p.c.Look.Dim)
			}
		}
	}
	past := min(s.now+1, s.n)
	shown := collect.If(run.Setup().Candidates[i].Queues(), s.n, past) // of a queue with what waits
	cols := chart.Columns{Bins: p.bins[:shown], Max: most, Ground: edge}
	cols.Draw(&p.c.Buffer, cell.Rect{X: plot.X, Y: plot.Y, W: shown, H: plot.H}, p.c.Look)
	p.c.Buffer.Recolour(cell.Rect{X: plot.X + past, Y: plot.Y, W: shown - past, H: plot.H}, p.c.Look.Admitted.Fg, p.c.Look.Previous.Fg)
	for _, a := range coming { // what comes by itself, not decided yet
		if at := s.column(a.At) - s.first; (a.Only == 0 || int(a.Only) == i+1) && at > int64(s.now) && at < int64(s.n) {
			p.c.Buffer.Set(plot.X+int(at), plot.Y+plot.H-1, p.c.Look.Room, p.c.Look.Text)
		}
	}
	if axis.Y != plot.Y {
		p.axis(axis)
	}
	if level.H > 0 {
		p.level(level)
	}
	p.window(body, plot, axis)
	if axis.Y != plot.Y && !p.asked {
		p.ribbon(axis, max(run.Setup().Cost, 1))
	}
	p.marks(axis, axis.Y != plot.Y)
	for c, b := range p.bins[:past] { // a lane of one row has no room to stack them: it shows admitted requests on denied ones
		if plot.H == 1 && axis.Y != plot.Y && b.Admitted > 0 && b.Denied > 0 {
			p.c.Buffer.Set(plot.X+c, plot.Y, p.c.Look.Half, p.c.Look.Shared())
		}
	}
	return cell.Rect{X: plot.X, Y: plot.Y, W: plot.W, H: axis.Y - plot.Y + 1}
}

// level draws what a candidate had used against its limit.
func (p lane) level(r cell.Rect) {
	run, i, s := p.run, p.i, p.s
	setup := run.Setup()
	limit := setup.Candidates[i].Room(setup.Limit)
	past := min(s.now+1, s.n)
	most := limit + max(limit/8, 1)
	bins := make([]model.Bin, past)
	for c, used := range run.Levels(i, s.begin(0), s.length(), past) {
		bins[c] = model.Bin{Watched: true, Used: used, UsedKnown: used >= 0}
		most = max(most, used)
	}
	lane := chart.Lane{Bins: bins, Limit: limit, Max: most}
	lane.Draw(&p.c.Buffer, cell.Rect{X: r.X, Y: r.Y, W: past, H: r.H}, p.c.Look)
}

// title draws the candidate's name and how it fared.
func (p lane) title(r cell.Rect, focused bool, columns int) {
	run, c, t := p.run, p.run.Setup().Candidates[p.i], p.run.Counts(p.i)
	name, end := p.c.Look.Text, r.X+columns+1
	mark := " "
	if focused {
		name, mark = p.c.Look.Title, p.c.Look.SelMark
	}
	p.c.Buffer.Fill(r.X, r.Y, columns+2, p.c.Look.Axis, p.c.Look.Border)
	x := p.c.Spans(r.X, r.Y, end, widget.Styled(mark, p.c.Look.Accent), widget.Styled(c.Title(), name), widget.Styled(" ", name))
	if err := run.Failed(p.i); err != nil {
		x = p.c.Spans(x, r.Y, end, widget.Styled(safetext.Clip(err.Error(), max(end-x-1, 0), safetext.Ellipsis)+" ", p.c.Look.Denied))
	}
	if p.bare {
		return
	}
	var right []widget.Span
	say := func(st themes.Style, format string, args ...any) {
		right = append(right, widget.Styled(fmt.Sprintf(format, args...), st))
	}
	say(p.c.Look.Admitted, " %d admitted", t.Admitted)
	say(p.c.Look.Denied, " %d denied", t.Denied)
	if t.WronglyAdmitted > 0 {
		say(p.c.Look.Near, " %c%d", p.c.Look.TooMany, t.WronglyAdmitted)
	}
	if t.WronglyDenied > 0 {
		say(p.c.Look.Near, " %c%d", p.c.Look.TooFew, t.WronglyDenied)
	}
	limit := run.Setup().Limit.Count
	if c.Bursts() && limit > 0 && t.Largest > limit {
		say(p.c.Look.Near, " %c%d over", p.c.Look.Excess, t.Largest-limit)
	}
	if limit > 0 {
		st := collect.If(t.Largest > limit, p.c.Look.Denied, p.c.Look.Dim)
		most := fmt.Sprintf(" most %d of %d", t.Largest, limit)
		if columns >= 90 {
			most = fmt.Sprintf(" most in any %s: %d of %d", format.Length(run.Setup().Limit.Window), t.Largest, limit)
		}
		if run.Setup().Cost > 1 { // requests are counted before it
			most += " units"
		}
		say(st, "%s", most)
	}
	say(p.c.Look.Dim, " ")
	for len(right) > 2 && x+widget.Width(right...) > end { // what matters least goes first
		right = right[1:]
	}
	p.c.Spans(max(end-widget.Width(right...), x), r.Y, end, right...)
}

// axis draws the line under the columns, with the edges of the windows on the clock, and the nodes to which a client comes.
func (p lane) axis(r cell.Rect) {
	s, setup := p.s, p.run.Setup()
	for c := range s.n {
		glyph, st := p.c.Look.Axis, p.c.Look.Faint
		if s.opensWindow(c) {
			glyph, st = p.c.Look.Tick, p.c.Look.Dim
		}
		p.c.Buffer.Set(r.X+c, r.Y, glyph, st)
		if node := setup.Node(p.i, s.begin(c)); node > 0 && (c == 0 || node != setup.Node(p.i, s.begin(c-1))) {
			p.c.Buffer.Set(r.X+c, r.Y, rune('0'+node), p.c.Look.Accent)
		}
	}
}

// marks draws under the columns where the candidate decided wrongly, and, where there
// is an axis, what was fired by hand.
func (p lane) marks(r cell.Rect, axis bool) {
	for c := range min(p.s.now+1, p.s.n) {
		switch b, m := &p.bins[c], p.wrong[c]; {
		case m.admitted > 0:
			p.c.Buffer.Set(r.X+c, r.Y, p.c.Look.TooMany, p.c.Look.Near)
		case m.denied > 0:
			p.c.Buffer.Set(r.X+c, r.Y, p.c.Look.TooFew, p.c.Look.Near)
		case m.over > 0:
			p.c.Buffer.Set(r.X+c, r.Y, p.c.Look.Excess, p.c.Look.Near)
		case axis && b.InjectedAdmitted > 0:
			p.c.Buffer.Set(r.X+c, r.Y, p.c.Look.MarkYes, p.c.Look.Injected)
		case axis && b.InjectedDenied > 0:
			p.c.Buffer.Set(r.X+c, r.Y, p.c.Look.MarkNo, p.c.Look.Injected)
		}
	}
}

// ownWindow is what a candidate looks at: a stretch of time, and beside it what is its own
// alone. Colour marks it as well as shape, for a projector and for paper.
type ownWindow struct {
	from, to limiter.Instant // what counts
	faded    limiter.Instant // before from: what counts in part; from where there is none
	leaves   limiter.Instant // the entry that leaves next; 0 none
	tat      limiter.Instant // of GCRA; 0 none
	level    float64         // of a bucket, 0 to 1; below 0 none
}

// windowOf returns what candidate i of a run looks at now.
func windowOf(run *lab.Run, i int) ownWindow {
	s, now := run.Setup(), run.Now()
	m, w := run.Ask(i, 0), s.Limit.Window
	c, state, d := m.Candidate, m.Before, m.Decision
	o := ownWindow{from: now.Add(-w), to: now, level: -1}
	switch describe.KindOf(c.Algorithm) {
	case describe.Window:
		o.from, o.to = d.Start, d.End
	case describe.Weighted:
		o.from, o.to, o.faded = d.Start, now, now.Add(-w)
	case describe.Log:
		o.from = now.Add(-c.Reach(s.Limit))
		for _, e := range state.Log {
			if e.At > o.from || e.At == o.from && c.Convention(s.Convention).Edge == convention.Closed {
				o.leaves = e.At
				break
			}
		}
	case describe.Arrival:
		if o.from = now; state.TAT > now {
			o.tat = state.TAT
		}
	case describe.Bucket:
		o.from = now
		if room := c.Room(s.Limit); room > 0 {
			o.level = state.LevelAt(now, s.Limit, c.Convention(s.Convention)) / float64(room)
		}
	}
	o.faded = cmp.Or(o.faded, o.from)
	return o
}

// window draws what a lane's candidate looks at: on its body as ground, on its axis as
// a bracket, and over what is still to come the TAT or the level.
func (p lane) window(body, plot, axis cell.Rect) {
	o, s := windowOf(p.run, p.i), p.s
	now := p.run.Now()
	column := func(t limiter.Instant) int { return int(max(min(s.column(t)-s.first, int64(s.n)), -1)) }
	ground := func(from, to limiter.Instant, ink themes.Ink) {
		a, b := max(column(from), 0), min(column(to), s.now)
		if from < to && b >= a {
			p.c.Buffer.Tint(cell.Rect{X: body.X + a, Y: body.Y, W: b - a + 1, H: body.H}, ink)
		}
	}
	if o.faded < o.from {
		ground(o.faded, o.from-1, p.c.Look.Raised)
	}
	ground(o.from, min(o.to, now), p.c.Look.Window)
	if axis.Y == plot.Y { // a lane of one row has no axis of its own
		return
	}
	if o.from < o.to {
		p.bracket(axis, column(o.from), column(o.to), column(o.faded))
	}
	if o.leaves != 0 && column(o.leaves) >= 0 {
		p.c.Buffer.Set(plot.X+column(o.leaves), plot.Y, p.c.Look.Leaves, p.c.Look.Accent)
	}
	switch ahead := s.now + 1; {
	case o.tat != 0:
		end := min(column(o.tat), s.n-1)
		p.c.Buffer.Fill(plot.X+ahead, plot.Y, max(end-ahead, 0), p.c.Look.Axis, p.c.Look.Accent)
		p.c.Buffer.Set(plot.X+max(end, ahead), plot.Y, p.c.Look.Ahead, p.c.Look.Accent)
		p.c.Buffer.Text(plot.X+max(end, ahead)+1, plot.Y, plot.X+s.n, " TAT", p.c.Look.Accent)
	case o.level >= 0 && !p.run.Setup().Candidates[p.i].Queues(): // what waits there stands on the lane
		p.vessel(cell.Rect{X: plot.X + ahead + 1, Y: plot.Y, W: 4, H: plot.H}, o.level, plot.X+s.n)
	}
}

// bracket draws the ends of a window on the axis.
func (p lane) bracket(axis cell.Rect, from, to, faded int) {
	box := p.c.Look.Box
	if faded < from && faded >= 0 {
		p.c.Buffer.Set(axis.X+faded, axis.Y, box.BL, p.c.Look.Dim)
		p.c.Buffer.Set(axis.X+from, axis.Y, p.c.Look.Tick, p.c.Look.Accent)
	} else if from >= 0 {
		p.c.Buffer.Set(axis.X+from, axis.Y, box.BL, p.c.Look.Accent)
	}
	if to < axis.W {
		p.c.Buffer.Set(axis.X+to, axis.Y, box.BR, p.c.Look.Accent)
	}
}

// vessel draws a bucket with its level.
func (p lane) vessel(r cell.Rect, level float64, end int) {
	if r.X+r.W > end || r.H < 1 {
		return
	}
	eighths := int(min(max(level, 0), 1)*float64(r.H*len(p.c.Look.Rise)) + 0.5)
	for row := range r.H {
		y := r.Y + r.H - 1 - row
		p.c.Buffer.Set(r.X, y, p.c.Look.Box.V, p.c.Look.Accent)
		p.c.Buffer.Set(r.X+r.W-1, y, p.c.Look.Box.V, p.c.Look.Accent)
		if fill := min(eighths-row*len(p.c.Look.Rise), len(p.c.Look.Rise)); fill > 0 {
			p.c.Buffer.Fill(r.X+1, y, r.W-2, p.c.Look.Rise[fill-1], p.c.Look.Current)
		}
	}
}

// ribbon draws on the axis of what is still to come whether one more request would be
// admitted there, if nothing else came but what comes by itself.
func (p lane) ribbon(axis cell.Rect, cost int64) {
	s := p.s
	from := s.now + 1
	if from >= s.n || p.run.Setup().Limit.Count == 0 {
		return
	}
	step := s.length()
	fits := p.run.Future(p.i, s.begin(from), max(step, time.Microsecond), s.n-from, cost)
	for k, ok := range fits {
		glyph, st := p.c.Look.Limit, p.c.Look.Denied
		if ok {
			glyph, st = p.c.Look.Fits, p.c.Look.Admitted
		}
		if ok && k > 0 && !fits[k-1] {
			glyph = p.c.Look.Slot
		}
		if s.opensWindow(from+k) && glyph != p.c.Look.Slot {
			continue // the edge stays visible
		}
		p.c.Buffer.Set(axis.X+from+k, axis.Y, glyph, st)
	}
}
