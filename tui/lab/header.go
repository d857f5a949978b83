package lab

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// elapsed returns the time that the header shows: that of the run, of the question, or of the box.
func (s *Screen) elapsed() time.Duration {
	switch v := s.front().(type) {
	case *quizView:
		if v.quiz != nil {
			return v.quiz.Run.Elapsed()
		}
	case *boxView:
		if v.box != nil {
			return v.box.Elapsed()
		}
	}
	return s.run.Elapsed()
}

// storyTime formats the time since the start of the story, in seconds.
func storyTime(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// paintHeader draws the lesson's title, the clock, and the progress toward the goal.
func (p painter) paintHeader(r cell.Rect) {
	if r.H > headerRows {
		p.paintLargeHeader(r)
		return
	}
	end := r.X + r.W
	x := p.paintBadge(r)
	clock := storyTime(p.s.elapsed())
	title := safetext.Clean(p.s.at().Title)
	if n := len(p.s.lessons); n > 1 {
		title = fmt.Sprintf("%d/%d %s", p.s.lesson+1, n, title)
	}
	at := end - len(clock) - 1
	p.c.Buffer.Text(at, r.Y, end, clock, p.c.Look.Title)
	facts := p.facts(at - x - safetext.Width(title) - 5)
	at -= safetext.Width(facts) + 2
	p.c.Buffer.Text(max(at, x), r.Y, end-len(clock)-2, facts, p.c.Look.Dim)
	p.c.Buffer.Text(x+1, r.Y, at-1, safetext.Clip(title, max(at-x-2, 0), safetext.Ellipsis), p.c.Look.Text)
	p.paintGoal(r.X+1, r.Y+1, end-1)
}

// paintBadge draws whether the clock runs and who is in class, and returns the next free column.
func (p painter) paintBadge(r cell.Rect) int {
	end := r.X + r.W
	badge, style := "PAUSED", p.c.Look.BadgeWarn
	if p.s.clock.playing {
		badge, style = "RUNS", p.c.Look.BadgeLive
	}
	x := p.c.Spans(r.X, r.Y, end, widget.Styled(" ratescope lab ", p.c.Look.Title), widget.Styled(" "+badge+" ", style))
	if class := p.s.class.words(); class != "" {
		x = p.c.Spans(x+1, r.Y, end, widget.Styled(class, p.c.Look.Accent))
	}
	return x
}

// facts returns the terms, the pace and the seed in at most so many columns. Where there is too
// little room the seed is left out first; then the terms, or the pace if it is 1x.
func (p painter) facts(columns int) string {
	s := p.s.run.Setup()
	terms := fmt.Sprintf("limit %d in %s", s.Limit.Count, format.Length(s.Limit.Window))
	if s.Limit.Count == 0 {
		terms = "count only in " + format.Length(s.Limit.Window)
	}
	if s.Cost > 1 {
		terms += fmt.Sprintf(" · cost %d", s.Cost)
	}
	pace := fmt.Sprintf("%gx", speeds[p.s.clock.speed])
	if speeds[p.s.clock.speed] != 1 { // unlike the usual pace, it must be shown
		return format.First(columns, fmt.Sprintf("%s · %s · seed %d", pace, terms, p.s.seed), pace+" · "+terms, pace)
	}
	return format.First(columns, fmt.Sprintf("%s · %s · seed %d", pace, terms, p.s.seed), pace+" · "+terms, terms)
}

// paintGoal draws the task and the progress toward its goal in one line.
func (p painter) paintGoal(x, y, end int) {
	g, goal := p.s.at().Goal, p.s.task.Progress
	switch {
	case p.s.shows("quiz"):
		p.c.Buffer.Text(x, y, end, format.First(end-x, "predict each decision before it is made; the score is kept for every algorithm",
			"predict each decision before it is made"), p.c.Look.Dim)
	case p.s.shows("box"):
		p.c.Buffer.Text(x, y, end, format.First(end-x, "fire at the box and name what is in it, in as few requests as you can",
			"name what is in the box, in as few requests as you can"), p.c.Look.Dim)
	case p.s.guess.asked:
		c := p.s.run.Setup().Candidates[p.s.focus]
		p.paintGuess(p.c.Spans(x, y, end, widget.Styled("What will become of it at "+title(c)+"?  ", p.c.Look.Title)), y, end)
	case g == nil:
		p.c.Buffer.Text(x, y, end, "no task here: fire with space, step with the arrows, change the terms with w", p.c.Look.Dim)
	case goal.Reached:
		at := p.c.Spans(x, y, end, widget.Styled(p.c.Look.YesMark+" reached at "+lab.Seconds(goal.At.Sub(p.s.run.Setup().Zero))+"  ",
			p.c.Look.Good.With(themes.Bold)))
		p.c.Buffer.Text(at, y, end, safetext.Clip(safetext.Clean(goal.Then), end-at, safetext.Ellipsis), p.c.Look.Text)
	case p.s.hint:
		p.c.Spans(x, y, end, widget.Styled("hint ", p.c.Look.Accent), widget.Styled(safetext.Clean(p.s.at().Hint(p.s.run)), p.c.Look.Text))
	case p.s.shows("lesson"):
		p.c.Buffer.Text(x, y, end, "read this, then press enter and try it", p.c.Look.Dim)
	default:
		say := safetext.Clean(p.s.at().Task(p.s.run))
		at := p.c.Spans(x, y, end, widget.Styled(p.c.Look.NearMark+" ", p.c.Look.Near))
		switch room := end - at; {
		case safetext.Width(say)+2+safetext.Width(goal.Text) <= room:
			at = p.c.Buffer.Text(at, y, end, say, p.c.Look.Text)
			p.c.Buffer.Text(at+2, y, end, goal.Text, p.c.Look.Dim)
		case p.s.run.Decided() > 0: // the user has read the task
			p.c.Buffer.Text(at, y, end, safetext.Clip(goal.Text, room, safetext.Ellipsis), p.c.Look.Text)
		default:
			p.c.Buffer.Text(at, y, end, safetext.Clip(say, room, safetext.Ellipsis), p.c.Look.Text)
		}
	}
}

// paintGuess draws the possible answers and, in a class, how many students chose each.
func (p painter) paintGuess(x, y, end int) {
	x = p.c.Spans(x, y, end, widget.Styled("a", p.c.Look.Accent), widget.Styled(" admitted  ", p.c.Look.Text),
		widget.Styled("d", p.c.Look.Accent), widget.Styled(" denied", p.c.Look.Text))
	if p.s.class.teaches() {
		p.paintPredicted(x, y, end)
	}
}

// paintSeek draws the whole story as one line, with the present time and the requests that were
// fired by hand.
func (p painter) paintSeek(r cell.Rect) {
	if p.s.shows("quiz") || p.s.shows("box") { // these run stories of their own
		return
	}
	if p.s.seek != nil {
		p.paintProgress(r)
		return
	}
	x, w := r.X+1, r.W-2
	all := p.s.length()
	place := func(d time.Duration) int { return x + min(int(float64(w-1)*float64(d)/float64(all)), w-1) }
	p.c.Buffer.Fill(x, r.Y, w, p.c.Look.Axis, p.c.Look.Faint)
	s := p.s.run.Setup()
	for d := s.Limit.Window; d < all && all/s.Limit.Window < time.Duration(w/2); d += s.Limit.Window {
		p.c.Buffer.Set(place(d), r.Y, p.c.Look.Tick, p.c.Look.Dim)
	}
	p.c.Buffer.Fill(x, r.Y, place(p.s.run.Elapsed())-x, p.c.Look.Axis, p.c.Look.Accent)
	from := max(p.s.run.Decided()-20_000, 0)
	for i := from; i < p.s.run.Decided(); i++ {
		a, v := p.s.run.Arrival(i)
		if !a.Fired {
			continue
		}
		mark := p.c.Look.MarkYes
		if !v.Allowed(p.s.focus) {
			mark = p.c.Look.MarkNo
		}
		p.c.Buffer.Set(place(a.At.Sub(s.Zero)), r.Y, mark, p.c.Look.Injected)
	}
	p.c.Buffer.Set(place(p.s.run.Elapsed()), r.Y, p.c.Look.Here, p.c.Look.Title)
	p.OnClick(cell.Rect{X: x, Y: r.Y, W: w, H: 1}, func(at int) tea.Cmd {
		return p.s.goTo(s.Zero.Add(time.Duration(float64(all) * float64(at) / float64(max(w-1, 1))).Truncate(time.Millisecond)))
	})
}

// paintProgress draws the progress of a seek in the place of the seek bar.
func (p painter) paintProgress(r cell.Rect) {
	done := p.s.seek.done(p.s.run.Now())
	end := r.X + r.W
	x := p.c.Spans(r.X+1, r.Y, end, widget.Styled("going to "+lab.Seconds(p.s.seek.to.Sub(p.s.run.Setup().Zero))+" ", p.c.Look.Text))
	tail := fmt.Sprintf(" %3.0f%%  any key stops", 100*done)
	w := max(min(end-x-len(tail)-1, 60), 0)
	chart.Progress(&p.c.Buffer, x, r.Y, w, done, p.c.Look)
	p.c.Buffer.Text(x+w, r.Y, end, tail, p.c.Look.Dim)
}
