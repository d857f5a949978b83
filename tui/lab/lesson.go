package lab

import (
	"fmt"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// line is a line of text in one style.
type line struct {
	text  string
	style themes.Style
}

// textView is the lesson's text with its task below, and where there is room the lanes to
// try it on.
type textView struct {
	plain
	text  viewport.Model
	box   cell.Rect // with its frame
	lanes cell.Rect // below it; empty where there is no room
}

func newTextView() *textView { return &textView{plain: plain{title: "lesson"}, text: viewport.New()} }

func (v *textView) reset() { v.text.GotoTop() }

// move scrolls the text.
func (v *textView) move(s *Screen, by int) {
	if s.presenter.on { // whole lines of large type
		by *= widget.TypeRows
	}
	if by < 0 {
		v.text.ScrollUp(-by)
	} else {
		v.text.ScrollDown(by)
	}
}

// widest is how wide a text may be to be read well.
const widest = 100

func (v *textView) layout(s *Screen, r cell.Rect) {
	width := min(r.W, widest)
	if s.presenter.on {
		width = r.W
	}
	lines := v.lines(s, width-4)
	v.box, v.lanes = cell.Rect{X: r.X + (r.W-width)/2, Y: r.Y, W: width, H: r.H}, cell.Rect{}
	if s.app.Canvas.Framed {
		v.box.H = min(len(lines)+4, r.H)
		if below := (cell.Rect{X: r.X, Y: r.Y + v.box.H, W: r.W, H: r.H - v.box.H}); below.H >= 8 {
			v.lanes = below
		} else {
			v.box.H = r.H
		}
	}
	text := make([]string, len(lines))
	for i, l := range lines {
		text[i] = widget.Lip(l.style).Render(l.text)
	}
	v.text.SetWidth(width - 2)
	v.text.SetHeight(max(v.box.H-1, 0))
	if s.app.Canvas.Framed {
		v.text.SetWidth(width - 4)
		v.text.SetHeight(max(v.box.H-4, 0))
	}
	if s.presenter.on && v.text.Height() > widget.TypeRows { // no line of large type is cut
		v.text.SetHeight(v.text.Height() / widget.TypeRows * widget.TypeRows)
	}
	v.text.SetContentLines(text)
}

func (v *textView) paint(p painter, r cell.Rect) {
	it := p.s.at()
	title := []widget.Span{widget.Styled(safetext.Clean(it.Title), p.c.Look.Title),
		widget.Styled(fmt.Sprintf(" · %d in %s", it.Limit.Count, format.Length(it.Limit.Window)), p.c.Look.Dim)}
	in := p.c.Section(v.box, true, title...)
	if !v.text.AtBottom() {
		p.c.Aside(v.box, widget.Width(title...), widget.Styled("↓ reads on", p.c.Look.Accent))
	}
	if p.c.Framed {
		in.Y, in.H = in.Y+1, in.H-2
	}
	p.c.Buffer.Place(in, v.text.View())
	if v.lanes.H > 0 {
		p.paintLanes(v.lanes)
	}
}

// lines is what a lesson says, in lines of a width; in presenter mode in large type, all but
// the keys.
func (v *textView) lines(s *Screen, width int) []line {
	it := s.at()
	var lines []line
	small := func(text string, st themes.Style) {
		for _, t := range format.Wrap(safetext.Clean(text), width) {
			lines = append(lines, line{t, st})
		}
	}
	write := func(text string, st themes.Style) {
		if text = safetext.Clean(text); !s.presenter.on || s.app.Canvas.Buffer.ASCII || !widget.Settable(text) {
			small(text, st)
			return
		}
		for _, t := range widget.WrapType(text, width) {
			for _, row := range widget.Enlarge(t, width) {
				lines = append(lines, line{row, st})
			}
		}
	}
	gap := make([]line, 1)
	if s.presenter.on {
		gap = make([]line, widget.TypeRows)
	}
	for _, p := range it.Paragraphs(s.run) {
		write(p, s.app.Canvas.Look.Text)
		lines = append(lines, gap...)
	}
	if g := it.Goal; g != nil {
		p := s.task.Progress
		write(s.app.Canvas.Look.NearMark+" "+it.Task(s.run), s.app.Canvas.Look.Title)
		switch {
		case p.Reached:
			write(s.app.Canvas.Look.YesMark+" Reached at "+lab.Seconds(p.At.Sub(s.run.Setup().Zero))+". "+p.Then, s.app.Canvas.Look.Good)
		case s.hint:
			write("Hint: "+it.Hint(s.run), s.app.Canvas.Look.Accent)
		default:
			write(p.Text, s.app.Canvas.Look.Dim)
		}
		lines = append(lines, gap...)
	}
	small("enter tries it · space fires · g goes to a time · i hints · H shows how", s.app.Canvas.Look.Dim)
	return lines
}

// openLessons lists the lessons, with those done ticked.
func (s *Screen) openLessons() {
	choices := make([]shell.Choice, len(s.lessons))
	for i := range s.lessons {
		it := &s.lessons[i]
		mark := s.app.Canvas.Look.IdleMark
		if s.results.reached[it.ID] {
			mark = s.app.Canvas.Look.YesMark
		}
		choices[i] = shell.Choice{Name: fmt.Sprintf("%2d %s %s", i+1, mark, safetext.Clean(it.Title)), Aside: it.Algorithm.Short(), Value: i}
	}
	done := 0
	for i := range s.lessons {
		if s.results.reached[s.lessons[i].ID] {
			done++
		}
	}
	p := s.app.NewPicker(fmt.Sprintf("lessons · %d of %d reached", done, len(s.lessons)), choices)
	p.Select(choices[s.lesson].Name)
	p.Chosen = func(c shell.Choice) tea.Cmd {
		s.begin(c.Value.(int))
		return nil
	}
	s.app.Open(p)
}
