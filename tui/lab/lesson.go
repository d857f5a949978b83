package lab

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
)

// line is a line of text in one style.
type line struct {
	text  string
	style themes.Style
}

// paintLesson is the lesson's text with its task below, and where there is room the lanes
// to try it on.
func (l *Lab) paintLesson(r cell.Rect) {
	it := l.at()
	width := min(r.W, 100)
	lines := l.lessonLines(width - 4)
	box := cell.Rect{X: r.X + (r.W-width)/2, Y: r.Y, W: width, H: r.H}
	if l.wide() {
		box.H = min(len(lines)+4, r.H)
		if below := (cell.Rect{X: r.X, Y: r.Y + box.H, W: r.W, H: r.H - box.H}); below.H >= 8 {
			l.paintLanes(below, l.run, l.focus, true)
		} else {
			box.H = r.H
		}
	}
	in := l.section(box, true, piece{safetext.Clean(it.Title), l.look.Title},
		piece{fmt.Sprintf(" · %d in %s", it.Limit.Count, figure.Length(it.Limit.Window)), l.look.Dim})
	if l.wide() {
		in.Y, in.H = in.Y+1, in.H-2
	}
	l.text = max(min(l.text, len(lines)-in.H), 0)
	for i, t := range lines[l.text:] {
		if i < in.H {
			l.grid.Text(in.X, in.Y+i, in.X+in.W, t.text, t.style)
		}
	}
}

// lessonLines is what a lesson says, in lines of a width.
func (l *Lab) lessonLines(width int) []line {
	it := l.at()
	var lines []line
	write := func(text string, st themes.Style) {
		for _, t := range figure.Wrap(safetext.Clean(text), width) {
			lines = append(lines, line{t, st})
		}
	}
	for _, p := range it.Text {
		write(p, l.look.Text)
		lines = append(lines, line{})
	}
	if g := it.Goal; g != nil {
		p := l.goal()
		write(l.look.NearMark+" "+g.Say, l.look.Title)
		switch {
		case p.Reached:
			write(l.look.YesMark+" Reached at "+lab.Seconds(p.At.Sub(l.run.Setup().Zero))+". "+g.Then, l.look.Good)
		case l.hint:
			write("Hint: "+g.Hint, l.look.Accent)
		default:
			write(p.Text, l.look.Dim)
		}
		lines = append(lines, line{})
	}
	write("enter compares · space fires · g goes to a time · i hints · w shows how", l.look.Dim)
	return lines
}

// paintLessons lists the lessons, with those done ticked.
func (l *Lab) paintLessons() {
	in := l.overlay(64, len(l.o.Lessons)+2, "lessons", "enter begins · esc closes")
	top := max(min(l.row-in.H/2, len(l.o.Lessons)-in.H), 0)
	for row := range in.H {
		i := top + row
		if i >= len(l.o.Lessons) {
			return
		}
		ground := l.look.Raised
		if i == l.row {
			ground = l.look.Selected
			l.grid.Fill(in.X-1, in.Y+row, in.W+2, ' ', l.look.Text.On(ground))
			l.grid.Text(in.X-1, in.Y+row, in.X, l.look.SelMark, l.look.Accent.On(ground))
		}
		it := &l.o.Lessons[i]
		mark, st := l.look.IdleMark, l.look.Dim
		if l.reached[it.ID] {
			mark, st = l.look.YesMark, l.look.Good
		}
		end := in.X + in.W
		x := l.words(in.X, in.Y+row, end, piece{fmt.Sprintf("%2d ", i+1), l.look.Dim.On(ground)}, piece{mark + " ", st.On(ground)})
		kind := figure.Algorithm(it.Algorithm)
		l.grid.Text(x, in.Y+row, end-len(kind)-1, safetext.Clean(it.Title), l.look.Text.On(ground))
		l.grid.Right(x, in.Y+row, end, kind, l.look.Dim.On(ground))
		l.zone(cell.Rect{X: in.X, Y: in.Y + row, W: in.W, H: 1}, func(int) tea.Cmd {
			l.over = noOverlay
			l.begin(i)
			return nil
		})
	}
}
