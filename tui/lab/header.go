package lab

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/format"
	"ratescope/tui/widget"
)

// shown returns the run whose time the header shows.
func (s *Screen) shown() *lab.Run {
	if q, ok := s.front().(*quizView); ok && q.quiz != nil {
		return q.quiz.Run
	}
	return s.run
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
	clock := storyTime(p.shown().Elapsed())
	title := safetext.Clean(p.at().Title)
	if n := len(p.lessons); n > 1 {
		title = fmt.Sprintf("%d/%d %s", p.lesson+1, n, title)
	}
	at := end - len(clock) - 1
	p.Buffer.Text(at, r.Y, end, clock, p.Look.Title)
	facts := p.facts(at - x - safetext.Width(title) - 5)
	at -= safetext.Width(facts) + 2
	p.Buffer.Text(max(at, x), r.Y, end-len(clock)-2, facts, p.Look.Dim)
	p.Buffer.Text(x+1, r.Y, at-1, safetext.Clip(title, max(at-x-2, 0), safetext.Ellipsis), p.Look.Text)
	p.paintGoal(r.X+1, r.Y+1, end-1)
}

// paintBadge draws whether the clock runs and who is in class, and returns the next free column.
func (p painter) paintBadge(r cell.Rect) int {
	end := r.X + r.W
	badge, style := "PAUSED", p.Look.BadgeWarn
	if p.clock.playing {
		badge, style = "RUNS", p.Look.BadgeLive
	}
	x := p.Spans(r.X, r.Y, end, widget.Styled(" ratescope lab ", p.Look.Title), widget.Styled(" "+badge+" ", style))
	if class := p.class.words(); class != "" {
		x = p.Spans(x+1, r.Y, end, widget.Styled(class, p.Look.Accent))
	}
	return x
}

// facts returns the terms, the pace and the seed in at most so many columns. Where there is too
// little room the seed is left out first; then the terms, or the pace if it is 1x.
func (p painter) facts(columns int) string {
	s := p.run.Setup()
	terms := fmt.Sprintf("limit %d in %s", s.Limit.Count, format.Length(s.Limit.Window))
	if s.Limit.Count == 0 {
		terms = "count only in " + format.Length(s.Limit.Window)
	}
	if s.Cost > 1 {
		terms += fmt.Sprintf(" · cost %d", s.Cost)
	}
	pace := fmt.Sprintf("%gx", speeds[p.clock.speed])
	if speeds[p.clock.speed] != 1 { // unlike the usual pace, it must be shown
		return format.First(columns, fmt.Sprintf("%s · %s · seed %d", pace, terms, p.seed), pace+" · "+terms, pace)
	}
	return format.First(columns, fmt.Sprintf("%s · %s · seed %d", pace, terms, p.seed), pace+" · "+terms, terms)
}

// paintGoal draws the task and the progress toward its goal in one line.
func (p painter) paintGoal(x, y, end int) {
	g, goal := p.at().Goal, p.task.Progress
	switch {
	case p.shows("quiz"):
		p.Buffer.Text(x, y, end, format.First(end-x, "predict each decision before it is made; the score is kept for every algorithm", "predict each decision before it is made"), p.Look.Dim)
	case p.shows("box"):
		p.Buffer.Text(x, y, end, format.First(end-x, "fire at the box and name what is in it, in as few requests as you can", "name what is in the box, in as few requests as you can"), p.Look.Dim)
	case p.guess.asked:
		c := p.run.Setup().Candidates[p.focus]
		p.paintGuess(p.Spans(x, y, end, widget.Styled("What will become of it at "+title(c)+"?  ", p.Look.Title)), y, end)
	case g == nil:
		p.Buffer.Text(x, y, end, "no task here: fire with space, step with the arrows, change the terms with w", p.Look.Dim)
	case goal.Reached:
		at := p.Spans(x, y, end, widget.Styled(p.Look.YesMark+" reached at "+lab.Seconds(goal.At.Sub(p.run.Setup().Zero))+"  ", p.Look.Good.With(themes.Bold)))
		p.Buffer.Text(at, y, end, safetext.Clip(safetext.Clean(goal.Then), end-at, safetext.Ellipsis), p.Look.Text)
	case p.hint:
		p.Spans(x, y, end, widget.Styled("hint ", p.Look.Accent), widget.Styled(safetext.Clean(p.at().Hint(p.run)), p.Look.Text))
	case p.shows("lesson"):
		p.Buffer.Text(x, y, end, "read this, then press enter and try it", p.Look.Dim)
	default:
		say := safetext.Clean(p.at().Task(p.run))
		at := p.Spans(x, y, end, widget.Styled(p.Look.NearMark+" ", p.Look.Near))
		switch room := end - at; {
		case safetext.Width(say)+2+safetext.Width(goal.Text) <= room:
			at = p.Buffer.Text(at, y, end, say, p.Look.Text)
			p.Buffer.Text(at+2, y, end, goal.Text, p.Look.Dim)
		case p.run.Decided() > 0: // the user has read the task
			p.Buffer.Text(at, y, end, safetext.Clip(goal.Text, room, safetext.Ellipsis), p.Look.Text)
		default:
			p.Buffer.Text(at, y, end, safetext.Clip(say, room, safetext.Ellipsis), p.Look.Text)
		}
	}
}

// paintGuess draws the possible answers and, in a class, how many students chose each.
func (p painter) paintGuess(x, y, end int) {
	x = p.Spans(x, y, end, widget.Styled("a", p.Look.Accent), widget.Styled(" admitted  ", p.Look.Text), widget.Styled("d", p.Look.Accent), widget.Styled(" denied", p.Look.Text))
	if p.class.teaches() {
		p.paintPredicted(x, y, end)
	}
}

// paintSeek draws the whole story as one line, with the present time and the requests that were
// fired by hand.
func (p painter) paintSeek(r cell.Rect) {
	if p.shows("quiz") || p.shows("box") { // these run stories of their own
		return
	}
	if p.seek != nil {
		p.paintProgress(r)
		return
	}
	x, w := r.X+1, r.W-2
	all := p.length()
	place := func(d time.Duration) int { return x + min(int(float64(w-1)*float64(d)/float64(all)), w-1) }
	p.Buffer.Fill(x, r.Y, w, p.Look.Axis, p.Look.Faint)
	s := p.run.Setup()
	for d := s.Limit.Window; d < all && all/s.Limit.Window < time.Duration(w/2); d += s.Limit.Window {
		p.Buffer.Set(place(d), r.Y, p.Look.Tick, p.Look.Dim)
	}
	p.Buffer.Fill(x, r.Y, place(p.run.Elapsed())-x, p.Look.Axis, p.Look.Accent)
	from := max(p.run.Decided()-20_000, 0)
	for i := from; i < p.run.Decided(); i++ {
		a, v := p.run.Arrival(i)
		if !a.Fired {
			continue
		}
		mark := p.Look.MarkYes
		if !v.Allowed(p.focus) {
			mark = p.Look.MarkNo
		}
		p.Buffer.Set(place(a.At.Sub(s.Zero)), r.Y, mark, p.Look.Injected)
	}
	p.Buffer.Set(place(p.run.Elapsed()), r.Y, p.Look.Here, p.Look.Title)
	p.OnClick(cell.Rect{X: x, Y: r.Y, W: w, H: 1}, func(at int) tea.Cmd {
		return p.goTo(s.Zero.Add(time.Duration(float64(all) * float64(at) / float64(max(w-1, 1))).Truncate(time.Millisecond)))
	})
}

// paintProgress draws the progress of a seek in the place of the seek bar.
func (p painter) paintProgress(r cell.Rect) {
	done := p.seek.done(p.run.Now())
	end := r.X + r.W
	x := p.Spans(r.X+1, r.Y, end, widget.Styled("going to "+lab.Seconds(p.seek.to.Sub(p.run.Setup().Zero))+" ", p.Look.Text))
	tail := fmt.Sprintf(" %3.0f%%  any key stops", 100*done)
	w := max(min(end-x-len(tail)-1, 60), 0)
	chart.Progress(&p.Buffer, x, r.Y, w, done, p.Look)
	p.Buffer.Text(x+w, r.Y, end, tail, p.Look.Dim)
}
