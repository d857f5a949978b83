package lab

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
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

// elapsed returns how long what the header is about takes so far: the run, the question or the box.
func elapsed(s *Screen) time.Duration {
	if v, ok := s.front().(*quizView); ok && v.quiz != nil {
		return v.quiz.Run.Elapsed()
	} else if v, ok := s.front().(*boxView); ok && v.box != nil {
		return v.box.Run.Elapsed()
	}
	return s.run.Elapsed()
}

// storyTime formats the time since the start of the story, in seconds.
func storyTime(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// paintHeader draws the lesson's title, the clock, and the progress toward the goal.
func (p painter) paintHeader(r cell.Rect) {
	end := r.X + r.W
	x := p.paintBadge(r)
	clock, title := storyTime(elapsed(p.s)), safetext.Clean(p.s.at().Title)
	if n := len(p.s.lessons); n > 1 {
		title = fmt.Sprintf("%d/%d %s", p.s.lesson+1, n, title)
	}
	at := end - len(clock) - 1
	p.c.Buffer.Text(at, r.Y, end, clock, p.c.Look.Title)
	facts := p.facts(at - x - safetext.Width(title) - 5)
	at -= safetext.Width(facts) + 2
	p.c.Buffer.Text(max(at, x), r.Y, end-len(clock)-2, facts, p.c.Look.Dim)
	p.c.Buffer.Text(x+1, r.Y, at-1, safetext.Clip(title, max(at-x-2, 0), safetext.Ellipsis), p.c.Look.Text)
	p.paintGoal(cell.Rect{X: r.X + 1, Y: r.Y + 1, W: r.W - 2, H: r.H - 1})
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

// facts returns the pace unless it is the usual one, the terms and the seed in at most so many columns. Where there is too little
// room the seed is left out first, then the terms.
func (p painter) facts(columns int) string {
	s := p.s.run.Setup()
	terms := limitText(s.Limit)
	if s.Cost > 1 {
		terms += fmt.Sprintf(" · cost %d", s.Cost)
	}
	pace, seed := fmt.Sprintf("%gx · ", speeds[p.s.clock.speed]), fmt.Sprintf(" · seed %d", p.s.seed)
	if speeds[p.s.clock.speed] == 1 {
		pace = ""
	}
	if p.s.at().Plain {
		seed = ""
	}
	return format.First(columns, pace+terms+seed, pace+terms, cmp.Or(strings.TrimSuffix(pace, " · "), terms))
}

// limitText writes a limit, of which 0 only counts.
func limitText(l limiter.Limit) string {
	if l.Count == 0 {
		return "count only in " + format.Length(l.Window)
	}
	return fmt.Sprintf("limit %d in %s", l.Count, format.Length(l.Window))
}

// paintGoal draws the sentence below the title.
func (p painter) paintGoal(r cell.Rect) {
	text, st := p.goalWords()
	if p.s.guess.asked && !p.s.apart() {
		p.paintGuess(p.c.Spans(r.X, r.Y, r.X+r.W, widget.Styled(text+"  ", st)), r.Y, r.X+r.W)
		return
	}
	var numbers []number
	if tasked(p.s) {
		task, list := taskNumbers(p.s)
		if r.H > 1 || p.s.run.Decided() == 0 || p.s.number >= 0 { // else the user has read the task
			text, numbers = task, list
		}
		if r.H > 1 {
			r.H--
			p.c.Buffer.Text(r.X+2, r.Y+r.H, r.X+r.W, safetext.Clip(p.s.task.Text, r.W-2, safetext.Ellipsis), p.c.Look.Dim)
		}
	}
	text = oneSpace(text) // of which a line break takes the place
	at := 0               // of the line in the text
	for i, line := range format.WrapBy(text, r.W, safetext.Width) {
		next := len(text) - len(strings.TrimPrefix(text[at+len(line):], " "))
		line = safetext.Clip(collect.If(i == r.H-1, text[at:], line), r.W, safetext.Ellipsis)
		p.c.Buffer.Text(r.X, r.Y+i, r.X+r.W, strings.ReplaceAll(line, bond, " "), st)
		for k, n := range numbers {
			if from := n.at - at; from >= 0 && from+len(n.text) <= len(strings.TrimSuffix(line, safetext.Ellipsis)) {
				x, st := r.X+safetext.Width(line[:from]), p.c.Look.Accent
				if k == p.s.number {
					st = p.c.Look.Title.On(p.c.Look.Selected)
				}
				p.c.Buffer.Text(x, r.Y+i, r.X+r.W, n.text, st.With(themes.Underline))
				p.OnClick(cell.Rect{X: x, Y: r.Y + i, W: len(n.text), H: 1}, func(int) tea.Cmd { p.s.number = k; return nil })
			}
		}
		if at = next; i == r.H-1 {
			return
		}
	}
}

// oneSpace returns a text with one space in place of several.
func oneSpace(text string) string { return spaces.ReplaceAllString(text, " ") }

var spaces = regexp.MustCompile(`[\s\p{Z}\x{85}]+`)

// paintGuess draws the possible answers and, in a class, how many students chose each.
func (p painter) paintGuess(x, y, end int) {
	if p.s.guess.in(p.s) {
		return
	}
	x = p.c.Spans(x, y, end, widget.Styled("a", p.c.Look.Accent), widget.Styled(" admitted  ", p.c.Look.Text),
		widget.Styled("d", p.c.Look.Accent), widget.Styled(" denied", p.c.Look.Text))
	if p.s.class.teaches() {
		p.paintPredictions(cell.Rect{X: x + 3, Y: y, W: end - x - 3, H: 1}, p.s.guess.question(p.s).ID)
	}
}

// paintSeek draws the whole story as one line, with the present time and the requests that were
// fired by hand.
func (p painter) paintSeek(r cell.Rect) {
	if p.s.apart() {
		return
	}
	if p.s.seek != nil {
		p.paintProgress(r)
		return
	}
	all := p.s.length()
	x := p.c.Buffer.Text(r.X+1, r.Y, r.X+r.W, "story 0s ", p.c.Look.Dim) // its scale is another one than that of the lanes
	end := format.Length(all.Round(time.Second)) + " "
	w := r.X + r.W - x - len(end) - 1
	p.c.Buffer.Text(x+w, r.Y, r.X+r.W, " "+end, p.c.Look.Dim)
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
		mark := collect.If(!v.Allowed(p.s.focus), p.c.Look.MarkNo, p.c.Look.MarkYes)
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

// headerRows is how many rows the lab's own header takes, and taskRows how many of it a long task at most.
const headerRows, taskRows = 2, 3

// togglePresenter turns presenter mode, large and few, on or off.
func togglePresenter(s *Screen) {
	s.presents = !s.presents
	s.app.Say(collect.If(s.presents, "Presenter mode is on: large and few. B leaves it.", "Presenter mode is off."))
}

// large reports whether the header of a screen of that height is in large type.
func large(s *Screen, height int) bool {
	return s.presents && !s.app.Canvas.Buffer.ASCII && height >= 22
}

// rowsOfHeader returns how many rows the header takes of a screen of that height: one, up to three of the task, and one that
// says how far it is. In presenter mode it is a row of facts, the title in large type, and the goal.
func rowsOfHeader(s *Screen, height int) int {
	if !large(s, height) {
		task, _ := taskNumbers(s)
		if task == "" || away(s) || height < 20 {
			return headerRows
		}
		return headerRows + min(len(format.Wrap(task, s.app.Canvas.Buffer.W-2)), taskRows)
	}
	const facts = 1
	return facts + widget.TypeRows + goalRows(s, height-facts-widget.TypeRows)
}

// boldRows is how many rows a goal in bold has, ballotLines how many lines of large type a goal and what a class votes on have at least.
const boldRows, ballotLines = 2, 2

// goalRows returns how many of the rows below the title the goal takes, which is set in large type where it has few lines, else in
// bold. It is the task that counts, so that nothing moves when the words change.
func goalRows(s *Screen, height int) int {
	if s.shows("quiz") {
		return ballotLines * widget.TypeRows
	}
	if s.at().Goal == nil || !s.shows("compare") && !s.shows("decision") && !s.shows("map") && !s.shows("accuracy") {
		return 1
	}
	lines := widget.TypeRows * max(len(format.WrapBy(taskWords(s), 2*(s.app.Canvas.Buffer.W-2)+1, widget.TypeDots)), ballotLines)
	if !widget.Settable(taskWords(s)) || lines > height/2 {
		return boldRows
	}
	return lines
}

// taskWords is the task, behind the mark of what is still to be done.
func taskWords(s *Screen) string {
	return s.app.Canvas.Look.NearMark + " " + safetext.Clean(s.at().Task(s.run))
}

// paintLargeHeader is the header in presenter mode: the title and the clock for the back row.
func (p painter) paintLargeHeader(r cell.Rect) {
	end := r.X + r.W - 1
	x := p.paintBadge(r)
	if n := len(p.s.lessons); n > 1 {
		x = p.c.Buffer.Text(x+1, r.Y, end, fmt.Sprintf("%d/%d", p.s.lesson+1, n), p.c.Look.Text)
	}
	title, clock, room := safetext.Clean(p.s.at().Title), storyTime(elapsed(p.s)), r.W-2
	if beside := widget.TypeCells(clock, true) + 3; widget.TypeCells(title, true)+beside <= room {
		p.c.Large(end-beside+3, r.Y+1, end, clock, true, p.c.Look.Accent)
		room -= beside
	} else {
		p.c.Buffer.Right(x, r.Y, end, clock, p.c.Look.Title)
		end -= len(clock) + 2
	}
	p.c.Buffer.Right(x, r.Y, end, p.facts(end-x-2), p.c.Look.Dim)
	fine := r.W < widget.Finely || widget.TypeCells(title, false) > room
	if widget.Settable(title) && widget.TypeCells(title, fine) <= room {
		p.c.Large(r.X+1, r.Y+1, r.X+r.W, title, fine, p.c.Look.Title)
	} else {
		p.c.Buffer.Text(r.X+1, r.Y+1, r.X+1+room, safetext.Clip(title, room, safetext.Ellipsis), p.c.Look.Title)
	}
	_, goal := r.Top(1 + widget.TypeRows)
	p.paintLargeGoal(cell.Rect{X: goal.X + 1, Y: goal.Y, W: goal.W - 2, H: goal.H})
}

// paintLargeGoal is the task, or how far it is, in large type where that fits, else in bold.
func (p painter) paintLargeGoal(r cell.Rect) {
	text, st := p.goalWords()
	if r.H == 1 {
		p.paintGoal(r)
		return
	}
	lines, rows := format.WrapBy(text, 2*r.W+1, widget.TypeDots), widget.TypeRows
	if !widget.Settable(text) || rows*len(lines) > r.H {
		if lines, rows = format.Wrap(text, r.W), 1; len(lines) > r.H {
			lines = append(lines[:r.H-1], safetext.Clip(strings.Join(lines[r.H-1:], " "), r.W, safetext.Ellipsis))
		}
	}
	for i, line := range lines {
		if rows == widget.TypeRows {
			p.c.Large(r.X, r.Y+rows*i, r.X+r.W, line, true, st)
		} else {
			p.c.Buffer.Text(r.X, r.Y+i, r.X+r.W, line, st.With(themes.Bold))
		}
	}
}

// ballot is what a class votes on, and how far it is.
func (p painter) ballot(question string) (string, themes.Style) {
	text := "a admitted or d denied? "
	if p.s.class.teaches() {
		count, said := p.s.class.Tally(question).words()
		text += count + ": " + said
	}
	return text, p.c.Look.Title
}

// goalWords is the sentence below the title, and its style: the task, how far it is, or what the view is for.
func (p painter) goalWords() (string, themes.Style) {
	look, g, goal := p.c.Look, p.s.at().Goal, p.s.task.Progress
	switch quiz, asks := p.s.front().(*quizView); {
	case p.s.presents && asks && quiz.quiz != nil:
		return p.ballot(quiz.question(p.s).ID)
	case p.s.presents && p.s.guess.asked && !p.s.guess.in(p.s):
		return p.ballot(p.s.guess.question(p.s).ID)
	case asks:
		return "predict each decision before it is made; the score is kept for every algorithm", look.Dim
	case p.s.shows(studentsName):
		return "who is in class and where, what they reached and predicted", look.Dim
	case p.s.shows("box"):
		return "fire at the box and name what is in it, in as few requests as you can", look.Dim
	case p.s.guess.in(p.s):
		return "Your prediction is in: the answer comes when the teacher goes on.", look.Accent
	case p.s.guess.asked:
		return safetext.Clean("What will become of it at " + p.s.run.Setup().Candidates[p.s.focus].Title() + "?"), look.Title
	case g == nil:
		return "no task here: T says what it shows, → steps, space fires, w changes the terms", look.Dim
	case goal.Reached && p.s.presents: // few words, so that they are large
		return look.YesMark + " " + safetext.Clean(goal.Then), look.Good
	case goal.Reached:
		at := lab.Seconds(goal.At.Sub(p.s.run.Setup().Zero))
		return look.YesMark + " reached at " + at + " · " + safetext.Clean(goal.Then), look.Good
	case p.s.hint:
		return "hint " + safetext.Clean(p.s.at().Hint(p.s.run)), look.Accent
	case p.s.shows("lesson"):
		return "read this, then press enter and try it", look.Dim
	case p.s.run.Decided() > 0 && !p.s.presents: // the room needs to see what to do
		return look.NearMark + " " + safetext.Clean(goal.Text), look.Text
	}
	return taskWords(p.s), p.c.Look.Text
}
