package lab

import (
	"fmt"
	"strings"

	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// headerRows is how many rows the lab's own header takes.
const headerRows = 2

// presenter is presenter mode: large and few.
type presenter struct {
	s  *Screen
	on bool
}

// toggle turns presenter mode on or off.
func (m *presenter) toggle() {
	m.on = !m.on
	if m.on {
		m.s.app.Say("Presenter mode is on: large and few. B leaves it.")
	} else {
		m.s.app.Say("Presenter mode is off.")
	}
}

// large reports whether the header of a screen of that height is in large type.
func (m *presenter) large(height int) bool {
	return m.on && !m.s.app.Canvas.Buffer.ASCII && height >= 22
}

// headerRows returns how many rows the header takes of a screen of that height: one, and one or two of the task. In
// presenter mode it is a row of facts, the title in large type, and the goal.
func (m *presenter) headerRows(height int) int {
	if !m.large(height) {
		task, _ := m.s.sentence.words()
		long := safetext.Width(task) > m.s.app.Canvas.Buffer.W-2
		if task != "" && !m.s.sentence.away() && (height >= 30 || height >= 20 && long) {
			return headerRows + 1
		}
		return headerRows
	}
	const facts = 1
	return facts + widget.TypeRows + m.goalRows(height-facts-widget.TypeRows)
}

// boldRows is how many rows a goal in bold has.
const boldRows = 2

// goalRows is how many of the rows below the title the goal takes: it is set in large type where
// every lane keeps room for its own large figure, else in bold. It is the task that counts, so that
// nothing moves when the words change.
func (m *presenter) goalRows(height int) int {
	s := m.s
	const lane, times, seekBar = 5, 1, 1
	if s.at().Goal == nil || !s.shows("compare") && !s.shows("decision") && !s.shows("map") && !s.shows("accuracy") {
		return 1
	}
	text, width := m.taskWords(), s.app.Canvas.Buffer.W-2
	room := height - lane*len(s.run.Setup().Candidates) - times - seekBar
	if lines := widget.TypeRows * len(format.WrapBy(text, 2*width+1, widget.TypeDots)); widget.Settable(text) && lines <= room {
		return lines
	}
	return boldRows
}

// taskWords is the task, behind the mark of what is still to be done.
func (m *presenter) taskWords() string {
	s := m.s
	return s.app.Canvas.Look.NearMark + " " + safetext.Clean(s.at().Task(s.run))
}

// paintLargeHeader is the header in presenter mode: the title and the clock for the back row.
func (p painter) paintLargeHeader(r cell.Rect) {
	end := r.X + r.W - 1
	x := p.paintBadge(r)
	if n := len(p.s.lessons); n > 1 {
		x = p.c.Buffer.Text(x+1, r.Y, end, fmt.Sprintf("%d/%d", p.s.lesson+1, n), p.c.Look.Text)
	}
	elapsed, _ := p.s.shown()
	title, clock, room := safetext.Clean(p.s.at().Title), storyTime(elapsed), r.W-2
	if beside := widget.TypeCells(clock, true) + 3; widget.TypeCells(title, true)+beside <= room {
		p.c.Large(end-beside+3, r.Y+1, end, clock, true, p.c.Look.Accent)
		room -= beside
	} else {
		p.c.Buffer.Right(x, r.Y, end, clock, p.c.Look.Title)
		end -= len(clock) + 2
	}
	p.c.Buffer.Right(x, r.Y, end, p.facts(end-x-2), p.c.Look.Dim)
	if fine := r.W < widget.Finely || widget.TypeCells(title, false) > room; widget.Settable(title) && widget.TypeCells(title, fine) <= room {
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
	answers := 0
	if p.s.guess.asked { // they stand below the question
		answers = 1
	}
	lines, rows := format.WrapBy(text, 2*r.W+1, widget.TypeDots), widget.TypeRows
	if !widget.Settable(text) || rows*len(lines)+answers > r.H {
		lines, rows = format.Wrap(text, r.W), 1
		if most := r.H - answers; len(lines) > most {
			lines = append(lines[:most-1], safetext.Clip(strings.Join(lines[most-1:], " "), r.W, safetext.Ellipsis))
		}
	}
	for i, line := range lines {
		if rows == widget.TypeRows {
			p.c.Large(r.X, r.Y+rows*i, r.X+r.W, line, true, st)
		} else {
			p.c.Buffer.Text(r.X, r.Y+i, r.X+r.W, line, st.With(themes.Bold))
		}
	}
	if p.s.guess.asked {
		p.paintGuess(r.X, r.Y+rows*len(lines), r.X+r.W)
	}
}

// goalWords is the sentence below the title, and its style: the task, how far it is, or what the view is for.
func (p painter) goalWords() (string, themes.Style) {
	look, g, goal := p.c.Look, p.s.at().Goal, p.s.task.Progress
	switch {
	case p.s.shows("quiz"):
		return "predict each decision before it is made; the score is kept for every algorithm", look.Dim
	case p.s.shows("box"):
		return "fire at the box and name what is in it, in as few requests as you can", look.Dim
	case p.s.guess.asked:
		return safetext.Clean("What will become of it at " + title(p.s.run.Setup().Candidates[p.s.focus]) + "?"), look.Title
	case g == nil:
		return "no task here: fire with space, step with the arrows, change the terms with w", look.Dim
	case goal.Reached:
		at := lab.Seconds(goal.At.Sub(p.s.run.Setup().Zero))
		return look.YesMark + " reached at " + at + " · " + safetext.Clean(goal.Then), look.Good
	case p.s.hint:
		return "hint " + safetext.Clean(p.s.at().Hint(p.s.run)), look.Accent
	case p.s.shows("lesson"):
		return "read this, then press enter and try it", look.Dim
	case p.s.run.Decided() > 0:
		return look.NearMark + " " + safetext.Clean(goal.Text), look.Text
	}
	return p.s.presenter.taskWords(), p.c.Look.Text
}
