package lab

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
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
	if l.Framed {
		box.H = min(len(lines)+4, r.H)
		if below := (cell.Rect{X: r.X, Y: r.Y + box.H, W: r.W, H: r.H - box.H}); below.H >= 8 {
			l.paintLanes(below, l.run, l.focus, true)
		} else {
			box.H = r.H
		}
	}
	in := l.Section(box, true, pane.Bit(safetext.Clean(it.Title), l.Look.Title),
		pane.Bit(fmt.Sprintf(" · %d in %s", it.Limit.Count, figure.Length(it.Limit.Window)), l.Look.Dim))
	if l.Framed {
		in.Y, in.H = in.Y+1, in.H-2
	}
	l.text = max(min(l.text, len(lines)-in.H), 0)
	for i, t := range lines[l.text:] {
		if i < in.H {
			l.Grid.Text(in.X, in.Y+i, in.X+in.W, t.text, t.style)
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
		write(p, l.Look.Text)
		lines = append(lines, line{})
	}
	if g := it.Goal; g != nil {
		p := l.goal()
		write(l.Look.NearMark+" "+g.Say, l.Look.Title)
		switch {
		case p.Reached:
			write(l.Look.YesMark+" Reached at "+lab.Seconds(p.At.Sub(l.run.Setup().Zero))+". "+g.Then, l.Look.Good)
		case l.hint:
			write("Hint: "+g.Hint, l.Look.Accent)
		default:
			write(p.Text, l.Look.Dim)
		}
		lines = append(lines, line{})
	}
	write("enter tries it · space fires · g goes to a time · i hints · w shows how", l.Look.Dim)
	return lines
}

// paintLessons lists the lessons, with those done ticked.
func (l *Lab) paintLessons() {
	in := l.Overlay(64, len(l.o.Lessons)+2, "lessons", "enter begins · esc closes")
	top := max(min(l.row-in.H/2, len(l.o.Lessons)-in.H), 0)
	for row := range in.H {
		i := top + row
		if i >= len(l.o.Lessons) {
			return
		}
		ground := l.Look.Raised
		if i == l.row {
			ground = l.Look.Selected
			l.Grid.Fill(in.X-1, in.Y+row, in.W+2, ' ', l.Look.Text.On(ground))
			l.Grid.Text(in.X-1, in.Y+row, in.X, l.Look.SelMark, l.Look.Accent.On(ground))
		}
		it := &l.o.Lessons[i]
		mark, st := l.Look.IdleMark, l.Look.Dim
		if l.reached[it.ID] {
			mark, st = l.Look.YesMark, l.Look.Good
		}
		end := in.X + in.W
		x := l.Words(in.X, in.Y+row, end, pane.Bit(fmt.Sprintf("%2d ", i+1), l.Look.Dim.On(ground)), pane.Bit(mark+" ", st.On(ground)))
		kind := figure.Algorithm(it.Algorithm)
		l.Grid.Text(x, in.Y+row, end-len(kind)-1, safetext.Clean(it.Title), l.Look.Text.On(ground))
		l.Grid.Right(x, in.Y+row, end, kind, l.Look.Dim.On(ground))
		l.Zone(cell.Rect{X: in.X, Y: in.Y + row, W: in.W, H: 1}, func(int) tea.Cmd {
			l.over = noOverlay
			l.begin(i)
			return nil
		})
	}
}
