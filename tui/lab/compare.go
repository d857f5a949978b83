package lab

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// compareView is the lanes of all candidates under the same requests.
type compareView struct{ plain }

func (compareView) move(s *Screen, by int) {
	if s.class.following && s.guess.asked { // the question is about the lane in focus
		return
	}
	n := len(s.run.Setup().Candidates)
	s.focus = (s.focus + by + n) % n
}

// paint draws the candidates' lanes under each other, and below them why the one
// in focus decides as it does.
func (compareView) paint(p painter, r cell.Rect) {
	if p.s.presents || p.s.at().Plain {
		p.paintLanes(r)
		return
	}
	lanes, below := r.Top(r.H - whyRows(p.c))
	p.paintLanes(lanes)
	p.paintWhy(below)
}

// whyRows is how many rows the reason takes below the lanes.
func whyRows(c *widget.Canvas) int {
	return collect.If(c.Framed, 9, 5)
}

// paintLanes draws the lanes of the run, with the candidates' pictures beside them where there
// is room. Lanes that find no room scroll with the focus.
func (p painter) paintLanes(r cell.Rect) {
	run, focus := p.s.run, p.s.focus
	n, rows := len(run.Setup().Candidates), 1 // of the times
	pictureWidth, fit := 0, max((r.H-rows)/2, 1)
	if large(p.s, p.c.Buffer.H) {
		const lane = 2*widget.TypeRows + 1
		if fit = max((r.H-rows)/lane, 1); (r.H-widget.TypeRows)/lane >= min(n, fit) {
			rows = widget.TypeRows
		}
	}
	lanes, labels := r.Top(r.H - rows)
	switch {
	case p.c.Framed && p.s.presents:
		pictureWidth = min(r.W*42/100, 84)
	case p.c.Framed:
		pictureWidth = min(max(r.W*34/100, 42), 60)
	case p.s.presents: // the large numbers are the point of it
		pictureWidth = 32
	}
	columns := lanes.W - pictureWidth - 2
	st := rangeOf(run, run.Now(), columns, p.s.at().Column, p.s.zoom)
	coming := run.Coming(st.begin(st.n) - 1)
	all := make([]lane, n)
	for i := range all {
		all[i] = p.laneOf(run, st, i, run.Decided())
	}
	most := scale(all...)
	first := max(0, min(focus-fit+1, n-fit))
	shown := min(n-first, fit)
	y := lanes.Y
	for i := first; i < first+shown; i++ {
		h := (lanes.Y + lanes.H - y) / (first + shown - i)
		if p.s.presents { // one size of type for all
			h = lanes.H / shown
		}
		box := cell.Rect{X: lanes.X, Y: y, W: lanes.W, H: h}
		name := run.Setup().Candidates[i].Title()
		if large(p.s, p.c.Buffer.H) && h > 2*widget.TypeRows && widget.Settable(name) && widget.TypeCells(name, true) < columns {
			st := collect.If(i == focus, p.c.Look.Title, p.c.Look.Dim)
			p.c.Large(box.X+1, box.Y, box.X+columns, name, widget.TypeCells(name, false) >= columns, st)
			box.Y, box.H = box.Y+widget.TypeRows-1, box.H-widget.TypeRows+1
		} else {
			all[i].title(box, i == focus, columns)
		}
		drawn := all[i].paint(box, columns, coming, most)
		if pic := (cell.Rect{X: r.X + columns + 3, Y: y, W: r.W - columns - 4, H: h}); pic.W >= 24 {
			picture{p, i}.paint(pic)
		}
		p.OnClick(box, func(int) tea.Cmd { p.s.focus = min(i, len(p.s.run.Setup().Candidates)-1); return nil })
		if terms := p.s.terms(); i == focus && len(terms) > 0 {
			p.s.lit.paintSpan(p.c, drawn, st, terms)
		}
		y += h
	}
	times := cell.Rect{X: labels.X + 1, Y: labels.Y, W: columns, H: rows}
	st.paintTimes(p.c, times)
	p.OnClick(times, func(at int) tea.Cmd { return p.s.goTo(st.roundest(at)) })
	if shown < n {
		p.c.Buffer.Text(labels.X+columns+3, labels.Y, labels.X+labels.W, fmt.Sprintf("↑↓ show %d more", n-shown), p.c.Look.Accent)
	} else if p.c.Framed && !p.s.presents {
		p.c.Buffer.Text(labels.X+columns+3, labels.Y, labels.X+labels.W, p.markLegend(pictureWidth-1), p.c.Look.Dim)
	}
}

// markLegend says in at most so many columns what the marks below the lanes mean; "" where there is no room.
func (p painter) markLegend(columns int) string {
	admitted, denied, excess := p.c.Look.TooMany, p.c.Look.TooFew, ""
	marks := fmt.Sprintf("%c admitted, %c denied wrongly", admitted, denied)
	short := fmt.Sprintf("%c too many, %c too few", admitted, denied)
	if slices.ContainsFunc(p.s.run.Setup().Candidates, lab.Candidate.Bursts) {
		excess, short = fmt.Sprintf(", %c its excess", p.c.Look.Excess), fmt.Sprintf("%c %c wrong", admitted, denied)
	}
	return format.First(columns, marks+" by its own true window"+excess, marks+" by its true window"+excess, marks+excess, short+excess)
}

// paintOne draws one candidate's lane of a run with its times. With asked it does not show what becomes of one more request.
func (p painter) paintOne(r cell.Rect, run *lab.Run, i int, asked bool) {
	body, times := r.Top(r.H - 1)
	columns := r.W - 2
	st := rangeOf(run, run.Now(), columns, p.s.at().Column, p.s.zoom)
	l := p.laneOf(run, st, i, run.Decided())
	l.asked = asked
	l.title(body, true, columns)
	l.paint(body, columns, nil, scale(l))
	st.paintTimes(p.c, cell.Rect{X: times.X + 1, Y: times.Y, W: columns, H: 1})
}

// paintWhy explains the candidate in focus: the rule, the numbers of this very moment,
// and what follows.
func (p painter) paintWhy(r cell.Rect) {
	m := p.s.run.Ask(p.s.focus, p.s.cost())
	c, w := m.Candidate, m.Explain()
	what := " · one more request at " + c.Title()
	if c.Scripted() {
		what = " · the last request at " + c.Title()
	} else if term := p.s.lit.of(w.Terms); term != nil {
		what = " · " + term.Means
	}
	title := []widget.Span{widget.Styled("why", p.c.Look.Title), widget.Styled(what, p.c.Look.Dim)}
	in := p.c.Section(r, true, title...)
	if !p.c.Framed { // the lanes have no room for it
		p.c.Aside(r, widget.Width(title...), widget.Styled(p.markLegend(widget.TitleRoom(r.W)-widget.Width(title...)-3), p.c.Look.Dim))
	}
	mark, verdict := verdictOf(p.c.Look, m)
	lines := []widget.Span{widget.Styled(w.Rule, p.c.Look.Dim)}
	if p.s.guess.asked { // the answer is what is to be predicted
		lines = append(lines, widget.Styled("a predicts that it is admitted, d that it is denied", p.c.Look.Accent))
	} else if in.H < len(w.Numbers)+2 {
		lines = append(lines, widget.Styled(w.Sum(), p.c.Look.Title))
		if in.H >= 4 {
			lines = append([]widget.Span{lines[0]}, widget.Styled(w.Numbers[max(len(w.Numbers)-2, 0)], p.c.Look.Text), lines[1])
		}
	} else {
		lines = append(lines, collect.Map(w.Numbers, func(n string) widget.Span { return widget.Styled(n, p.c.Look.Text) })...)
		lines[len(lines)-1].Style = p.c.Look.Title
	}
	if !p.s.guess.asked {
		lines = append(lines, widget.Styled(mark+" "+w.Verdict, verdict))
	}
	if c.Scripted() {
		used := ""
		for _, l := range p.s.run.Logs(p.s.focus) {
			used += fmt.Sprintf("%s: %d of %d%s  ", l.Name, l.Used, l.Limit, collect.If(l.Here, " (here)", ""))
		}
		lines = append(append(lines, widget.Styled(used, p.c.Look.Text)), p.ranBy(m)...)
	}
	p.rows(in, lines...)
	if in.H > 0 {
		p.s.lit.paintTerms(p.c, in.X, in.Y, in.X+in.W, w)
	}
}

// working is how the candidate in focus would decide about one more request.
func (s *Screen) working() lab.Working { return s.run.Ask(s.focus, s.cost()).Explain() }

// terms are those of the rule that stands below the lanes.
func (s *Screen) terms() []lab.Meaning {
	if !s.shows("compare") || s.presents || s.at().Plain {
		return nil
	}
	return s.working().Terms
}

// verdictMark is the shape of a verdict.
func verdictMark(l chart.Look, allowed bool) string {
	return collect.If(allowed, l.YesMark, l.OverMark)
}

// verdictStyle is how what is good looks, and what is not.
func verdictStyle(l chart.Look, good bool) themes.Style { return collect.If(good, l.Good, l.Denied) }

// verdictOf is the mark and the style of a moment's verdict.
func verdictOf(l chart.Look, m lab.Moment) (string, themes.Style) {
	if m.Open() {
		return "?", l.Near
	}
	return verdictMark(l, m.Decision.Allowed), verdictStyle(l, m.Decision.Allowed)
}

// titleIn is the candidate's title, shorter where it takes more than so many columns.
func titleIn(c lab.Candidate, columns int) string {
	return safetext.Clip(cmp.Or(format.First(columns, c.Title()), c.Short()), columns, safetext.Ellipsis)
}

// timeRange is what the lanes show of the time of a story, column by column. The windows
// on the clock begin with a column, unless columns are longer than windows.
type timeRange struct {
	zero    limiter.Instant
	window  int64 // microseconds
	columns int64 // so many columns show so many windows
	windows int64
	first   int64 // number of the leftmost column
	n       int
	now     int // index of the column that holds the moment
}

// column returns the number of the column that holds t; -1 before the story.
func (s timeRange) column(t limiter.Instant) int64 {
	if t < s.zero {
		return -1
	}
	return int64(t-s.zero) * s.columns / (s.window * s.windows)
}

// begin returns the first instant of column i on screen.
func (s timeRange) begin(i int) limiter.Instant {
	micros, per := (s.first+int64(i))*s.window*s.windows, s.columns
	return s.zero + limiter.Instant((micros+per-1)/per)
}

// roundest returns the instant of column i on screen that is written shortest: a click on
// the label of a time means that time.
func (s timeRange) roundest(i int) limiter.Instant {
	begin, end := s.begin(i).Sub(s.zero), s.begin(i+1).Sub(s.zero)
	for _, step := range slices.Backward(chart.TimeSteps[:]) {
		if at := (begin + step - 1) / step * step; at < end {
			return s.zero.Add(at)
		}
	}
	return s.begin(i)
}

// length returns how much time a column shows.
func (s timeRange) length() time.Duration {
	return time.Duration(s.window*s.windows/s.columns) * time.Microsecond
}

// opensWindow reports whether a window on the clock begins in column i on screen.
func (s timeRange) opensWindow(i int) bool {
	begin, end := s.begin(i)-s.zero, s.begin(i+1)-s.zero
	w := limiter.Instant(s.window)
	return (begin+w-1)/w*w < end
}

// rangeOf returns what w columns show of a run at an instant: two windows, or columns of a given length,
// each step of zoom twice as much. A quarter of it is still to come.
func rangeOf(run *lab.Run, now limiter.Instant, w int, column time.Duration, zoom int) timeRange {
	setup := run.Setup()
	s := timeRange{zero: setup.Zero, window: int64(setup.Limit.Window / time.Microsecond), windows: 1, columns: int64(max(w/2, 1)), n: w}
	if column > 0 {
		s.columns = max(int64(setup.Limit.Window/column), 1)
	}
	for ; zoom < 0 && s.columns < s.window; zoom++ {
		s.columns *= 2
	}
	for ; zoom > 0; zoom-- {
		if s.columns%2 == 0 {
			s.columns /= 2
		} else {
			s.windows *= 2
		}
	}
	ahead := max(w/4, 2)
	at := s.column(now)
	s.first = max(at-int64(w-1-ahead), 0)
	s.now = int(at - s.first)
	return s
}

// paintTimes labels the time axis with the time of the story, in large type where r has the rows for it.
func (s timeRange) paintTimes(p *widget.Canvas, r cell.Rect) {
	gap, width := 11, safetext.Width
	write := func(x int, text string, st themes.Style) { p.Buffer.Text(r.X+x, r.Y, r.X+r.W, text, st) }
	if r.H >= widget.TypeRows {
		gap, width = 16, func(text string) int { return widget.TypeCells(text, true) }
		write = func(x int, text string, st themes.Style) { p.Large(r.X+x, r.Y, r.X+r.W, text, true, st) }
	}
	now := min(max(s.now-width("now")/2, 0), r.W-width("now"))
	for _, step := range chart.TimeSteps {
		if step < s.length()*time.Duration(gap) {
			continue
		}
		begin := s.begin(0).Sub(s.zero)
		for d := (begin + step - 1) / step * step; ; d += step {
			c := int(s.column(s.zero.Add(d)) - s.first)
			text := collect.If(d == 0, "0s", format.Length(d))
			if c+width(text) > r.W {
				break
			}
			if c < now-width(text)-1 || c > now+width("now")+1 {
				write(c, text, p.Look.Dim)
			}
		}
		break
	}
	write(now, "now", p.Look.Accent)
}
