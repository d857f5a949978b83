package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// bar is one row of a picture.
type bar struct {
	label, value string
	segments     []chart.Segment
	limit        float64 // a stroke here; 0 none
	note         string
}

// picture is what a candidate keeps.
type picture struct {
	painter
	i int // the candidate
}

// paint draws the picture in the candidate's own way: a counter, ticks, two
// weighted bars, a TAT, a level.
func (p picture) paint(r cell.Rect) {
	s, i := p.s.run.Setup(), p.i
	m := p.s.run.Ask(i, 0)
	c, state, d := m.Candidate, m.Before, m.Decision
	if p.s.presents {
		p.paintLarge(r)
		return
	}
	if c.Scripted() {
		p.commands(r)
		return
	}
	var bars []bar
	switch describe.KindOf(c.Algorithm) {
	case describe.Window:
		bars = []bar{{"current", fmt.Sprint(d.Current), solid(float64(d.Current), p.c.Look.Current), float64(s.Limit.Count),
			"edge in " + lab.Seconds(d.End.Sub(p.s.run.Now()))}}
	case describe.Weighted:
		bars = p.weighted(d, r.W)
	case describe.Log:
		bars = []bar{{"in window", fmt.Sprint(d.Used), solid(float64(d.Used), p.c.Look.Good), float64(s.Limit.Count),
			fmt.Sprintf("%d kept", m.Stored.Entries(p.s.run.Now()))}}
	case describe.Arrival:
		ahead, steps := lab.Ahead(state, p.s.run.Now(), s.Limit)
		bars = []bar{{"TAT", lab.Number(steps) + " T", solid(steps, p.c.Look.Current), float64(c.Room(s.Limit)),
			lab.Seconds(ahead) + " ahead"}}
	case describe.Bucket:
		level := state.LevelAt(p.s.run.Now(), s.Limit, c.Convention(s.Convention))
		bars = []bar{{lab.LevelName(c.Algorithm), lab.Number(level), solid(level, p.c.Look.Current), float64(c.Room(s.Limit)),
			fmt.Sprintf("%s/s", lab.Number(float64(s.Limit.Count)/s.Limit.Window.Seconds()))}}
	}
	full, note := 1.0, 0
	for _, b := range bars {
		note = max(note, len([]rune(b.note)))
		full = max(full, b.limit*1.05, collect.Sum(b.segments, func(g chart.Segment) float64 { return g.Value }))
	}
	y := r.Y
	room := r.Y + r.H
	if r.H < len(bars) {
		bars = bars[len(bars)-1:]
	}
	for _, b := range bars {
		p.bar(cell.Rect{X: r.X, Y: y, W: r.W, H: 1}, full, note, b)
		y++
	}
	if describe.KindOf(c.Algorithm) == describe.Log && y < room {
		p.ticks(cell.Rect{X: r.X, Y: y, W: r.W, H: 1}, state, c.Reach(s.Limit))
		y++
	}
	p.verdict(cell.Rect{X: r.X, Y: y, W: r.W, H: room - y})
}

// verdict says what would become of one more request. The rule and the numbers of the one in focus stand below the lanes.
func (p picture) verdict(r cell.Rect) {
	i, m := p.i, p.s.run.Ask(p.i, p.s.cost())
	w := m.Explain()
	if p.s.guess.asked { // the answer is what is to be predicted
		p.rows(r, widget.Styled(w.Rule, p.c.Look.Dim))
		return
	}
	follows := p.follows(m.Decision, "next slot in ", "never: it costs more than there ever is")
	if p.s.at().Plain {
		p.rows(r, widget.Styled(verdictMark(p.c.Look, m.Decision.Allowed)+" "+follows, verdictStyle(p.c.Look, m.Decision.Allowed)))
		return
	}
	st := verdictStyle(p.c.Look, m.Decision.Allowed)
	lines := []widget.Span{widget.Styled(verdictMark(p.c.Look, m.Decision.Allowed)+" "+w.Sum(), st), widget.Styled(follows, p.c.Look.Text)}
	if m.Candidate.Queues() {
		lines = append(lines, widget.Styled(p.waiting(), p.c.Look.Text))
	}
	kept := fmt.Sprintf("%s in Redis · %s", format.Bytes(float64(p.s.run.Bytes(i, p.s.run.Now()))), p.summary(m))
	p.rows(r, append(lines, widget.Styled(kept, p.c.Look.Dim))...)
}

// waiting says how many wait in a queue, and how long the last of them.
func (p picture) waiting() string {
	now := p.s.run.Now()
	list := p.s.run.Turns(p.i, now+1, p.s.run.Decided())
	if len(list) == 0 {
		return "none waits"
	}
	return fmt.Sprintf("%d waiting, the last for %s", len(list), lab.Seconds(list[len(list)-1].At.Sub(now)))
}

// follows says what a candidate does after a decision about one more request.
func (p picture) follows(next limiter.Decision, slot, never string) string {
	s := p.s.run.Setup()
	switch {
	case s.Limit.Count == 0:
		return "counts only"
	case next.RetryAfter == limiter.Never:
		return never
	case !next.Allowed:
		return slot + lab.Seconds(next.RetryAfter)
	}
	return fmt.Sprintf("room for %d", p.s.run.Ask(p.i, 0).Room())
}

// rows writes lines under each other, as many as fit.
func (p painter) rows(r cell.Rect, lines ...widget.Span) {
	for row, line := range lines[:min(len(lines), max(r.H, 0))] {
		p.c.Buffer.Text(r.X, r.Y+row, r.X+r.W, safetext.ClipWords(line.Text, r.W, safetext.Ellipsis), line.Style)
	}
}

// ran is what a candidate's next request runs on a server, which does not change before it is another request.
type ran struct {
	run              *lab.Run
	version, decided int
	used             int64
	text             string
}

// summary names the commands of one more request.
func (p picture) summary(m lab.Moment) string {
	run, old := p.s.run, &p.s.ran[p.i]
	now := ran{run, run.Version(), run.Decided(), m.Decision.Used, old.text}
	if now != *old {
		now.text = m.CommandSummary(p.s.redis)
		*old = now
	}
	return now.text
}

// commands lists what a script ran for its last request, below what each log of an assembly has used.
func (p picture) commands(r cell.Rect) {
	logs := p.s.run.Logs(p.i)
	for i, l := range logs[:min(len(logs), r.H)] {
		note := fmt.Sprintf("of %d%s", l.Limit, collect.If(l.Here, " here", ""))
		p.bar(cell.Rect{X: r.X, Y: r.Y + i, W: r.W, H: 1}, float64(l.Limit)*1.05, len("of 10 here"), bar{l.Name, fmt.Sprint(l.Used),
			solid(float64(l.Used), p.c.Look.Current), float64(l.Limit), note})
	}
	_, r = r.Top(len(logs))
	m := p.s.run.Ask(p.i, 0)
	w := m.Explain()
	mark, st := verdictOf(p.c.Look, m)
	lines := []widget.Span{widget.Styled(w.Sum(), p.c.Look.Text), widget.Styled(mark+" "+w.Verdict, st)}
	if m.Decided {
		lines = append(lines, p.ranBy(m)...)
	}
	p.rows(r, lines...)
}

// ranBy lists the commands of a step.
func (p painter) ranBy(m lab.Moment) []widget.Span {
	return collect.Map(m.CommandLines(p.s.redis), func(text string) widget.Span { return widget.Styled(text, p.c.Look.Accent) })
}

// solid is a bar of one style.
func solid(v float64, st themes.Style) []chart.Segment {
	return []chart.Segment{{Value: v, Style: st}}
}

// weighted are the bars of the sliding window counter.
func (p picture) weighted(d limiter.Decision, width int) []bar {
	s := p.s.run.Setup()
	counts := float64(d.Previous) * d.Weight
	rounded := d.Estimate - float64(d.Current)
	factor, product := lab.Weighted(d.Previous, d.Weight)
	if whole := lab.Number(rounded); whole != product {
		product += " → " + whole
	}
	of := collect.If(s.Limit.Count > 0, "of "+format.Short(s.Limit.Count), "")
	return []bar{
		{"previous", fmt.Sprint(d.Previous), []chart.Segment{{Value: counts, Glyph: p.c.Look.Half, Style: p.c.Look.Previous},
			{Value: float64(d.Previous) - counts, Glyph: p.c.Look.Gone, Style: p.c.Look.Dim}},
			0, fmt.Sprintf("%-*s", min(max(width-30, 0), 18), "× "+factor+" = "+product)}, // so that bars keep their width
		{"current", fmt.Sprint(d.Current), solid(float64(d.Current), p.c.Look.Current), 0,
			"edge in " + lab.Seconds(d.End.Sub(p.s.run.Now()))},
		{"estimate", lab.Number(d.Estimate), []chart.Segment{{Value: rounded, Glyph: p.c.Look.Half, Style: p.c.Look.Previous},
			{Value: float64(d.Current), Style: p.c.Look.Current}},
			float64(s.Limit.Count), of},
	}
}

// bar draws one row; note is how many columns the longest note takes.
func (p picture) bar(r cell.Rect, full float64, note int, b bar) {
	const label, number = 10, 8
	end := r.X + r.W
	p.c.Buffer.Text(r.X, r.Y, r.X+label, b.label, p.named(r, strings.Replace(b.label, "in window", "count", 1)))
	p.c.Buffer.Right(r.X+label-1, r.Y, r.X+label+number-1, b.value, p.c.Look.Title)
	x := r.X + label + number
	if w := end - x - note - 1; w >= 4 {
		chart.Meter(&p.c.Buffer, x, r.Y, w, full, b.limit, p.c.Look, b.segments...)
		x += w + 1
	}
	p.c.Buffer.Text(x, r.Y, end, b.note, p.c.Look.Dim)
}

// named is how the name of a bar looks that stands for a term of the rule in focus: the two light up together, under the
// mouse over either.
func (p picture) named(r cell.Rect, name string) themes.Style {
	terms := p.s.working().Terms
	at := slices.IndexFunc(terms, func(t lab.Meaning) bool { return strings.HasPrefix(t.Name, name) })
	if p.i != p.s.focus || at < 0 {
		return p.c.Look.Dim
	}
	return p.s.lit.style(p.c, r, at)
}

// ticks draws the entries of a log where they stand in the window that ends now, so
// that they can be seen to leave on the left.
func (p picture) ticks(r cell.Rect, state limiter.State, w time.Duration) {
	p.c.Buffer.Fill(r.X, r.Y, r.W, p.c.Look.Axis, p.c.Look.Faint)
	p.c.Buffer.Set(r.X, r.Y, p.c.Look.Box.BL, p.c.Look.Accent)
	p.c.Buffer.Set(r.X+r.W-1, r.Y, p.c.Look.Box.BR, p.c.Look.Accent)
	now := p.s.run.Now()
	for _, e := range state.Log {
		age := now.Sub(e.At)
		if age < 0 || age >= w {
			continue
		}
		x := r.X + r.W - 1 - int(float64(r.W)*float64(age)/float64(w))
		p.c.Buffer.Set(max(x, r.X), r.Y, p.c.Look.LimitV, p.c.Look.Good)
	}
}

// figure is the point that a candidate makes in presenter mode: the most that it admitted in one true window, of what, and what
// would become of one more request now.
type figure struct {
	number string
	style  themes.Style
	words  []widget.Span // two lines
}

// figure returns the figure of the candidate.
func (p picture) figure() figure {
	s, t := p.s.run.Setup(), p.s.run.Counts(p.i)
	m := p.s.run.Ask(p.i, p.s.cost())
	st, mark, fate := p.c.Look.Title, verdictMark(p.c.Look, m.Decision.Allowed), verdictStyle(p.c.Look, m.Decision.Allowed)
	if s.Limit.Count > 0 && t.Largest > s.Limit.Count {
		st = p.c.Look.Denied
	}
	if wait, step := m.Decision.RetryAfter, max(s.Limit.Window/100, 1); wait > 0 && wait != limiter.Never { // few digits
		m.Decision.RetryAfter = (wait + step - 1).Truncate(step)
	}
	number, of := fmt.Sprint(t.Largest), fmt.Sprintf("of %d in %s", s.Limit.Count, lab.Seconds(s.Limit.Window))
	now := mark + " " + p.follows(m.Decision, "slot in ", "never")
	switch {
	case s.Candidates[p.i].Scripted() && !m.Decided:
		now, fate = "no request yet", p.c.Look.Near
	case s.Candidates[p.i].Scripted():
		mark, fate = verdictOf(p.c.Look, m)
		now = mark + " " + m.Explain().Verdict
	case s.Limit.Count == 0:
		number, of, now = fmt.Sprint(p.s.run.Ask(p.i, 0).Decision.Used), "in the last "+lab.Seconds(s.Limit.Window), "counts only"
	case p.s.guess.asked: // that is what is to be predicted
		now, fate = "and one more?", p.c.Look.Accent
	}
	return figure{number, st, []widget.Span{widget.Styled(of, st), widget.Styled(now, fate)}}
}

// figureType returns how many cells a dot of the candidates' numbers has, 0 where there is no room for large type, and whether the
// words of all fit beside them in it: one size of type for one rank.
func (p painter) figureType(r cell.Rect) (dot int, words bool) {
	if p.c.Buffer.ASCII || r.H < widget.TypeRows || r.W < 24 {
		return 0, false
	}
	number, line := 0, 0
	for i := range p.s.run.Setup().Candidates {
		f := picture{p, i}.figure()
		number = max(number, narrowDigit*len(f.number)+1)
		for _, text := range f.words {
			if line = max(line, widget.TypeCells(text.Text, true)); !widget.Settable(text.Text) {
				line = r.W
			}
		}
	}
	tall := r.H >= 2*widget.TypeRows
	switch {
	case tall && 2*number+line <= r.W:
		return 2, true
	case number+line <= r.W && tall:
		return 1, true
	case tall && 2*number+line/2 <= r.W:
		return 2, false
	}
	return 1, false
}

// narrowDigit is how many cells a digit takes of one cell to a dot.
const narrowDigit = 4

// paintLarge is the picture in presenter mode.
func (p picture) paintLarge(r cell.Rect) {
	f := p.figure()
	dot, words := p.figureType(r)
	x, end := r.X+dot*narrowDigit*len(f.number)+1, r.X+r.W
	switch dot {
	case 0:
		x = p.c.Buffer.Text(r.X, r.Y, end, f.number, f.style.With(themes.Bold)) + 1
	case 1:
		p.c.Large(r.X, r.Y, x, f.number, false, f.style)
	default: // each cell is two beside and two below each other
		for i, row := range widget.Enlarge(f.number, false) {
			for k, c := range []rune(row) {
				for half, part := range [...]rune{'▀', '▄'} {
					if c == '█' || c == part {
						p.c.Buffer.Fill(r.X+2*k, r.Y+2*i+half-1, 2, '█', f.style.On(f.style.Fg))
					}
				}
			}
		}
	}
	for row, line := range f.words {
		switch {
		case words:
			p.c.Large(x, r.Y+widget.TypeRows*row, end, line.Text, true, line.Style)
		case row < r.H:
			p.c.Buffer.Text(x, r.Y+row, end, line.Text, line.Style.With(themes.Bold))
		}
	}
}
